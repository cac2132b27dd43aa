"""Published prompts as exemplars, and a file of one's own in an experiment."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from test_cli import EXPERIMENT, trialogue
from test_runner import configured, play
from toy import walk

from trialogue.agents.models.contract import Reply, Request
from trialogue.errors import DataError, UsageError
from trialogue.exemplars import exemplars_in
from trialogue.exemplars.importer import Imported, import_prompts
from trialogue.exemplars.library import ExemplarFile, read_documents
from trialogue.experiments.exemplar_check import check_file
from trialogue.experiments.exemplar_record import as_yaml
from trialogue.experiments.results import load_runs

MARKS = """You are in a hall. You see a shelf 1.
Your task is to: put a cup on shelf.
> think: A cup may be on the table.
OK.
> think: Go there.
> go to table 1
On the table 1, you see a cup 1.
It is red.
> think: There it is.
OK.
> take cup 1 from table 1
You pick up the cup 1.
> put cup 1 in/on shelf 1
You put the cup 1 in/on the shelf 1.
"""
LABELS = """
Decide whether the Observation SUPPORTS or REFUTES a Claim.
Claim: Snow is green.
Thought 1: I search snow.
Action 1: Search[Snow (weather)]
Observation 1: Snow is white.
It falls.
Thought 2: It is white.
Action 2: Finish[REFUTES]

Claim: Grass is green.?
Action 1: think[I know that.]
Observation 1: OK.
Action 2: Search[Grass]
Observation 2: Could not find [Grass]. Similar: ['Grass (plant)'].
Action 3: Finish[SUPPORTS]
"""
CHAIN = "Claim: Snow is green.\nThought: It is white.\nAnswer: REFUTES\n"


def imported(tmp_path: Path, prompts: Any, **options: str) -> Imported:
    (tmp_path / "prompts.json").write_text(json.dumps(prompts), encoding="utf-8")
    return import_prompts(tmp_path / "prompts.json", "house", **options)


def steps(file: ExemplarFile, number: int = 0) -> list[tuple[tuple[str, ...], str, str]]:
    [*found] = file.told(file.dialect)[number].steps
    return [(step.thoughts, step.action, step.observation) for step in found]


def test_prompt_marks(tmp_path: Path) -> None:
    """The second thought has no OK below it, as happens in published prompts."""
    [file] = imported(tmp_path, {"react_put_0": MARKS}).files
    [exemplar] = file.told("put")
    assert (file.type, exemplar.id, exemplar.task, exemplar.goal) == ("put", "react_put_0", "", "put a cup on shelf.")
    assert exemplar.observation == "You are in a hall. You see a shelf 1."
    assert steps(file) == [
        (("A cup may be on the table.", "Go there."), "go to table 1", "On the table 1, you see a cup 1.\nIt is red."),
        (("There it is.",), "take cup 1 from table 1", "You pick up the cup 1."),
        ((), "put cup 1 in/on shelf 1", "You put the cup 1 in/on the shelf 1."),
    ]


def test_labels(tmp_path: Path) -> None:
    [file] = imported(tmp_path, {"webthink": LABELS}).files
    assert (file.type, file.dialect) == ("any", "")
    assert [entry.id for entry in file.exemplars] == ["webthink-1", "webthink-2"]
    assert [entry.goal for entry in file.exemplars] == [
        "judge the claim: Snow is green.",
        "judge the claim: Grass is green.?",
    ]
    assert steps(file) == [
        (("I search snow.",), "search[Snow (weather)]", "Snow is white.\nIt falls."),
        (("It is white.",), "finish[REFUTES]", ""),
    ]
    assert steps(file, 1) == [
        (("I know that.",), "search[Grass]", "Could not find [Grass]. Similar: ['Grass (plant)']."),
        ((), "finish[SUPPORTS]", ""),
    ]


def test_what_is_left_out_is_told(tmp_path: Path) -> None:
    act = "\n".join(line for line in MARKS.split("\n") if "think" not in line and line != "OK.")
    prompts = {"react_put_0": MARKS, "act_put_0": act, "cotqa": CHAIN}
    found = imported(tmp_path, prompts)
    assert found.left_out == {
        "act_put_0": "has no thoughts; ask for it by its key",
        "cotqa": "holds no actions",
    }
    [file] = imported(tmp_path, prompts, keys="act_*").files
    assert [action for thoughts, action, _ in steps(file) if not thoughts] == [
        "go to table 1",
        "take cup 1 from table 1",
        "put cup 1 in/on shelf 1",
    ]
    assert steps(file)[0][2] == "On the table 1, you see a cup 1.\nIt is red."


def test_types_are_chosen_or_named(tmp_path: Path) -> None:
    prompts = {"react_put_0": MARKS, "react_heat_0": MARKS, "webthink": LABELS}
    assert [file.type for file in imported(tmp_path, prompts).files] == ["put", "heat", "any"]
    assert [file.type for file in imported(tmp_path, prompts, type="heat", keys="react*").files] == ["heat"]
    assert [file.type for file in imported(tmp_path, {"webthink": LABELS}, type="claim").files] == ["claim"]
    with pytest.raises(UsageError, match=r"no episode of type 'haet' .* types there: heat, put"):
        imported(tmp_path, {"react_put_0": MARKS, "react_heat_0": MARKS}, type="haet")
    with pytest.raises(UsageError, match=r"no key .* matches 'act\*'; there are: webthink"):
        imported(tmp_path, {"webthink": LABELS}, keys="act*")
    with pytest.raises(UsageError, match="types there: none"):
        imported(tmp_path, {"cotqa": CHAIN})


@pytest.mark.parametrize("text", ["[1]", "{", '{"a": 1}', '"text"'])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "other.json").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="JSON"):
        import_prompts(tmp_path / "other.json", "house")
    with pytest.raises(DataError, match="cannot be read"):
        import_prompts(tmp_path / "missing.json", "house")


def test_a_goal_after_the_first_command_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="goal comes after the first command"):
        imported(tmp_path, {"react_put_0": "You are in a hall.\n> look\nYour task is to: put a cup on shelf.\n"})


def test_the_command_prints_what_can_be_read_again(tmp_path: Path) -> None:
    prompts = {"react_put_0": MARKS, "react_heat_0": MARKS, "cotqa": CHAIN}
    (tmp_path / "prompts.json").write_text(json.dumps(prompts), encoding="utf-8")
    done = trialogue("exemplars", "import", "prompts.json", "--env", "household", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "left out: cotqa holds no actions\n")
    (tmp_path / "mine.yaml").write_text(done.stdout, encoding="utf-8")
    files = read_documents(tmp_path / "mine.yaml")
    assert files == import_prompts(tmp_path / "prompts.json", "household").files
    checked = trialogue("exemplars", "check", "mine.yaml", cwd=tmp_path)
    assert (checked.returncode, "2 not replayable" in checked.stdout) == (0, True)
    refused = trialogue("exemplars", "import", "prompts.json", "--env", "houshold", cwd=tmp_path)
    assert (refused.returncode, "Did you mean 'household'" in refused.stderr) == (2, True)


def test_a_file_of_ones_own_serves_by_type_and_dialect(tmp_path: Path) -> None:
    files = [*imported(tmp_path, {"react_put_0": MARKS}).files, *imported(tmp_path, {"webthink": LABELS}).files]
    path = tmp_path / "mine.yaml"
    path.write_text("---\n".join(map(as_yaml, files)), encoding="utf-8")
    lookup = exemplars_in(path)
    assert [e.id for e in lookup("house", "put", "put")] == ["react_put_0"]
    assert [e.id for e in lookup("house", "heat", "")] == ["webthink-1", "webthink-2"]
    for asked in (("house", "heat", "put"), ("house", "put", "move"), ("shop", "put", "put")):
        with pytest.raises(
            UsageError, match=r"mine.yaml holds no exemplars for .*; it holds: house/put put, house/any"
        ):
            lookup(*asked)


def test_exemplars_without_a_task_are_not_replayed(tmp_path: Path) -> None:
    [file] = imported(tmp_path, {"webthink": LABELS}).files
    known = file.exemplars[0].model_copy(update={"task": "test/1"})
    mixed = file.model_copy(update={"env": "toy:Corridor", "exemplars": (known, file.exemplars[1])})
    assert [faults is None for _, faults in check_file(mixed)] == [False, True]


# In an experiment


async def knows_the_corridor(request: Request) -> Reply:
    """Walks if it was shown how; else it looks around for ever."""
    return await walk(request) if "MARKER" in str(request.prompt) else Reply("look")


def own_file(tmp_path: Path, **changed: Any) -> Path:
    step = {"thought": "MARKER", "action": "go right", "observation": "You are in room 1."}
    entry = {"id": "mine", "goal": "reach room 1", "observation": "You are in room 0.", "steps": [step]}
    path = tmp_path / "mine.yaml"
    data = {"env": "toy:Corridor", "type": "any", "exemplars": [entry], **changed}
    path.write_text(yaml.safe_dump(data), encoding="utf-8")
    return path


async def test_an_agent_is_shown_its_own_file_and_the_record_knows_it_by_its_hash(tmp_path: Path) -> None:
    path = own_file(tmp_path)
    agents = {"mine": {"agent": "react", "exemplars": str(path)}, "bare": {"agent": "react"}}
    script = f"scripted:{__name__}:knows_the_corridor"
    config = configured(agents=agents, model=script, tasks={"c": {"env": "toy:Corridor", "ids": ["test/2"]}})
    episodes = await play(config, tmp_path / "run.sqlite")
    assert {e["run_name"]: (e["ending"], e["exemplars"]) for e in episodes} == {
        "mine/c": ("solved", ["mine"]),
        "bare/c": ("stuck", []),
    }
    runs = {run.agent: run.conditions["agent"] for run in load_runs(str(tmp_path / "run.sqlite"))}
    assert runs["mine"]["exemplar_file"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert "exemplar_file" not in runs["bare"]


@pytest.mark.parametrize(
    ("changed", "told"),
    [({"env": "household"}, "holds no exemplars for toy:Corridor"), ({"type": 3}, "is not an exemplar file")],
)
def test_a_file_that_does_not_serve_stops_the_run_at_once(tmp_path: Path, changed: Any, told: str) -> None:
    own_file(tmp_path, **changed)
    (tmp_path / "x.yaml").write_text(EXPERIMENT.replace("exemplars: 0", "exemplars: 2"), encoding="utf-8")
    done = trialogue("run", "x.yaml", "--set", "agents.react.exemplars=mine.yaml", cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_that_is_not_there_is_told_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(EXPERIMENT, encoding="utf-8")
    done = trialogue("run", "x.yaml", "--set", "agents.react.exemplars=nowhere.yaml", cwd=tmp_path)
    assert (done.returncode, "expected a file of exemplars at nowhere.yaml" in done.stderr) == (1, True)
    assert not list(tmp_path.glob("runs/*"))


# The published files


def test_the_papers_household_prompts(test_data: Path) -> None:
    found = import_prompts(test_data / "react" / "alfworld_3prompts.json", "household")
    assert [(file.type, len(file.exemplars), file.dialect) for file in found.files] == [
        (type, 3, "put") for type in ("put", "clean", "heat", "cool", "puttwo", "examine")
    ]
    assert len(found.left_out) == 18
    acts = import_prompts(test_data / "react" / "alfworld_3prompts.json", "household", keys="act_*")
    for file, act in zip(found.files, acts.files, strict=True):
        for one, other in zip(file.told("put"), act.told("put"), strict=True):
            assert (one.goal, one.observation) == (other.goal, other.observation)
            assert not any(step.thoughts for step in other.steps)
            words = [text for step in one.steps for text in (step.action, step.observation, *step.thoughts)]
            assert not [text for text in words if text.startswith((">", "think:")) or text == "OK."]
            assert all(step.action for step in one.steps)
            # One observation is missing in the published file.
            silent = [step.action for step in one.steps if not step.observation]
            assert silent == (["take pan 1 from stoveburner 3"] if one.id == "react_cool_0" else [])


def test_the_papers_question_and_claim_prompts(test_data: Path) -> None:
    questions = import_prompts(test_data / "react" / "prompts_naive.json", "hotpotqa", keys="webthink_simple6")
    claims = import_prompts(test_data / "react" / "fever.json", "fever")
    for [file], count, opening in (
        (questions.files, 6, "answer the question: "),
        (claims.files, 3, "judge the claim: "),
    ):
        assert (file.type, len(file.exemplars)) == ("any", count)
        for exemplar in file.told(""):
            assert exemplar.goal.startswith(opening)
            actions = [step.action for step in exemplar.steps]
            assert all(action.startswith(("search[", "lookup[")) for action in actions[:-1])
            assert actions[-1].startswith("finish[")
            assert all(step.thoughts for step in exemplar.steps)
