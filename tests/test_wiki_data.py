"""HotpotQA and FEVER files: what is read, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trialogue.envs.wiki.data import FEVER, HOTPOTQA, read_label
from trialogue.errors import DataError, UnknownName

NAMES = ["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"]
QUESTION = {
    "_id": "q1",
    "question": "Who?",
    "answer": "Ann",
    "type": "bridge",
    "context": [["Ann", ["Ann is.", " She."]]],
}
CLAIM = {"id": 7, "claim": "Ann is.", "label": "SUPPORTS"}


def hotpotqa(folder: Path, *rows: Any) -> Path:
    (folder / "dev.json").write_text(json.dumps(list(rows)), encoding="utf-8")
    return folder


def fever(folder: Path, *rows: Any) -> Path:
    (folder / "dev.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return folder


def test_a_question_file_is_read_with_its_pages(tmp_path: Path) -> None:
    bare = {key: QUESTION[key] for key in ("question", "answer", "type")}
    dataset = HOTPOTQA.load(hotpotqa(tmp_path, QUESTION, bare), "dev")
    assert list(dataset.questions) == ["dev/q1", "dev/1"]
    assert dataset.questions["dev/q1"].answer == "Ann"
    assert dataset.pages is not None
    page = dataset.pages.page("ann")
    assert page is not None
    assert page.sentences == ("Ann is.", "She.")
    assert HOTPOTQA.load(tmp_path / "dev.json", "dev") is dataset


def test_a_changed_file_is_read_anew(tmp_path: Path) -> None:
    first = HOTPOTQA.load(hotpotqa(tmp_path, QUESTION), "dev")
    digests = HOTPOTQA.digests(tmp_path)
    second = HOTPOTQA.load(hotpotqa(tmp_path, QUESTION, {**QUESTION, "_id": "q2"}), "dev")
    assert (len(first.questions), len(second.questions)) == (1, 2)
    assert set(digests) == set(HOTPOTQA.digests(tmp_path / "dev.json")) == {"data dev"}
    assert digests != HOTPOTQA.digests(tmp_path)


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ({**QUESTION, "type": "other"}, "row 0: expected the type bridge or comparison; got 'other'"),
        ({**QUESTION, "answer": " "}, "row 0: expected text under 'answer'"),
        ({key: QUESTION[key] for key in ("_id", "question", "type")}, "row 0: expected text under 'answer'; got None"),
        ({**QUESTION, "context": {"title": ["Ann"], "sentences": [["Ann is."]]}}, "row 0: expected a context"),
        (3, "expected a JSON list of objects"),
    ],
)
def test_a_broken_question_is_refused_with_its_place(tmp_path: Path, row: Any, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        HOTPOTQA.load(hotpotqa(tmp_path, row), "dev")


def test_a_claim_file_is_read(tmp_path: Path) -> None:
    dataset = FEVER.load(fever(tmp_path, CLAIM, {**CLAIM, "id": 8, "label": "not_enough_info"}), "dev")
    assert {id: question.answer for id, question in dataset.questions.items()} == {
        "dev/7": "SUPPORTS",
        "dev/8": "NOT ENOUGH INFO",
    }
    assert {question.task.type for question in dataset.questions.values()} == {"claim"}
    assert dataset.pages is None


def test_numbered_labels_are_read_by_their_declared_names_only(tmp_path: Path) -> None:  # QA-08
    folder = fever(tmp_path, {**CLAIM, "label": 0})
    with pytest.raises(DataError, match=r"dev.jsonl:1: the label is the number 0, and no names are declared"):
        FEVER.load(folder, "dev")
    (folder / "dataset_info.json").write_text(json.dumps({"features": {"label": {"names": NAMES}}}), encoding="utf-8")
    assert FEVER.load(folder, "dev").questions["dev/7"].answer == "SUPPORTS"
    (folder / "dataset_info.json").write_text("{}", encoding="utf-8")
    fever(tmp_path, {**CLAIM, "label": 1})
    with pytest.raises(DataError, match="declares no label names"):
        FEVER.load(folder, "dev")


def test_labels_follow_the_names_and_not_their_usual_order() -> None:  # QA-08
    assert read_label(0, NAMES) == "SUPPORTS"
    assert read_label(0, ["REFUTES", "SUPPORTS"]) == "REFUTES"
    for value, names in [
        (0, None),
        (3, NAMES),
        (-1, NAMES),
        (True, NAMES),
        (None, NAMES),
        ("maybe", NAMES),
        (1.0, NAMES),
    ]:
        with pytest.raises(DataError, match="label"):
            read_label(value, names)


def test_missing_data_says_what_where_and_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOTPOTQA_DATA", raising=False)
    with pytest.raises(
        DataError, match=r"\$HOTPOTQA_DATA.*hotpot_dev_distractor_v1\.json.*https://hotpotqa\.github\.io"
    ):
        HOTPOTQA.load(None, "hotpot_dev_distractor_v1")
    with pytest.raises(DataError, match=f"no \\*.json files at {tmp_path}"):
        HOTPOTQA.load(tmp_path, "dev")
    assert HOTPOTQA.digests(tmp_path / "nowhere") == HOTPOTQA.digests(None) == {}
    with pytest.raises(UnknownName, match="Did you mean 'generated_eval'"):
        HOTPOTQA.load(None, "generated_evil")
    monkeypatch.setenv("HOTPOTQA_DATA", str(hotpotqa(tmp_path, QUESTION)))
    assert len(HOTPOTQA.load(None, "dev").questions) == 1
    with pytest.raises(UnknownName, match="Did you mean 'dev'"):
        HOTPOTQA.load(None, "devv")


def test_real_files(test_data: Path) -> None:
    questions = HOTPOTQA.load(test_data / "hotpotqa", "hotpot_dev_distractor_100")
    assert (len(questions.questions), len(questions.pages or ())) == (100, 1000)
    types = [question.task.type for question in questions.questions.values()]
    assert (types.count("bridge"), types.count("comparison")) == (85, 15)
    claims = FEVER.load(test_data / "fever", "paper_dev_1000")
    labels = [question.answer for question in claims.questions.values()]
    assert [labels.count(name) for name in NAMES] == [331, 339, 330]
    simplified = HOTPOTQA.load(
        test_data / "react" / "hotpot_dev_v1_simplified_1000.json", "hotpot_dev_v1_simplified_1000"
    )
    assert (len(simplified.questions), simplified.pages) == (1000, None)
