"""Forks: the parent's replies are copied, the correction takes its place, and the model goes on from there."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fork_models import ASKED
from rich.console import Console
from test_cli import trialogue
from test_runner import BASE

from trialogue.errors import ModelError, UsageError
from trialogue.experiments.config import parse_config
from trialogue.experiments.edits import Edit
from trialogue.experiments.forking import edits_of, fork
from trialogue.experiments.launch import open_store
from trialogue.experiments.replaying import Replayer
from trialogue.experiments.results import load_runs
from trialogue.experiments.runner import run_experiment
from trialogue.experiments.show import print_episode, print_episodes
from trialogue.experiments.store import Store

ADVICE = "The last room is to the right."
REACT = {"react": {"agent": "react", "settings": {"exemplars": 0}}}
CHANGES: dict[str, Any] = {
    "model": "scripted:fork_models:heeds",
    "agents": REACT,
    "tasks": {"corridor": {"env": "toy:Corridor", "ids": ["test/3"]}},
}


@pytest.fixture(autouse=True)
def _nobody_asked_yet() -> Iterator[None]:
    ASKED.clear()
    yield
    ASKED.clear()


async def played(path: Path, **changes: Any) -> Path:
    config = parse_config({**BASE, **CHANGES, **changes})
    with open_store(config, path) as store:
        await run_experiment(config, store)
    ASKED.clear()
    return path


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """Episode 1: a thought to wait, then `look` until it is stuck."""
    return await played(tmp_path / "x.sqlite")


def actions(path: Path, episode: int) -> list[str | None]:
    with Store.read(path) as store:
        return [step.action for step in store.steps(episode)]


def shown(path: Path, episode: int | None) -> str:
    told = io.StringIO()
    console = Console(file=told, width=150)
    with Store.read(path) as store:
        print_episodes(store, None, console) if episode is None else print_episode(store, episode, console)
    return told.getvalue()


async def test_a_thought_puts_the_episode_right_and_nothing_is_asked_before_it(path: Path) -> None:
    assert actions(path, 1) == ["look"] * 4
    child = await fork(path, 1, 3, thought=ADVICE)
    assert actions(path, child) == ["look", "look", "go right", "go right", "go right"]
    # Of the parent's replies four come before the fork's place is decided: the thought, and three commands.
    assert len(ASKED) == 3
    assert all(prompt.count("> look\n") == 2 and ADVICE in prompt for prompt in ASKED)
    with Store.read(path) as store:
        row = store.episode(child)
        assert (row["ending"], row["run_name"], row["parent"]) == ("solved", "react/corridor#fork-1", 1)
        assert json.loads(row["fork"]) == {"step": 3, "call": 3, "thought": ADVICE}
        texts = [reply.text for _, reply in store.replies(child).values()]
        assert texts[:5] == ["think: I had better wait here.", "look", "look", "look", f"think: {ADVICE}"]
        notes = [json.loads(turn["notes"]) for turn in store.turns(child)]
        assert notes[:3] == [[], [], []]
        assert notes[3] == [f"a person replaced the thought '' by {ADVICE!r}"]
        [run] = [run for run in store.runs(forks=True) if run["parent"]]
        assert json.loads(run["conditions"])["fork"] == {"episode": 1, "step": 3, "call": 3, "thought": ADVICE}


async def test_the_first_thought_of_a_step_gives_way(path: Path) -> None:
    child = await fork(path, 1, 1, thought=ADVICE)
    assert actions(path, child) == ["go right"] * 3
    assert len(ASKED) == 3
    assert all("wait" not in prompt for prompt in ASKED)


async def test_an_action_takes_the_place_of_the_models_and_the_thought_before_it_stays(path: Path) -> None:
    child = await fork(path, 1, 2, action="go right")
    assert actions(path, child)[:3] == ["look", "go right", "look"]
    assert "wait" in ASKED[0]
    assert ASKED[0].endswith("> go right\nYou are in room 1.\n>")


@pytest.mark.parametrize("thoughts", ["none", "dense", "decision_points"])
@pytest.mark.parametrize("style", ["completion", "chat"])
async def test_wherever_thoughts_are_placed_and_however_prompts_are_written(
    tmp_path: Path, thoughts: str, style: str
) -> None:
    agents = {"react": {"agent": "react", "settings": {"exemplars": 0, "thoughts": thoughts}}}
    model = {"name": "scripted:fork_models:heeds", "settings": {"style": style}}
    path = await played(tmp_path / "x.sqlite", agents=agents, model=model)
    with Store.read(path) as store:
        expected = [store.prompts(1)[call] for call in store.prompts(1)]
    for given in ({"action": "go right"}, {"thought": ADVICE}):
        child = await fork(path, 1, 2, **given)  # type: ignore[arg-type]
        with Store.read(path) as store:
            edit = Edit.of(store.episode(child)["fork"])
            prompts = list(store.prompts(child).values())
            said = " ".join(turn["thoughts"] + (turn["action"] or "") for turn in store.turns(child))
        assert prompts[: edit.call + 1] == expected[: edit.call + 1]
        assert edit.text in said


async def test_a_fork_that_was_cut_off_goes_on_and_one_that_has_ended_is_not_played_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fork_models

    heeds, left = fork_models.heeds, [1]

    def failing(request: Any) -> Any:
        if not left:
            raise ModelError("quota", "used up")
        left.pop()
        return heeds(request)

    monkeypatch.setattr(fork_models, "heeds", failing)
    with pytest.raises(ModelError, match="used up"):
        await fork(path, 1, 3, thought=ADVICE)
    assert len(ASKED) == 1
    monkeypatch.setattr(fork_models, "heeds", heeds)
    assert "not finished" in shown(path, 2)
    child = await fork(path, 1, 3, thought=ADVICE)
    assert (child, len(ASKED)) == (2, 3)
    undisturbed = actions(path, child)
    assert await fork(path, 1, 3, thought=ADVICE) == child
    assert len(ASKED) == 3
    assert undisturbed == ["look", "look", "go right", "go right", "go right"]
    assert await fork(path, 1, 3, thought="To the right, I say.") == 3
    assert [run.name for run in load_runs(f"{path}:react/corridor#fork-2")] == ["react/corridor#fork-2"]


async def test_forks_are_left_out_of_runs_and_comparisons_unless_they_are_named(path: Path) -> None:
    config = parse_config({**BASE, **CHANGES})
    child = await fork(path, 1, 3, thought=ADVICE)
    assert [run.name for run in load_runs(str(path))] == ["react/corridor"]
    assert [run.name for run in load_runs(f"{path}:react")] == ["react/corridor"]
    [named] = load_runs(f"{path}:react/corridor#fork-1")
    assert (named.outcomes[0].won, named.outcomes[0].episodes) == (True, (child,))
    with open_store(config, path) as store:
        assert store.reopen(["stuck"]) == 1
        await run_experiment(config, store)
        assert store.episode(child)["ending"] == "solved"
        assert "fork" in json.loads(store.runs(forks=True)[1]["conditions"])


async def test_a_fork_is_shown_beside_its_parent(path: Path) -> None:
    child = await fork(path, 1, 3, thought=ADVICE)
    told = shown(path, child)
    assert f"fork of episode 1 at step 3: thought {ADVICE!r}" in told
    before, _, after = told.partition("parent: episode 1")
    assert (before.count("act 2 look"), before.count("act 3")) == (1, 0)
    assert "fork: episode 2" in after
    assert any("act 4 look" in line and "go right" in line for line in after.splitlines())
    assert "stuck" in after
    assert "solved" in after
    assert f"forked by episode 2 at step 3: thought {ADVICE!r}" in shown(path, 1)
    assert "fork of" in shown(path, None)
    assert "1 at step 3" in shown(path, None)


async def test_a_fork_can_be_forked_and_replays_as_it_was_played(path: Path) -> None:
    first = await fork(path, 1, 3, thought=ADVICE)
    second = await fork(path, first, 4, action="go left")
    third = await fork(path, first, 2, action="go right")
    assert actions(path, second)[:5] == ["look", "look", "go right", "go left", "go right"]
    assert actions(path, third)[:3] == ["look", "go right", "look"]
    with Store.read(path) as store:
        kinds = [[edit.text for edit in edits_of(store, store.episode(child))] for child in (first, second, third)]
        assert kinds == [[ADVICE], [ADVICE, "go left"], ["go right"]]
        replayer = Replayer(store)
        asked = len(ASKED)
        for child in (1, first, second, third):
            assert (await replayer.replay(child, agent=True)).difference is None
        assert len(ASKED) == asked
        replayer.close()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"step": 9, "thought": "x"}, "its steps are 1 to 4"),
        ({"step": 0, "thought": "x"}, "its steps are 1 to 4"),
        ({"step": 1}, "either a thought or an action"),
        ({"step": 1, "thought": "x", "action": "y"}, "either a thought or an action"),
        ({"step": 1, "action": " y "}, "cannot be put there"),
        ({"step": 1, "action": "think: x"}, "--thought"),
        ({"step": 1, "thought": " "}, "cannot be put there"),
    ],
)
async def test_what_cannot_be_forked_is_refused(path: Path, given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        await fork(path, 1, **given)
    with Store.read(path) as store:
        assert len(store.runs(forks=True)) == 1


async def test_agents_without_a_review_are_refused_with_the_reason(tmp_path: Path) -> None:
    path = await played(tmp_path / "x.sqlite", agents={"random": {"agent": "random"}})
    with pytest.raises(UsageError, match=r"'random' \(random\) has no review"):
        await fork(path, 1, 1, action="go right")


async def test_a_fork_of_other_prompts_is_refused_and_leaves_nothing_behind(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trialogue.agents.notation import Arrow

    monkeypatch.setattr(Arrow, "due", lambda *_: "=>")
    with pytest.raises(UsageError, match="does not ask what was asked then"):
        await fork(path, 1, 3, thought=ADVICE)
    assert ASKED == []
    with Store.read(path) as store:
        assert (len(store.runs(forks=True)), len(store.episodes(forks=True))) == (1, 1)


async def test_an_environment_that_ends_before_the_fork_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from toy import Corridor

    step = Corridor.step

    def wins(self: Corridor, action: str) -> Any:
        self.place, self.length = 0, 0
        return step(self, "look")

    monkeypatch.setattr(Corridor, "step", wins)
    with pytest.raises(UsageError, match=r"ended \(solved\) before step 3"):
        await fork(path, 1, 3, thought=ADVICE)
    with Store.read(path) as store:
        assert len(store.episodes(forks=True)) == 1


def test_the_command(tmp_path: Path) -> None:
    config = {**BASE, **CHANGES}
    (tmp_path / "x.yaml").write_text(json.dumps(config), encoding="utf-8")
    assert trialogue("run", "x.yaml", cwd=tmp_path).returncode == 0
    forked = trialogue("fork", "corridors", "1", "--at", "2", "--action", "go right", cwd=tmp_path)
    assert forked.returncode == 0, forked.stderr
    assert "of episode 1 at step 2: action 'go right'" in forked.stdout
    refused = trialogue("fork", "corridors", "1", "--at", "2", cwd=tmp_path)
    assert (refused.returncode, "either a thought" in refused.stderr) == (2, True)
    equal = trialogue("replay", "corridors", "--all", "--agent", cwd=tmp_path)
    assert (equal.returncode, "2 replayed, 0 differ" in equal.stdout) == (0, True), equal.stdout
