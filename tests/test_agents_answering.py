"""Standard, CoT and CoT-SC, from the prompt to the environment, with scripted models."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Literal

import pytest
from small_quiz import EXEMPLARS, GOAL, exemplars_for, late, quiz, told

from trialogue.agents.answering import (
    CotAgent,
    CotScAgent,
    CotScSettings,
    CotSettings,
    StandardAgent,
    StandardSettings,
)
from trialogue.agents.answering.voting import Poll, majority
from trialogue.agents.contract import View
from trialogue.agents.models.contract import Message, Reply, Request
from trialogue.agents.models.scripted import ScriptedModel
from trialogue.agents.react import call_seed
from trialogue.errors import ModelError, UsageError

Style = Literal["chat", "completion"]
BERGEN, OSLO, NONE = "By Edda Lind.\nAnswer: Bergen", "By Edda Lind.\nAnswer: Oslo", "I do not know."


def standard(replies: Any, style: Style = "completion", **settings: Any) -> tuple[StandardAgent, ScriptedModel]:
    model = ScriptedModel(replies, style=style)
    return StandardAgent(model, StandardSettings(**settings), exemplars_for), model


def cot(replies: Any, style: Style = "completion", **settings: Any) -> tuple[CotAgent, ScriptedModel]:
    model = ScriptedModel(replies, style=style)
    return CotAgent(model, CotSettings(**settings), exemplars_for), model


def cot_sc(replies: Any, style: Style = "completion", **settings: Any) -> tuple[CotScAgent, ScriptedModel]:
    model = ScriptedModel(replies, style=style)
    return CotScAgent(model, CotScSettings(**settings), exemplars_for), model


# Prompts


STANDARD_TEXT = """\
Answer the question. The answer is a few words at most.

Question: How many boats are there?
Answer: 5

Question: Who sings?
Answer: Una

Question: Where was the composer of Bukko's Dance born?
Answer:"""

COT_TEXT = """\
Answer the question. The answer is a few words at most.

Question: How many boats are there?
Thought: There are two boats and three boats. Two plus three is five.
Answer: 5

Question: Where was the composer of Bukko's Dance born?
Thought:"""

COT_CHAT = (
    Message(
        "system",
        "Answer the question. The answer is a few words at most.\n"
        'Reply with a line that begins with "Thought:" and reasons step by step towards the answer, then a line that '
        'holds "Answer:" and nothing but the answer.',
    ),
    Message("user", "Question: How many boats are there?"),
    Message("assistant", "Thought: There are two boats and three boats. Two plus three is five.\nAnswer: 5"),
    Message("user", "Question: Where was the composer of Bukko's Dance born?"),
)


async def test_the_standard_prompt() -> None:
    agent, model = standard([" Bergen"])
    end, log = await quiz(agent)
    [request] = model.requests
    assert request == Request(STANDARD_TEXT, stop=("\n",), max_tokens=40, temperature=0.0, seed=call_seed(7, 0))
    assert (end.ending, log.actions) == ("solved", ["finish[Bergen]"])
    assert (log.turns[0].thoughts, log.turns[0].liberties, log.turns[0].raw) == ((), (), (" Bergen",))
    assert agent.exemplar_ids == ("boats", "silent")


async def test_the_standard_prompt_as_chat() -> None:
    agent, model = standard(["Answer: Bergen"], "chat", exemplars=1)
    end, _ = await quiz(agent)
    [request] = model.requests
    assert request.prompt == (
        Message(
            "system",
            "Answer the question. The answer is a few words at most.\n"
            'Reply with one line: "Answer:" and nothing but the answer.',
        ),
        Message("user", "Question: How many boats are there?"),
        Message("assistant", "Answer: 5"),
        Message("user", "Question: Where was the composer of Bukko's Dance born?"),
    )
    assert request.stop == ("\nQuestion:",)
    assert end.ending == "solved"


async def test_the_chain_of_thought_as_text_leaves_out_exemplars_without_reasoning() -> None:
    agent, model = cot([f" {BERGEN}"])
    end, log = await quiz(agent)
    [request] = model.requests
    assert request == Request(COT_TEXT, stop=("\nQuestion:",), max_tokens=240, seed=call_seed(7, 0))
    assert (end.ending, log.actions) == ("solved", ["finish[Bergen]"])
    assert log.turns[0].thoughts == ("By Edda Lind.",)
    assert agent.exemplar_ids == ("boats",)


async def test_the_chain_of_thought_as_chat() -> None:
    agent, model = cot([f"Thought: {BERGEN}"], "chat")
    end, log = await quiz(agent)
    assert model.requests[0].prompt == COT_CHAT
    assert (end.ending, log.turns[0].thoughts) == ("solved", ("By Edda Lind.",))


async def test_text_reaches_a_chat_model_as_one_message() -> None:
    agent, model = cot([BERGEN], "chat", format="completion")
    await quiz(agent)
    assert model.requests[0].prompt == (Message("user", COT_TEXT),)
    assert agent.conditions()["format"] == "completion"


def test_a_claim_is_told_as_one_and_a_goal_without_opening_as_it_stands() -> None:
    prompts = {}
    for env in ("fever", "tools"):
        agent, _ = standard([], exemplars=0)
        agent.begin(told(env))
        prompts[env] = agent._prompt.text
    assert "Claim: answer the question: Where was" in prompts["fever"]
    assert "SUPPORTS" in prompts["fever"]
    assert f"Question: {GOAL}" in prompts["tools"]


# Where it makes sense, and where not


@pytest.mark.parametrize("kind", ["standard", "cot", "cot_sc"])
def test_where_nothing_can_be_answered_the_agent_refuses_to_begin(kind: str) -> None:
    agent = {"standard": standard, "cot": cot, "cot_sc": cot_sc}[kind]([])[0]
    with pytest.raises(
        UsageError, match=r"'household' has no command such as finish\[answer\]; its commands are: look"
    ):
        agent.begin(told("household", ("look", "go to {receptacle}")))


def test_chat_needs_a_chat_model() -> None:
    with pytest.raises(UsageError, match="completes text"):
        cot([], format="chat")


async def test_an_unreadable_reply_is_asked_again_with_the_next_seed_as_long_as_the_episode_lets_it() -> None:
    agent, model = cot([NONE, "", BERGEN])
    end, log = await quiz(agent)
    assert end.ending == "solved"
    assert [turn.kind for turn in log.turns] == ["unreadable", "unreadable", "action"]
    assert (
        log.turns[0].problem == 'No answer could be read in your reply. Expected a line with "Answer:" and the answer.'
    )
    assert log.turns[0].thoughts == (NONE,)
    assert [request.seed for request in model.requests] == [call_seed(7, call) for call in range(3)]
    assert len({request.prompt for request in model.requests}) == 1
    agent, model = cot([NONE] * 9)
    end, log = await quiz(agent, unreadable=3)
    assert (end.ending, len(model.requests)) == ("no_action", 3)


async def test_a_wrong_answer_fails_and_a_cut_one_is_told_as_such() -> None:
    agent, _ = cot([Reply("By Edda Lind.\nAnswer: Ber", finish_reason="length"), OSLO])
    end, log = await quiz(agent)
    assert (end.ending, [turn.kind for turn in log.turns]) == ("failed", ["truncated", "action"])


async def test_an_answer_that_the_environment_refuses_is_asked_for_again() -> None:
    agent, _ = standard(["?", "Bergen"])
    end, log = await quiz(agent)
    assert (end.ending, log.actions) == ("solved", ["finish[?]", "finish[Bergen]"])


async def test_each_trial_has_seeds_of_its_own_and_an_agent_plays_again() -> None:
    agent, model = standard(["Oslo"] * 3)
    for trial in (0, 1, 0):
        agent.begin(told(trial=trial))
        await agent.turn(View("x"))
    first, second, again = model.requests
    assert first == again
    assert first.prompt == second.prompt
    assert (first.seed, second.seed) == (call_seed(7, 0, 0), call_seed(7, 0, 1))


# Voting


@pytest.mark.parametrize(
    ("answers", "poll"),
    [
        (["Oslo", "Bergen", "bergen"], Poll("Bergen", (("bergen", 2), ("oslo", 1)), 0)),
        (["Bergen", "Oslo"], Poll("Bergen", (("bergen", 1), ("oslo", 1)), 0)),  # a tie: who came first
        (["a", "b", "b", "a", "c"], Poll("a", (("a", 2), ("b", 2), ("c", 1)), 0)),
        (["THE HAGUE", "The Hague", None, "The Hague."], Poll("THE HAGUE", (("hague", 3),), 1)),
        (["oslo", "Oslo", "Oslo"], Poll("Oslo", (("oslo", 3),), 0)),  # a casing that is more frequent
        ([None, None], Poll(None, (), 2)),
    ],
)
def test_the_majority_by_hand(answers: Sequence[str | None], poll: Poll) -> None:
    assert majority(answers) == poll
    assert poll.samples == len(answers)


def test_votes_are_told_with_abstentions_apart() -> None:
    assert str(Poll("Bergen", (("bergen", 2), ("oslo", 1)), 1)) == "votes: bergen 2, oslo 1; 1 abstained"
    assert str(Poll("Bergen", (("bergen", 2),), 0)) == "votes: bergen 2"
    assert str(Poll(None, (), 2)) == "votes: none; 2 abstained"


# CoT-SC


async def test_cot_sc_answers_as_most_of_its_samples_do() -> None:
    replies = [OSLO, "Lind.\nAnswer: Bergen", NONE, "She was.\nSo the answer is bergen."]
    agent, model = cot_sc(replies, samples=4)
    end, log = await quiz(agent)
    [turn] = log.turns
    assert (end.ending, turn.action) == ("solved", "finish[Bergen]")
    assert turn.notes == ("votes: bergen 2, oslo 1; 1 abstained",)
    assert turn.thoughts == ("Lind.",)
    assert turn.raw == tuple(replies)
    assert [request.seed for request in model.requests] == [call_seed(7, call) for call in range(4)]
    assert {request.temperature for request in model.requests} == {0.7}
    assert {str(request.prompt) for request in model.requests} == {COT_TEXT}


async def test_sc_04_a_sample_that_names_an_answer_twice_counts_once() -> None:
    samples = ["The answer is Oslo. So the answer is Oslo.", "The answer is Bergen.", "The answer is bergen."]
    agent, _ = cot_sc(samples, samples=3)
    _, log = await quiz(agent)
    assert (log.turns[0].action, log.turns[0].notes) == ("finish[Bergen]", ("votes: bergen 2, oslo 1",))


def test_by_default_there_are_21_samples_at_temperature_0_7() -> None:
    assert (CotScSettings().samples, CotScSettings().temperature) == (21, 0.7)


async def test_samples_are_drawn_at_once_and_counted_in_the_order_of_their_requests() -> None:
    agent, _ = cot_sc(late([BERGEN, OSLO, OSLO, BERGEN]), samples=4)
    end, log = await quiz(agent)
    assert (end.ending, log.turns[0].notes) == ("solved", ("votes: bergen 2, oslo 2",))
    assert log.turns[0].raw == (BERGEN, OSLO, OSLO, BERGEN)


async def test_when_every_sample_abstains_all_are_asked_again() -> None:
    agent, model = cot_sc([NONE, "", BERGEN, BERGEN], samples=2)
    end, log = await quiz(agent)
    assert end.ending == "solved"
    assert [(turn.kind, turn.notes) for turn in log.turns] == [
        ("unreadable", ("votes: none; 2 abstained",)),
        ("action", ("votes: bergen 2",)),
    ]
    assert [request.seed for request in model.requests] == [call_seed(7, call) for call in range(4)]


async def test_liberties_of_every_sample_are_kept() -> None:
    agent, _ = cot_sc(["So the answer is Bergen.", "Answer: *Bergen*"], samples=2)
    _, log = await quiz(agent)
    assert [(liberty.kind, liberty.after) for liberty in log.turns[0].liberties] == [("answer_taken", "Bergen")] * 2


async def test_an_error_of_one_sample_ends_the_episode_after_the_others_were_answered() -> None:
    answered: list[int | None] = []

    async def script(request: Request) -> Reply:
        if request.seed == call_seed(7, 1):
            raise ModelError("timeout", "no answer")
        await asyncio.sleep(0.01)
        answered.append(request.seed)
        return Reply(BERGEN)

    agent, _ = cot_sc(script, samples=3)
    end, log = await quiz(agent)
    assert (end.ending, end.error, log.turns) == ("model_error", "timeout: no answer", [])
    assert answered == [call_seed(7, 0), call_seed(7, 2)]


@pytest.mark.parametrize("style", ["chat", "completion"])
async def test_the_same_seed_gives_the_same_requests_at_any_speed(style: Style) -> None:
    asked = []
    for script in ([BERGEN] * 5, late([BERGEN] * 5)):
        agent, model = cot_sc(script, style, samples=5)
        await quiz(agent, seed=3)
        asked.append(model.requests)
    assert asked[0] == asked[1]
    assert len({request.seed for request in asked[0]}) == 5


def test_conditions_tell_every_setting_and_the_wording() -> None:
    conditions = cot_sc([], "chat", samples=3)[0].conditions()
    assert set(conditions) == {*CotScSettings.model_fields, "wording"}
    assert (conditions["samples"], conditions["format"]) == (3, "chat")


def test_an_agent_without_exemplars_names_none() -> None:
    agent = CotAgent(ScriptedModel([]), CotSettings())
    agent.begin(told())
    assert agent.exemplar_ids == ()
    assert len(EXEMPLARS) == 2
