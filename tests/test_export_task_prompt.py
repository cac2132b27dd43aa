"""Training data as a model that is prompted with the task alone plays: from any episode, exactly as it is sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sft_models import TOLD
from test_runner import configured, play

from trialogue.agents.expert_agent import SLIP
from trialogue.errors import UnknownName
from trialogue.experiments.exports import sent_or_task
from trialogue.experiments.exports.sft import Thoughts, export_sft
from trialogue.experiments.store import Store

TASKS = {
    "move": {"env": "household", "split": "generated_train", "limit": 12},
    "put": {
        "env": "household",
        "split": "generated_train",
        "limit": 12,
        "settings": {"dialect": "put", "receptacles": 15},
    },
}


def exported(path: Path, thoughts: Thoughts = "keep") -> list[dict[str, Any]]:
    with Store.read(path) as store:
        runs = [row["id"] for row in store.runs()]
        return [json.loads(line) for line in export_sft(store, runs, thoughts=thoughts, prompt="task")]


async def expert_run(path: Path, slips: float = 0.0) -> None:
    agents = {"expert": {"agent": "expert", "settings": {"thoughts": "sparse", "slips": slips}}}
    await play(configured(model=None, agents=agents, tasks=TASKS, limits={"steps": 80}), path)


@pytest.mark.parametrize(("thoughts", "agent"), [("keep", "react"), ("drop", "act")])
async def test_an_agent_that_says_what_was_exported_is_sent_what_was_exported(
    tmp_path: Path, thoughts: Thoughts, agent: str
) -> None:
    await expert_run(tmp_path / "expert.sqlite")
    lines = exported(tmp_path / "expert.sqlite", thoughts)
    assert len(lines) == 24
    TOLD.clear()
    TOLD.update({line["prompt"]: [segment["text"] for segment in line["segments"]] for line in lines})
    assert len(TOLD) == 24
    agents = {agent: {"agent": agent, "settings": {"prompt": "task"}}}
    model = "scripted:sft_models:recites"
    await play(configured(model=model, agents=agents, tasks=TASKS, limits={"steps": 80}), tmp_path / "model.sqlite")
    assert [line["segments"] for line in exported(tmp_path / "model.sqlite", thoughts)] == [
        line["segments"] for line in lines
    ]
    with Store.read(tmp_path / "model.sqlite") as store:
        assert all(row["won"] for row in store.episodes())
        sent = [json.loads(line) for line in export_sft(store, [row["id"] for row in store.runs()])]
    assert [(line["prompt"], line["segments"]) for line in sent] == [
        (line["prompt"], line["segments"]) for line in lines
    ]


async def test_slips_have_no_loss(tmp_path: Path) -> None:
    await expert_run(tmp_path / "x.sqlite", slips=0.2)
    with Store.read(tmp_path / "x.sqlite") as store:
        slipped = {
            row["id"]: [turn["action"] for turn in store.turns(row["id"]) if SLIP in turn["notes"]]
            for row in store.episodes()
        }
    assert 20 < sum(map(len, slipped.values())) < 200
    for line in exported(tmp_path / "x.sqlite"):
        text = "".join(segment["text"] for segment in line["segments"])
        assert all(action in text for action in slipped[line["episode"]])
        learnt = [s["text"].strip() for s in line["segments"] if s["loss"] and not s["text"].startswith(" think:")]
        read = "".join(segment["text"] for segment in line["segments"] if not segment["loss"])
        assert all(f" {action}\n" in read for action in slipped[line["episode"]])
        assert learnt


def test_the_choice_is_one_of_two() -> None:
    assert [sent_or_task("sent"), sent_or_task("task")] == ["sent", "task"]
    with pytest.raises(UnknownName, match="sent"):
        sent_or_task("send")
