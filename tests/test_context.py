"""Prompts that do not fit the model's window, observations that are too long, and going round in circles."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, Literal

import pytest
from small_house import ADMISSIBLE, EXEMPLARS, GOAL, briefing, exemplars_for

from trialogue.agents import make_agent
from trialogue.agents.contract import Agent, Turn, View
from trialogue.agents.decision_points import REPETITION
from trialogue.agents.models.contract import Reply, Request
from trialogue.agents.models.scripted import ScriptedModel, prompt_text
from trialogue.agents.react import ReactAgent, call_seed
from trialogue.errors import ContextOverflow

Style = Literal["chat", "completion"]
FIRST = "You are in a room. You see a desk 1, and a shelf 1.\nGoal: find a mug."
SUMMARISE = "Write down, in at most five short sentences"


class Window:
    """A script that refuses prompts of more than ``size`` characters. It looks around, whatever it is asked."""

    def __init__(self, size: int, summary: str = "The desk is empty.") -> None:
        self.size = size
        self.summary = summary
        self.prompts: list[str] = []
        self.summaries = 0

    def __call__(self, request: Request) -> Reply:
        text = prompt_text(request)
        if len(text) > self.size:
            raise ContextOverflow(f"{len(text)} characters are more than {self.size}")
        if SUMMARISE in text:
            self.summaries += 1
            return Reply(self.summary)
        self.prompts.append(text)
        if text.endswith(("> think:", 'begins with "think:".')):
            return Reply("think: I go on.")
        return Reply("look")


def observation(number: int) -> str:
    return f"[observation {number}] " + "A long corridor. " * 10 + f"[end of {number}]"


async def play(
    script: Window, turns: int, set_to: Mapping[str, Any], style: Style = "completion"
) -> tuple[list[Turn], Agent]:
    """Plays ``turns`` turns, each of which is answered by an observation of about 200 characters."""
    model = ScriptedModel(script, style=style)
    agent = make_agent("react", model=model, settings=set_to, exemplars_for=exemplars_for)
    agent.begin(briefing())
    played: list[Turn] = []
    view = View(FIRST, ADMISSIBLE)
    for number in range(1, turns + 1):
        played.append(await agent.turn(view))
        view = View(observation(number), ADMISSIBLE) if played[-1].action else View(None, ADMISSIBLE)
    return played, agent


def whole_observations(prompt: str) -> list[int]:
    """The numbers of the observations in ``prompt``; each must be there from its beginning to its end."""
    numbers = [number for number in range(1, 100) if f"[observation {number}]" in prompt]
    assert all(observation(number) in prompt for number in numbers)
    assert not any(f"[end of {number}]" in prompt for number in range(1, 100) if number not in numbers)
    return numbers


PLACED = ("none", "sparse", "dense", "decision_points")


@pytest.mark.parametrize("thoughts", PLACED)
@pytest.mark.parametrize("style", ["chat", "completion"])
@pytest.mark.parametrize("context", ["exemplars", "window", "summary"])
async def test_what_does_not_fit_is_left_out_at_whole_entries(context: str, style: Style, thoughts: str) -> None:
    script = Window(3000)
    turns, _ = await play(script, 40, {"context": context, "thoughts": thoughts}, style)
    assert [turn.kind for turn in turns] == ["action"] * 40
    for prompt in script.prompts:
        assert FIRST in prompt
        numbers = whole_observations(prompt)
        assert numbers == list(range(numbers[0], numbers[-1] + 1)) if numbers else True
    assert whole_observations(script.prompts[-1])[-1] == 39
    assert (script.summaries > 0) == (context == "summary")
    noted = [note for turn in turns for note in turn.notes]
    assert all("left out of the prompt" in note for note in noted)
    assert 3 <= len(noted) <= 39
    assert "exemplar" in noted[0] if context == "exemplars" else "oldest steps" in noted[0]


@pytest.mark.parametrize("thoughts", PLACED)
@pytest.mark.parametrize("style", ["chat", "completion"])
async def test_between_two_shortenings_a_prompt_only_grows(style: Style, thoughts: str) -> None:
    script = Window(3000)
    turns, _ = await play(script, 30, {"context": "window", "thoughts": thoughts}, style)
    shortened_in = [bool(turn.notes) for turn in turns for _ in turn.raw]
    grown = [after.startswith(before) for before, after in itertools.pairwise(script.prompts)]
    assert len(shortened_in) == len(script.prompts)
    assert not all(grown)
    assert all(growing or shortened for growing, shortened in zip(grown, shortened_in[1:], strict=True))


async def test_end_leaves_nothing_out() -> None:
    script = Window(3000)
    with pytest.raises(ContextOverflow):
        await play(script, 40, {"context": "end"})
    assert whole_observations(script.prompts[-1])[0] == 1
    assert script.prompts[-1].count("Goal: find pen") == 2


async def test_exemplars_go_first_the_best_one_last() -> None:
    set_to = {"context": "exemplars", "thoughts": "none", "exemplars": 3}
    roomy, script = Window(100_000), Window(1500)
    await play(roomy, 1, set_to)
    narrow = Window(len(roomy.prompts[0]) - 1)
    turns, _ = await play(narrow, 1, set_to)
    assert turns[0].notes == ("an exemplar was left out of the prompt, 2 left",)
    assert [exemplar.goal in narrow.prompts[0] for exemplar in EXEMPLARS] == [True, True, False]
    turns, _ = await play(script, 12, set_to)
    noted = [note for turn in turns for note in turn.notes]
    assert noted[:3] == [f"an exemplar was left out of the prompt, {left} left" for left in (2, 1, 0)]
    assert all(note.endswith("oldest steps were left out of the prompt") for note in noted[3:])
    assert "Commands: look, go to" in script.prompts[-1]  # no exemplar shows the command language any more


async def test_window_says_how_many_steps_are_left_out_in_all() -> None:
    script = Window(2500)
    turns, _ = await play(script, 40, {"context": "window", "thoughts": "none"})
    for prompt in script.prompts:
        numbers = whole_observations(prompt)
        gone = numbers[0] - 1 if numbers else 0
        assert prompt.count(f"(The {gone} oldest steps are left out here.)") == bool(gone)
        assert prompt.count("left out here") == bool(gone)
    assert script.prompts[-1].count("Goal: find pen") == 2
    last = next(note for turn in reversed(turns) for note in turn.notes)
    assert last == f"the {whole_observations(script.prompts[-1])[0] - 1} oldest steps were left out of the prompt"


@pytest.mark.parametrize("style", ["chat", "completion"])
async def test_summary_puts_the_models_own_words_in_their_place(style: Style) -> None:
    script = Window(3000, "<think>Hm.</think>The desk\nis empty.")
    await play(script, 30, {"context": "summary", "thoughts": "none"}, style)
    gone = whole_observations(script.prompts[-1])[0] - 1
    told = f"(What was known after the {gone} oldest steps, which are left out here: The desk is empty.)"
    assert f"{FIRST}\n{told}" in script.prompts[-1]
    assert script.prompts[-1].count("What was known") == 1
    assert script.summaries >= 2


async def test_a_later_summary_is_made_of_the_one_before() -> None:
    asked: list[str] = []

    class Listening(Window):
        def __call__(self, request: Request) -> Reply:
            reply = super().__call__(request)
            asked.extend([prompt_text(request)] if reply.text == self.summary else [])
            return reply

    await play(Listening(3000), 30, {"context": "summary", "thoughts": "none"})
    assert "What was known" not in asked[0]
    assert all("What was known" in prompt and GOAL in prompt for prompt in asked[1:])


async def test_where_nothing_was_summarised_the_steps_are_still_left_out() -> None:
    script = Window(3000, "<think>Hm.</think>")
    await play(script, 30, {"context": "summary", "thoughts": "none"})
    assert "oldest steps are left out here.)" in script.prompts[-1]


@pytest.mark.parametrize("context", ["exemplars", "window", "summary"])
@pytest.mark.parametrize("thoughts", PLACED)
async def test_where_nothing_is_left_to_leave_out_the_context_overflows(context: str, thoughts: str) -> None:
    script = Window(20)
    with pytest.raises(ContextOverflow):
        await play(script, 1, {"context": context, "thoughts": thoughts})
    later = Window(3000)
    with pytest.raises(ContextOverflow):
        await play(Shrinking(later, 6), 9, {"context": context, "thoughts": thoughts})


class Shrinking(Window):
    """The window closes after ``calls`` calls: even the last observation alone does not fit any more."""

    def __init__(self, inner: Window, calls: int) -> None:
        super().__init__(inner.size)
        self._calls = calls

    def __call__(self, request: Request) -> Reply:
        self._calls -= 1
        self.size = self.size if self._calls > 0 else 10
        return super().__call__(request)


# -- observations -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [20, 21, 40, 100, 300])
async def test_a_long_observation_is_cut_and_the_rest_counted(size: int) -> None:
    script = Window(100_000)
    await play(script, 2, {"observation_chars": size, "exemplars": 0})
    shown, _, rest = script.prompts[1].rpartition("> look\n")[2].rpartition("\n(")
    if size >= len(observation(1)):
        assert observation(1) in script.prompts[1]
        return
    assert observation(1).startswith(shown)
    assert 0 < len(shown) <= size
    assert rest == f"{len(observation(1)) - len(shown)} more characters are left out here)\n>"


async def test_the_goal_is_told_even_where_the_first_observation_is_cut() -> None:
    script = Window(100_000)
    await play(script, 1, {"observation_chars": 20, "exemplars": 0})
    assert script.prompts[0].count("Goal: find a mug.") == 1


# -- circles ----------------------------------------------------------------------------------------------


async def answered(
    answers: list[str], commands: list[str], set_to: Mapping[str, Any], style: Style = "completion"
) -> tuple[list[str], list[Turn]]:
    """The prompts and turns of an episode in which ``commands`` are answered by ``answers``."""
    prompts: list[str] = []
    given = iter(commands)

    def script(request: Request) -> str:
        prompts.append(prompt_text(request))
        asked_for_thought = prompts[-1].endswith("> think:") or "Try something else" in prompts[-1].rpartition("\n")[2]
        return "think: something else" if asked_for_thought else next(given)

    agent = make_agent("react", model=ScriptedModel(script, style=style), settings={"exemplars": 0, **set_to})
    agent.begin(briefing())
    turns = [await agent.turn(View(FIRST, ADMISSIBLE))]
    turns += [await agent.turn(View(answer, ADMISSIBLE)) for answer in answers]
    return prompts, turns


HINT = "You have done the same several times, and it was answered the same. Try something else."


async def test_a_hint_comes_after_three_times_the_same_and_not_after_two() -> None:
    prompts, _ = await answered(["Dark.", "Dark.", "Dark."], ["look"] * 4, {"on_repetition": "hint"})
    assert [prompt.count(HINT) for prompt in prompts] == [0, 0, 0, 1]
    assert prompts[3].endswith(f"> look\nDark.\n{HINT}\n>")


async def test_the_same_command_with_another_answer_is_no_circle() -> None:
    prompts, _ = await answered(["Dark.", "Dim.", "Light."], ["look"] * 4, {"on_repetition": "hint"})
    assert HINT not in prompts[-1]


async def test_two_commands_in_turn_are_a_circle_too() -> None:
    answers = ["A.", "B."] * 3
    prompts, _ = await answered(answers, ["go to desk 1", "go to shelf 1"] * 3 + ["look"], {"on_repetition": "hint"})
    assert [HINT in prompt for prompt in prompts] == [False] * 6 + [True]


@pytest.mark.parametrize("style", ["chat", "completion"])
@pytest.mark.parametrize("thoughts", ["none", "sparse", "decision_points"])
async def test_a_thought_is_forced_when_the_agent_goes_round_in_circles(thoughts: str, style: Style) -> None:
    set_to = {"on_repetition": "thought", "thoughts": thoughts, "patience": 9}
    commands = ["look"] * 5
    if thoughts == "decision_points":  # the start of an episode calls for a thought of its own
        commands = ["think: start", *commands] if style == "chat" else commands
    _, turns = await answered(["Dark."] * 3, commands, set_to, style)
    assert [turn.event == REPETITION for turn in turns] == [False, False, False, True]
    assert turns[-1].thoughts == ("something else",)
    assert turns[-1].action == "look"


async def test_without_the_setting_nobody_is_told() -> None:
    prompts, turns = await answered(["Dark."] * 3, ["look"] * 4, {})
    assert HINT not in prompts[-1]
    assert all(turn.event == "" for turn in turns)


async def test_recall_says_what_the_same_command_brought_the_last_time() -> None:
    prompts, _ = await answered(["Dark.", "Dim.", "Light."], ["look", "go to desk 1", "look", "look"], {"recall": True})
    told = "Light.\nYou did this before (command 1), and were answered: Dark.\n>"
    assert prompts[-1].endswith(told)
    assert prompts[-1].count("You did this before") == 1


# -- temperatures and seeds -------------------------------------------------------------------------------


async def requests_of(trial: int, set_to: Mapping[str, Any]) -> list[Request]:
    model = ScriptedModel(["A thought.", "look"])
    agent = make_agent("react", model=model, settings={"thoughts": "dense", **set_to})
    assert isinstance(agent, ReactAgent)
    told = briefing()
    agent.begin(type(told)(**{**vars(told), "trial": trial}))
    await agent.turn(View(FIRST, ADMISSIBLE))
    return model.requests


@pytest.mark.parametrize(
    ("trial", "set_to", "temperatures"),
    [
        (0, {"temperature": 0.1}, [0.1, 0.1]),
        (0, {"temperature": 0.1, "thought_temperature": 0.9}, [0.9, 0.1]),
        (0, {"temperature": 0.1, "later_temperature": 0.7}, [0.1, 0.1]),
        (1, {"temperature": 0.1, "later_temperature": 0.7}, [0.7, 0.7]),
        (2, {"temperature": 0.1, "thought_temperature": 0.9, "later_temperature": 0.0}, [0.0, 0.0]),
    ],
)
async def test_temperatures(trial: int, set_to: dict[str, float], temperatures: list[float]) -> None:
    assert [request.temperature for request in await requests_of(trial, set_to)] == temperatures


async def test_every_trial_has_seeds_of_its_own() -> None:
    seeds = [[request.seed for request in await requests_of(trial, {})] for trial in range(3)]
    assert seeds == [[call_seed(7, call, trial) for call in range(2)] for trial in range(3)]
    assert len({seed for trial in seeds for seed in trial}) == 6
