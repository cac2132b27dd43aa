"""ReWOO: plans read and written, and the agent through the real loop, with scripted models."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_house import ADMISSIBLE, briefing, play
from small_house import TEMPLATES as HOUSE
from small_house import exemplars_for as house_exemplars
from small_quiz import START, TEMPLATES, exemplars_for, quiz, told

from trialogue.agents.contract import Liberty, View
from trialogue.agents.models.contract import Message, Reply, Request
from trialogue.agents.models.scripted import ScriptedModel
from trialogue.agents.react import call_seed
from trialogue.agents.reading import Language
from trialogue.agents.rewoo import RewooAgent, RewooSettings, Step, read_plan, with_evidence, write_plan
from trialogue.envs import TextEnv, make
from trialogue.errors import UsageError
from trialogue.exemplars import Exemplar, PlannedStep
from trialogue.exemplars.library import ExemplarFile, bundled_files

Style = Literal["chat", "completion"]
LANGUAGE = Language(TEMPLATES)
PLAN = """\
Plan: The page of the dance names its composer.
#E1 = search[Bukko's Dance]
Plan: Then the composer's own page.
#E2 = search[Edda Lind]"""


def rewoo(replies: Any, style: Style = "chat", **set_to: Any) -> tuple[RewooAgent, ScriptedModel]:
    model = ScriptedModel(replies, style=style)
    return RewooAgent(model, RewooSettings(**set_to), exemplars_for), model


# Plans


def test_a_plan_is_read() -> None:
    plan = read_plan(PLAN, LANGUAGE)
    assert plan.steps == (
        Step(1, "The page of the dance names its composer.", "search[Bukko's Dance]"),
        Step(2, "Then the composer's own page.", "search[Edda Lind]"),
    )
    assert plan.liberties == ()


@pytest.mark.parametrize(
    "text",
    [
        "Plan: a\n#E1 = search[x]",
        "Plan: a #E1 = search[x]",
        "**Plan:** a\n\n**#E1** = `search[x]`",
        "1. Plan: a\n   - #E1 = search[x]",
        "Plan 1: a\n#E1: search[x]",
        "Plan: Plan: a\n#e1=search[x]",
        "<think>Plan: b\n#E1 = search[y]</think>Plan: a\n#E1 = search[x]",
        "计划：a\n#E1 = search[x]",
    ],
)
def test_a_plan_is_read_as_models_write_it(text: str) -> None:
    assert read_plan(text, LANGUAGE).steps == (Step(1, "a", "search[x]"),)


def test_what_is_no_command_is_skipped_and_noted() -> None:
    text = "Here is my plan.\nPlan: a\n#E1 = Google[x]\n#E2 = Search[y]\n#E3 = finish[#E2]\nGood luck!"
    plan = read_plan(text, LANGUAGE)
    assert plan.steps == (Step(2, "", "search[y]"),)
    assert plan.liberties == (
        Liberty("plan_line_skipped", "Here is my plan.", ""),
        Liberty("plan_line_skipped", "#E1 = Google[x]", ""),
        Liberty("case", "Search[y]", "search[y]"),
        Liberty("plan_line_skipped", "#E3 = finish[#E2]", ""),
        Liberty("plan_line_skipped", "Good luck!", ""),
    )
    assert read_plan(text, LANGUAGE, repairs=False).steps == ()


def test_a_command_that_was_cut_off_is_skipped() -> None:
    cut = read_plan("#E1 = search[x]\n#E2 = search[Edd", LANGUAGE, finish_reason="length")
    assert (cut.steps, [liberty.kind for liberty in cut.liberties]) == ((Step(1, "", "search[x]"),), ["cut_off"])
    assert len(read_plan("#E1 = search[x]", LANGUAGE, finish_reason="length").steps) == 1
    assert read_plan("#E1 = take mug 1 from de", Language(HOUSE), finish_reason="length").steps == ()


def test_evidence_is_put_in_once_and_what_is_missing_is_named() -> None:
    evidence = {1: "3.57", 12: "see #E1", 2: r"\1"}
    assert with_evidence("calculate[#E1 * #E12]", evidence) == ("calculate[3.57 * see #E1]", ())
    assert with_evidence("search[#E2 #E3 #e3]", evidence) == (r"search[\1 #E3 #e3]", ("#E3", "#e3"))
    assert with_evidence("search[#E]", evidence) == ("search[#E]", ())


PARTS = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "Plan:",
                "#E1 = ",
                "#E2=",
                "#E12:",
                "search[",
                "]",
                "finish[",
                "\n",
                " ",
                "#E1",
                "<think>",
                "- ",
                "**",
                "\ud800",
            ]
        ),
        st.text(max_size=8),
    ),
    max_size=16,
).map("".join)


@settings(max_examples=300, deadline=None)
@given(PARTS, st.sampled_from([TEMPLATES, HOUSE, ()]), st.sampled_from(["stop", "length"]), st.booleans())
def test_any_text_is_read_as_a_plan(text: str, templates: tuple[str, ...], reason: str, repairs: bool) -> None:
    language = Language(templates)
    plan = read_plan(text, language, finish_reason=reason, repairs=repairs)
    write_plan(plan.steps).encode()
    assert all(language.accepts(step.action) and "finish[" not in step.action[:7] for step in plan.steps)


WORDS = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=6)
STEPS = st.lists(
    st.tuples(
        st.lists(WORDS, max_size=4).map(" ".join),
        st.one_of(WORDS, st.sampled_from(["#E1", "a #E2 b", "#E1 = [x]", "Plan: x"])).map("search[{}]".format),
    ),
    max_size=5,
).map(lambda told: tuple(Step(number, *step) for number, step in enumerate(told, start=1)))


@settings(max_examples=200, deadline=None)
@given(STEPS)
def test_a_plan_that_was_written_is_read_again(steps: tuple[Step, ...]) -> None:
    plan = read_plan(write_plan(steps), LANGUAGE)
    assert (plan.steps, plan.liberties) == (steps, ())


# Prompts


PLANNER_OPENING = """\
Commands: search[{entity}]
Plan every command that leads to the goal before the first is done; until the last one is, nothing is shown to you. \
Write two lines for each: "Plan:" and what it is for, then "#E1 =" and the command, numbered on. A later command may \
hold #E1 where what the first one brings is to be put in.

Tasks and their plans:

You have an encyclopedia.
Goal: answer the question: How many boats are there?
Plan: The page of the boats.
#E1 = search[boats]
Plan: More of them.
#E2 = search[#E1]

You have an encyclopedia.
Goal: answer the question: Who sings?
Plan: Let me see.
#E1 = search[singer]"""

PLANNER_TASK = f"{START}\nGoal: answer the question: Where was the composer of Bukko's Dance born?"

SOLVER_TOLD = """\
Question: Where was the composer of Bukko's Dance born?
Plan: The page of the dance names its composer.
#E1 = search[Bukko's Dance]
Evidence #E1: It was composed by Edda Lind.
Plan: Then the composer's own page.
#E2 = search[Edda Lind]
Evidence #E2: She was born in Bergen, in 1843."""

SOLVER_OPENING = (
    "Answer the question. The answer is a few words at most. "
    "A plan was carried out, and what each command brought stands below it as evidence."
)


async def test_planner_and_solver_as_text() -> None:
    agent, model = rewoo([PLAN.removeprefix("Plan:"), " Bergen"], "completion")
    end, _ = await quiz(agent)
    planner, solver = model.requests
    text = f"{PLANNER_OPENING}\n\nNow your own task:\n{PLANNER_TASK}\nPlan:"
    assert planner == Request(text, stop=("\n\n",), max_tokens=400, seed=call_seed(7, 0))
    text = f"{SOLVER_OPENING}\n\n{SOLVER_TOLD}\nAnswer:"
    assert solver == Request(text, stop=("\n",), max_tokens=60, seed=call_seed(7, 1))
    assert end.ending == "solved"
    assert agent.exemplar_ids == ("boats", "silent")


async def test_planner_and_solver_as_chat() -> None:
    agent, model = rewoo([PLAN, "Answer: Bergen"])
    end, _ = await quiz(agent)
    planner, solver = model.requests
    assert planner.prompt == (Message("system", PLANNER_OPENING), Message("user", PLANNER_TASK))
    system = f'{SOLVER_OPENING}\nReply with one line: "Answer:" and nothing but the answer.'
    assert solver.prompt == (Message("system", system), Message("user", SOLVER_TOLD))
    assert (planner.stop, solver.stop, end.ending) == ((), ("\nQuestion:",), "solved")


# Episodes


async def test_the_plan_is_carried_out_without_asking_the_model() -> None:
    agent, model = rewoo([PLAN, "By the evidence, finish[Bergen]\nfinish[Bergen]"])
    end, log = await quiz(agent)
    assert (end.ending, end.turns, len(model.requests)) == ("solved", 3, 2)
    assert log.actions == ["search[Bukko's Dance]", "search[Edda Lind]", "finish[Bergen]"]
    assert [turn.raw != () for turn in log.turns] == [True, False, True]
    assert [turn.notes for turn in log.turns] == [("planned 2 commands",), (), ("the solver is asked",)]
    assert log.turns[1].thoughts == ("Then the composer's own page.",)


async def test_evidence_is_put_into_later_commands_on_one_line_and_clipped() -> None:
    agent, model = rewoo(["#E1 = search[Edda Lind]\n#E2 = search[of #E1 and #E7]", "Bergen"], evidence_chars=12)
    _, log = await quiz(agent)
    assert log.actions[1] == "search[of She was bor… and #E7]"
    assert log.turns[1].notes == ("#E2 asks for evidence that is not there: #E7",)
    assert "Evidence #E1: She was bor…" in str(model.requests[1].prompt)
    agent, _ = rewoo(["#E1 = search[Edda Lind]\n#E2 = search[#E1]", "Bergen"])
    _, log = await quiz(agent)
    assert log.actions[1] == "search[She was born in Bergen, in 1843.]"


async def test_by_default_evidence_has_300_characters() -> None:
    agent, _ = rewoo(["#E1 = search[a]\n#E2 = search[#E1]"])
    agent.begin(told())
    await agent.turn(View(START))
    turn = await agent.turn(View("long " * 100))
    assert turn.action is not None
    assert len(turn.action) == len("search[]") + 300


async def test_an_unreadable_plan_is_a_turn_and_is_asked_for_again() -> None:
    agent, model = rewoo(["I would search.", Reply("#E1 = search[Ed", finish_reason="length"), PLAN, "Bergen"])
    end, log = await quiz(agent)
    assert [turn.kind for turn in log.turns] == ["unreadable", "truncated", "action", "action", "action"]
    assert log.turns[0].problem.startswith("No plan could be read in your reply.")
    assert "#E1 = search[{entity}]" in log.turns[0].problem
    assert [request.seed for request in model.requests] == [call_seed(7, call) for call in range(4)]
    assert model.requests[0].prompt == model.requests[2].prompt
    assert end.ending == "solved"


async def test_skipped_lines_are_liberties_of_the_first_turn() -> None:
    agent, _ = rewoo(["#E1 = LLM[infer]\n#E2 = Search[Edda Lind]", "Bergen"])
    _, log = await quiz(agent)
    assert [liberty.kind for liberty in log.turns[0].liberties] == ["plan_line_skipped", "case"]
    assert log.actions[0] == "search[Edda Lind]"


async def test_an_answer_that_cannot_be_read_or_is_refused_is_asked_for_again() -> None:
    agent, model = rewoo(["#E1 = search[Edda Lind]", "", "Answer: ?", "Answer: Bergen"])
    end, log = await quiz(agent)
    assert [turn.kind for turn in log.turns] == ["action", "unreadable", "action", "action"]
    assert log.actions == ["search[Edda Lind]", None, "finish[?]", "finish[Bergen]"]
    assert model.requests[1].prompt == model.requests[3].prompt
    assert end.ending == "solved"


async def test_where_nothing_can_be_answered_the_plan_is_the_whole_episode() -> None:
    plan = "Plan: To the shelf.\n#E1 = go to the shelf1\n#E2 = look"
    agent = RewooAgent(ScriptedModel([plan], style="chat"), RewooSettings(), house_exemplars)
    house, turns = await play(agent, turns=3)
    assert house.moves == ["go to shelf 1", "look"]
    assert [turn.kind for turn in turns] == ["action", "action", "give_up"]
    assert [liberty.kind for liberty in turns[0].liberties] == ["article", "numbering"]
    assert turns[2].problem == "the plan is used up: its 2 commands did not reach the goal"


async def test_a_plan_can_win_where_nothing_is_answered() -> None:
    model = ScriptedModel([" Go.\n#E1 = go to desk 1\nPlan: Take.\n#E2 = take mug 1 from desk 1"])
    house, turns = await play(RewooAgent(model, RewooSettings(), house_exemplars), turns=5)
    assert house.won
    assert [turn.thoughts for turn in turns] == [("Go.",), ("Take.",)]
    shown = str(model.requests[0].prompt)
    assert "Plan: A pen may be on the bed.\n#E1 = go to bed 1\nPlan: Here it is.\n#E2 = take pen 1 from bed 1" in shown


async def test_a_used_up_plan_ends_the_episode_as_no_action() -> None:
    agent, _ = rewoo(["#E1 = search[x]"])
    agent.begin(told(templates=("search[{entity}]",)))
    await agent.turn(View(START))
    assert (await agent.turn(View("Nothing."))).kind == "give_up"


async def test_without_repairs_commands_are_passed_on_as_planned() -> None:
    agent = RewooAgent(ScriptedModel(["#E1 = go to the desk1"], style="chat"), RewooSettings(repairs=False))
    agent.begin(briefing())
    assert (await agent.turn(View("A room.", ADMISSIBLE))).action == "go to the desk1"


async def test_the_same_seed_gives_the_same_requests_and_an_agent_plays_again() -> None:
    asked: list[list[Request]] = []
    for _ in range(2):
        agent, model = rewoo([PLAN, "Bergen", PLAN, "Bergen"])
        await quiz(agent, seed=5)
        await quiz(agent, seed=5)
        asked.append(model.requests)
    assert asked[0] == asked[1]
    assert asked[0][:2] == asked[0][2:]


def test_settings_are_checked_and_told() -> None:
    with pytest.raises(UsageError, match="completes text"):
        rewoo([], "completion", format="chat")
    assert set(rewoo([])[0].conditions()) == {*RewooSettings.model_fields, "wording"}


# The bundled plans and reasonings

ANSWERING = [e for env in ("hotpotqa", "fever", "tools") for file in bundled_files(env) for e in file.told("")]


@pytest.mark.parametrize("exemplar", ANSWERING, ids=lambda e: f"{e.env}-{e.id}")
def test_every_exemplar_that_ends_in_an_answer_reasons_towards_it(exemplar: Exemplar) -> None:
    answer = exemplar.steps[-1].action.removeprefix("finish[").removesuffix("]")
    assert "search" not in exemplar.reasoning
    if exemplar.env == "fever":
        assert exemplar.reasoning.split()
    else:
        assert answer in exemplar.reasoning.replace(",", "")


@pytest.mark.parametrize("exemplar", [e for e in ANSWERING if e.plan], ids=lambda e: f"{e.env}-{e.id}")
def test_bundled_plans_are_read_as_they_are_written_and_accepted_by_the_environment(exemplar: Exemplar) -> None:
    env = make(exemplar.env)
    env.reset(options={"task": exemplar.task})
    steps = [Step(number, step.thought, step.action) for number, step in enumerate(exemplar.plan, start=1)]
    plan = read_plan(write_plan(steps), Language(env.action_space.templates))
    assert (list(plan.steps), plan.liberties) == (steps, ())
    last = carried_out(steps, env)
    if exemplar.env == "tools":
        assert float(last) == pytest.approx(float(exemplar.steps[-1].action[len("finish[") : -1]), rel=1e-4)


def exemplar_file(**entry: Any) -> ExemplarFile:
    step = {"action": "go right", "observation": "Room 1.", "in": {"far": {"action": "walk right"}}}
    told = {"id": "one", "goal": "reach room 1", "observation": "Room 0.", "steps": [step], **entry}
    return ExemplarFile.model_validate({"env": "toy", "type": "odd", "dialect": "near", "exemplars": [told]})


def test_reasoning_and_plan_of_an_exemplar_are_optional_and_a_plan_speaks_the_files_own_dialect() -> None:
    file = exemplar_file(reasoning="One to the right.", plan=[{"thought": "Go.", "action": "go right"}])
    [near], [far] = file.told("near"), file.told("far")
    assert (near.reasoning, near.plan) == ("One to the right.", (PlannedStep("Go.", "go right"),))
    assert (far.reasoning, far.plan) == ("One to the right.", ())
    [bare] = exemplar_file().told("near")
    assert (bare.reasoning, bare.plan) == ("", ())
    with pytest.raises(ValueError, match=r"plan\.0\.action"):
        exemplar_file(plan=[{"thought": "Go."}])


def carried_out(steps: list[Step], env: TextEnv) -> str:
    """The evidence of the last step; every one of them is accepted."""
    evidence: dict[int, str] = {}
    for step in steps:
        action, missing = with_evidence(step.action, evidence)
        evidence[step.number], _, _, _, info = env.step(action)
        assert (missing, info["reason"]) == ((), "")
    return evidence[steps[-1].number]
