"""The random and the expert agent, and agents by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from small_house import ADMISSIBLE, briefing, play

from trialogue.agents import describe, make_agent, needs_model
from trialogue.agents.contract import View
from trialogue.agents.models.scripted import ScriptedModel
from trialogue.errors import UnknownName, UsageError


class Walker:
    """An expert that goes to the desk and takes what it sees there."""

    def act(self, observation: str, admissible: Sequence[str] | None) -> str:
        return "take mug 1 from desk 1" if "mug 1" in observation else "go to desk 1"


async def draws(seed: int, count: int = 400, admissible: tuple[str, ...] = ADMISSIBLE) -> list[str | None]:
    agent = make_agent("random")
    agent.begin(briefing(seed=seed))
    return [(await agent.turn(View("A room.", admissible))).action for _ in range(count)]


async def test_random_draws_uniformly_by_its_seed() -> None:
    assert await draws(1) == await draws(1, admissible=ADMISSIBLE[::-1])
    assert await draws(1) != await draws(2)
    counts = Counter(await draws(1))
    assert set(counts) == set(ADMISSIBLE)
    assert all(60 < count < 140 for count in counts.values())  # four standard deviations of Binomial(400, 1/4)


@pytest.mark.parametrize("admissible", [None, ()])
async def test_random_refuses_where_nothing_is_listed(admissible: tuple[str, ...] | None) -> None:
    agent = make_agent("random")
    agent.begin(briefing())
    with pytest.raises(UsageError, match="does not list any"):
        await agent.turn(View("A room.", admissible))


async def test_expert_plays_the_expert_of_the_environment() -> None:
    house, turns = await play(make_agent("expert"), turns=5, told=replace(briefing(), expert=Walker()))
    assert house.won
    assert [turn.action for turn in turns] == ["go to desk 1", "take mug 1 from desk 1"]


def test_expert_refuses_where_there_is_none() -> None:
    with pytest.raises(UsageError, match="'household' has no expert"):
        make_agent("expert").begin(briefing())


class Thinker(Walker):
    """Thinks before each step where it may, and knows what was done."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def thought(self, *, dense: bool) -> str:
        return "I go on." if dense else ""

    def did(self, action: str) -> None:
        self.told.append(action)


async def test_expert_thinks_as_it_is_asked_to() -> None:
    for thoughts, said in (("none", ()), ("sparse", ()), ("dense", ("I go on.",))):
        agent = make_agent("expert", settings={"thoughts": thoughts})
        house, turns = await play(agent, turns=5, told=replace(briefing(), expert=Thinker()))
        assert house.won
        assert [turn.thoughts for turn in turns] == [said, said]


async def test_expert_slips_by_its_seed_and_the_policy_is_told() -> None:
    async def actions(seed: int) -> tuple[list[str], list[str]]:
        expert = Thinker()
        agent = make_agent("expert", settings={"slips": 0.5})
        agent.begin(replace(briefing(seed=seed), expert=expert))
        turns = [await agent.turn(View("A room.", ADMISSIBLE)) for _ in range(200)]
        assert [turn.action for turn in turns if turn.notes] == expert.told
        assert all(turn.action == "go to desk 1" for turn in turns if not turn.notes)
        assert {note for turn in turns for note in turn.notes} == {"a slip, in place of: go to desk 1"}
        return [str(turn.action) for turn in turns], expert.told

    first = await actions(1)
    assert first == await actions(1)
    assert first != await actions(2)
    assert 65 < len(first[1]) < 135  # five standard deviations of Binomial(200, 1/2)


@pytest.mark.parametrize(
    ("settings", "said"), [({"thoughts": "sparse"}, "does not think"), ({"slips": 0.1}, "cannot go on after a slip")]
)
def test_expert_is_not_asked_for_what_it_cannot_do(settings: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        make_agent("expert", settings=settings).begin(replace(briefing(), expert=Walker()))


def test_agents_by_name() -> None:
    assert [(info.name, needs_model(info.name)) for info in describe() if not info.package] == [
        *((name, True) for name in ("standard", "cot", "cot_sc", "act", "react", "react_cot_sc", "cot_sc_react")),
        *((name, True) for name in ("reflexion", "retry", "plan_react", "rewoo", "native_tools", "human")),
        *((name, False) for name in ("random", "expert")),
    ]
    defaults = {info.name: info.settings for info in describe()}
    assert defaults["react"]["thoughts"] == "sparse"
    assert defaults["act"] == {**defaults["react"], "thoughts": "none"}
    assert defaults["random"] == {}


@pytest.mark.parametrize(
    ("name", "set_to", "hint"),
    [
        ("reakt", {}, "Did you mean 'react'"),
        ("react", {"constraned": True}, "Did you mean 'constrained'"),
        ("random", {"thoughts": "none"}, r"Known: \(none\)"),
    ],
)
def test_unknown_names_are_answered_with_the_nearest(name: str, set_to: dict[str, object], hint: str) -> None:
    with pytest.raises(UnknownName, match=hint):
        make_agent(name, model=ScriptedModel([]), settings=set_to)


@pytest.mark.parametrize(
    ("name", "set_to", "said"),
    [
        ("react", {"thoughts": "sometimes"}, "settings of react: thoughts: .*'sometimes'"),
        ("react", {"exemplars": -1}, "exemplars: .*-1"),
        ("act", {"thoughts": "sparse"}, "settings of act: thoughts"),
    ],
)
def test_values_that_cannot_be_are_refused(name: str, set_to: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        make_agent(name, model=ScriptedModel([]), settings=set_to)


def test_an_agent_that_asks_a_model_is_not_made_without_one() -> None:
    with pytest.raises(UsageError, match="asks a model"):
        make_agent("react")
    with pytest.raises(UnknownName):
        needs_model("reakt")
