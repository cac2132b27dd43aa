"""How a household episode behaves: what is told, what is refused and why, and how it ends."""

from __future__ import annotations

import gc
from collections import defaultdict
from typing import Any

import gymnasium
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trialogue.envs import TextEnv, make
from trialogue.envs.household import engine, generate, reference
from trialogue.envs.household.grammar import templates
from trialogue.envs.household.knowledge import Knowledge, things
from trialogue.envs.household.reasons import reason
from trialogue.envs.household.solution import solution
from trialogue.errors import EnvError

TASK = "generated_eval/clean/s1000001-r12-d14"


def start(env: TextEnv, task: str = TASK) -> dict[str, Any]:
    return dict(env.reset(options={"task": task})[1])


def play(env: TextEnv, *commands: str) -> tuple[str, dict[str, Any]]:
    for command in commands:
        observation, _, _, _, info = env.step(command)
    return observation, dict(info)


def test_the_opening_has_no_banner_and_the_goal_stands_apart(household: TextEnv) -> None:
    observation, info = household.reset(options={"task": TASK})
    assert observation.startswith("You are in the middle of a room. Looking quickly around you, you see a ")
    assert observation.endswith(".")
    assert "Your task" not in observation + info["goal"]
    assert info["goal"] == generate.scene(TASK).goal
    assert (info["type"], info["dialect"]) == ("clean", "move")


def test_the_same_game_reads_the_same_after_every_reset(household: TextEnv) -> None:  # ALF-11
    first = household.reset(seed=11, options={"task": TASK})
    play(household, "look", first[1]["admissible"][0])
    start(household, "generated_eval/heat/s1000002-r12-d14")
    assert household.reset(seed=11, options={"task": TASK}) == first


def test_winning_gives_the_reward_once_and_what_follows_is_harmless(household: TextEnv) -> None:
    start(household)
    plan = solution(generate.scene(TASK), "move")
    rewards = [household.step(command)[1] for command in plan]
    assert rewards == [0.0] * (len(plan) - 1) + [1.0]
    observation, reward, terminated, truncated, info = household.step(plan[-1])
    assert (observation, reward, terminated, truncated) == ("Nothing happens.", 0.0, True, False)
    assert (info["won"], info["score"], info["valid"]) == (True, 1.0, False)
    assert "over" in info["reason"]


def test_a_win_on_the_last_step_is_a_win() -> None:  # GYM-07
    plan = solution(generate.scene(TASK), "move")
    env = gymnasium.make("trialogue/Household-v0", max_episode_steps=len(plan))
    env.reset(options={"task": TASK})
    *_, end = (env.step(command) for command in plan)
    assert end[2] is True
    assert end[4]["won"] is True
    env.close()


def test_white_space_around_a_command_is_nothing(household: TextEnv) -> None:
    start(household)
    observation, info = play(household, "  look \n")
    assert info["valid"]
    assert observation.startswith("You are in the middle of a room.")


def test_thoughts_are_no_commands(household: TextEnv) -> None:  # ALF-14
    before = start(household)
    observation, info = play(household, "think: where is it?")
    assert (observation, info["valid"]) == ("Nothing happens.", False)
    assert info["admissible"] == before["admissible"]


def test_a_place_that_shares_its_spot_answers_nothing_happens(household: TextEnv) -> None:  # ALF-03
    scene = generate.scene(SHARED)
    first, second = _sharing(scene.places)
    start(household, SHARED)
    observation, info = play(household, f"go to {first}", f"go to {second}")
    assert (observation, info["valid"]) == ("Nothing happens.", False)
    assert info["reason"] == f"you are already where {second} is"


SHARED = "generated_eval/examine/s1000016-r12-d14"


def _sharing(places: Any) -> tuple[str, str]:
    return next((a.name, b.name) for a in places for b in places if a is not b and a.spot == b.spot)


ROOM = (
    "You are in the middle of a room. Looking quickly around you, you see a cabinet 2, a cabinet 1, a desk 1, "
    "a fridge 1, a microwave 1, and a sinkbasin 1."
)
HERE = ["examine desk 1", "take mug 1 from desk 1", "go to cabinet 1", "look", "inventory"]


def told(command: str, admissible: list[str], *story: tuple[str, str], dialect: str = "move") -> str:
    knowledge = Knowledge()
    for pair in (("", ROOM), *story):
        knowledge.observe(*pair)
    return reason(command, knowledge, admissible, dialect)


AT_DESK = (
    "go to desk 1",
    "You arrive at desk 1. On the desk 1, you see a desklamp 1, a knife 1, a mug 1, and a tomato 1.",
)
TOOK = ("take mug 1 from desk 1", "You pick up the mug 1 from the desk 1.")
AT_SINK = ("go to sinkbasin 1", "You arrive at sinkbasin 1. On the sinkbasin 1, you see nothing.")
AT_CABINET = ("go to cabinet 1", "You arrive at cabinet 1. The cabinet 1 is closed.")
OPENED = ("open cabinet 1", "You open the cabinet 1. The cabinet 1 is open. In it, you see a plate 1.")


@pytest.mark.parametrize(
    ("command", "admissible", "story", "expected"),
    [
        ("look", ["look"], (), ""),
        ("", [], (), "the command is empty; commands are: look, inventory, go to {receptacle}, "),
        ("teleport to desk 1", HERE, (), "'teleport' is not a verb of this game; commands are: look"),
        ("toggle desklamp 1", HERE, (), "'toggle' is not a verb of this game"),
        ("Take mug 1 from desk 1", HERE, (AT_DESK,), "'Take' is not a verb of this game (did you mean 'take'?)"),
        ("put mug 1 in/on desk 1", HERE, (AT_DESK, TOOK), "this game writes it as: move {object} to {receptacle}"),
        ("take mug 1", HERE, (AT_DESK,), "the form is: take {object} from {receptacle}"),
        ("x" * 201, HERE, (), "not a command: 201 characters"),
        ("go to cabinet 3", HERE, (), "there is no cabinet 3 here; there is only cabinet 2, cabinet 1"),
        ("go to shelf 1", HERE, (), "there is no shelf 1 here; receptacles are: cabinet 2, cabinet 1, desk 1, "),
        ("go to mug 1", HERE, (AT_DESK,), "mug 1 is not a receptacle"),
        ("go to desk 1", HERE, (AT_DESK,), "you are already where desk 1 is"),
        ("take egg 1 from desk 1", HERE, (AT_DESK,), "no egg 1 has been seen so far"),
        ("take mug 1 from desk 1", [], (AT_DESK, AT_SINK), "you are not at desk 1; go there first"),
        ("take desklamp 1 from desk 1", HERE, (AT_DESK,), "desklamp 1 cannot be picked up"),
        ("take knife 1 from desk 1", HERE, (AT_DESK, TOOK), "your hands are full: you hold mug 1; put it down first"),
        ("take mug 1 from desk 1", HERE[:1], (AT_DESK, TOOK), "you already hold mug 1"),
        ("take desk 1 from desk 1", HERE, (AT_DESK,), "desk 1 is a receptacle and cannot be taken"),
        ("take mug 1 from sinkbasin 1", ["examine sinkbasin 1"], (AT_DESK, AT_SINK), "mug 1 is not seen in or on "),
        (
            "take plate 1 from cabinet 1",
            ["examine cabinet 1", "open cabinet 1"],
            (AT_CABINET, OPENED),
            "cabinet 1 is c",
        ),
        ("open desk 1", HERE, (AT_DESK,), "desk 1 cannot be opened or closed"),
        ("open cabinet 1", ["examine cabinet 1", "close cabinet 1"], (OPENED,), "cabinet 1 is already open"),
        ("close cabinet 1", ["examine cabinet 1", "open cabinet 1"], (AT_CABINET,), "cabinet 1 is already closed"),
        ("open cabinet 2", HERE, (AT_DESK,), "you are not at cabinet 2; go there first"),
        ("move mug 1 to desk 1", HERE, (AT_DESK,), "you do not hold mug 1; your hands hold nothing"),
        ("move mug 1 to desk 1", [], (AT_DESK, TOOK, AT_SINK), "you are not at desk 1; go there first"),
        (
            "move mug 1 to cabinet 1",
            ["examine cabinet 1", "open cabinet 1"],
            (AT_DESK, TOOK),
            "cabinet 1 is closed; op",
        ),
        ("move mug 1 to desk 1", HERE, (AT_DESK, TOOK), "mug 1 does not go in or on desk 1"),
        ("heat mug 1 with fridge 1", HERE, (AT_DESK, TOOK), "fridge 1 cannot heat things; that takes a microwave"),
        ("cool mug 1 with fridge 1", HERE, (AT_DESK, TOOK), "you are not at fridge 1; go there first"),
        ("clean mug 1 with sinkbasin 1", HERE, (AT_DESK,), "you do not hold mug 1"),
        ("clean mug 1 with sinkbasin 1", ["examine sinkbasin 1"], (AT_DESK, TOOK), "mug 1 cannot be treated so: clean"),
        ("use desklamp 1", [], (AT_DESK, AT_SINK), "you are not at desklamp 1; it was seen in or on desk 1"),
        ("use tomato 1", HERE, (AT_DESK,), "tomato 1 cannot be switched on or off"),
        ("use mug 1", HERE, (AT_DESK, TOOK), "mug 1 is in your hands"),
        ("use desklamp 1", HERE, (), "no desklamp 1 has been seen so far"),
        ("examine desk 1", [], (AT_SINK,), "you are not at desk 1; go there first"),
        ("examine mug 1", [], (AT_DESK, AT_SINK), "you are not at mug 1; it was seen in or on desk 1"),
        ("examine plate 1", ["examine cabinet 1", "open cabinet 1"], (OPENED,), "cabinet 1 is closed; open it first"),
        ("slice tomato 1 with mug 1", HERE, (AT_DESK, TOOK), "mug 1 does not slice; that takes a knife"),
        ("slice tomato 1 with knife 1", HERE, (AT_DESK,), "you do not hold knife 1; your hands hold nothing"),
    ],
)
def test_reasons(command: str, admissible: list[str], story: tuple[tuple[str, str], ...], expected: str) -> None:
    found = told(command, admissible, *story)
    assert found.startswith(expected)
    assert bool(found) == bool(expected)


def test_the_other_dialect_is_explained() -> None:
    assert told("move mug 1 to desk 1", HERE, AT_DESK, TOOK, dialect="put").endswith("put {object} in/on {receptacle}")


def test_a_reason_gives_nothing_hidden_away(household: TextEnv) -> None:
    """For an object that exists unseen and for one that does not exist, the reasons are the same."""
    scene = generate.scene(TASK)
    info = start(household)
    hidden = next(item for item in scene.items)
    place = hidden.place.name
    assert f"take {hidden.name} from {place}" not in info["admissible"]
    unseen = household.action_space.explain(f"take {hidden.name} from {place}").reason
    absent = household.action_space.explain(f"take {hidden.name}9 from {place}").reason
    assert unseen.replace(hidden.name, "it") == absent.replace(f"{hidden.name}9", "it")


def test_every_verb_of_the_language_is_in_the_engines_grammar(household: TextEnv) -> None:  # ALF-15
    _, info = play_until_holding(household)
    verbs = {command.split()[0] for command in info["admissible"]}
    assert verbs <= {form.split()[0] for form in templates("move")}


def play_until_holding(env: TextEnv) -> tuple[str, dict[str, Any]]:
    start(env)
    return play(env, *solution(generate.scene(TASK), "move")[:3])


WORDS = "go to take from move put in/on use examine slice with heat open mug desk cabinet knife 1 {object} %s é"
words = st.sampled_from(WORDS.split(" "))


@settings(max_examples=300)
@given(st.one_of(st.text(max_size=300), st.lists(words, max_size=9).map(" ".join)), st.sampled_from(["move", "put"]))
def test_any_text_gets_a_short_reason(command: str, dialect: str) -> None:
    found = told(command, HERE, AT_DESK, TOOK, dialect=dialect)
    assert (found == "") == (command in HERE)
    assert len(found) < 1000


@given(st.text(), st.text())
def test_knowledge_takes_any_observation(command: str, observation: str) -> None:
    knowledge = Knowledge()
    knowledge.observe(command, observation)
    assert knowledge.held is None or knowledge.place[knowledge.held] is None


@given(st.lists(st.tuples(st.sampled_from(["mug", "saltshaker", "cd"]), st.integers(1, 40)), max_size=9))
def test_listings_are_read_back(names: list[tuple[str, int]]) -> None:
    listed = [f"{kind} {number}" for kind, number in names]
    text = ", ".join(f"a {name}" for name in listed[:-1]) + (", and " if len(listed) > 1 else "")
    assert things(text + f"a {listed[-1]}" if listed else "nothing") == listed


def test_knowledge_follows_an_episode() -> None:
    knowledge = Knowledge()
    for pair in (("", ROOM), AT_DESK, TOOK, AT_CABINET, OPENED):
        knowledge.observe(*pair)
    assert knowledge.receptacles == ("cabinet 2", "cabinet 1", "desk 1", "fridge 1", "microwave 1", "sinkbasin 1")
    assert (knowledge.held, knowledge.here) == ("mug 1", {"cabinet 1"})
    assert knowledge.inside("desk 1") == ["desklamp 1", "knife 1", "tomato 1"]
    assert knowledge.inside("cabinet 1") == ["plate 1"]
    assert (knowledge.opened, knowledge.closed) == ({"cabinet 1"}, set())
    knowledge.observe("move mug 1 to cabinet 1", "You move the mug 1 to the cabinet 1.")
    assert knowledge.inside("cabinet 1") == ["mug 1", "plate 1"]
    assert knowledge.held is None


def test_an_engine_that_breaks_is_an_env_error_with_its_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    env = make("household", receptacles=5, distractors=0, engine="reference")
    env.reset(seed=1)

    def fall_over(command: str) -> Any:
        raise IndexError("list index out of range")

    broken = env._borrowed._env  # type: ignore[attr-defined]
    with monkeypatch.context() as patched:
        patched.setattr(broken, "step", fall_over)
        with pytest.raises(EnvError, match="IndexError on 'look': list index out of range") as caught:
            env.step("look")
    assert isinstance(caught.value.__cause__, IndexError)
    with pytest.raises(EnvError, match="no game is loaded"):
        env.step("look")
    env.reset(seed=1)
    assert env.step("look")[4]["valid"]
    env.close()


@pytest.mark.parametrize("close", [True, False])
def test_engines_are_used_again(close: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forgotten environments give their engine back too, if a little later: the parsers hold on to their last call."""
    made: list[reference.ReferenceEngine] = []

    class Counted(reference.ReferenceEngine):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    monkeypatch.setattr(engine, "_IDLE", defaultdict(list))
    monkeypatch.setattr(reference, "ReferenceEngine", Counted)
    for _ in range(6):
        env = make("household", receptacles=5, distractors=0, engine="reference")
        env.reset(seed=1)
        if close:
            env.close()
        del env
        gc.collect()
    assert len(made) <= (1 if close else 3)


def test_versions_name_the_rules_and_the_game(household: TextEnv) -> None:
    start(household)
    first = household.versions()
    assert set(first) == {"engine", "alfworld", "game"}
    start(household, "generated_eval/heat/s1000002-r12-d14")
    assert household.versions()["game"] != first["game"]
    assert set(make("household").versions()) == {"engine", "alfworld"}
    assert set(make("household", engine="reference").versions()) == {"engine", "alfworld", "textworld"}
