"""The tools environment: questions that are answered by calling tools, behind the Gymnasium interface."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from importlib.metadata import version
from typing import Any, ClassVar

from trialogue.envs import generated
from trialogue.envs.contract import Policy, Task
from trialogue.envs.episode import Episode, EpisodeEnv
from trialogue.envs.tools import questions, scoring
from trialogue.envs.tools.questions import Question, Recipe
from trialogue.envs.tools.tables import table_tools
from trialogue.envs.tools.tool import Tool, ToolFailure
from trialogue.envs.tools.toolbox import Confirm, Limits, Toolbox
from trialogue.errors import UnknownName

Finish = Callable[[str], str]


class ToolsEnv(EpisodeEnv["_Episode"]):
    """Questions over small tables: look up in several calls, calculate, and answer with a number.

    A call is ``lookup[planets, Aster, day]``, ``Action: lookup`` with ``Action Input: {…}`` under it, or a JSON tool
    call (see :mod:`.calls`); ``tool_schemas()`` describes the tools for a model's native calls. ``finish[answer]`` ends
    the episode; how answers are compared is told in :mod:`.scoring`.

    ``tools`` are further tools: typed functions with a docstring, or :class:`Tool` objects. ``allowed`` names
    the tools that may be called (default: all; ``finish`` always). ``seconds`` and ``characters`` bound one call and
    what is shown of its result; ``confirm`` is asked before a dangerous tool is run (none: such calls are refused).
    ``split`` is what ``reset`` draws from when it is not told a task; ``count`` the number of tasks in a split.
    """

    name: ClassVar[str] = "tools"
    splits: ClassVar[tuple[str, ...]] = generated.SPLITS

    def __init__(
        self,
        split: str = "generated_train",
        count: int = 300,
        tools: Sequence[Tool | Callable[..., Any]] = (),
        allowed: Collection[str] | None = None,
        seconds: float = 10.0,
        characters: int = 2000,
        confirm: Confirm | None = None,
    ) -> None:
        questions.tasks("generated_train", count)
        self.count = count
        self._further, self._allowed, self._confirm = tuple(tools), allowed, confirm
        self._limits = Limits(seconds, characters)
        some = Recipe("generated_train", next(iter(questions.TYPES)), 0)
        self._toolbox = self._begin(some.task).toolbox
        super().__init__(split, self._toolbox.templates)

    def tasks(self, split: str) -> Sequence[Task]:
        """Generated splits by seed, interleaved by type. See :class:`TextEnv`."""
        if split not in generated.SPLITS:
            raise UnknownName("split", split, self.splits)
        return questions.tasks(split, self.count)

    def tool_schemas(self) -> list[dict[str, Any]]:
        """The tools in OpenAI's format for function calls, ``finish`` included."""
        return self._toolbox.tool_schemas()

    def expert(self) -> Policy:
        """A fresh expert for the episode that was just reset. It plays the embedded questions."""
        from trialogue.envs.tools.expert import Reckoner

        return Reckoner(self._playing().goal)

    def versions(self) -> dict[str, str]:
        """What checks arguments; the questions come with this package."""
        return {"pydantic": version("pydantic")}

    def _find(self, id: str) -> Task:
        return Recipe.parse(id).task

    def _begin(self, task: Task) -> _Episode:
        question = questions.build(Recipe.parse(task.id))
        episode = _Episode(task, question, partial(self._box, question))
        self._toolbox = episode.toolbox
        return episode

    def _box(self, question: Question, finish: Finish) -> Toolbox:
        tools = (*table_tools(question.tables), *self._further, Tool.of(finish))
        allowed = self._allowed
        if allowed is not None and not isinstance(allowed, str):
            allowed = {*allowed, "finish"}
        return Toolbox(tools, allowed, self._limits, self._confirm)


class _Episode(Episode):
    """One question being answered."""

    closed = "Episode finished."
    goal = ""
    won = False
    over = False

    def __init__(self, task: Task, question: Question, box: Callable[[Finish], Toolbox]) -> None:
        super().__init__(task)
        self.goal, self._gold = question.text, question.gold
        self.toolbox = box(self.finish)
        self.templates = self.toolbox.templates
        self.observation = f"Tables: {', '.join(question.tables)}.\nTools:\n{self.toolbox.manual()}"

    def finish(self, answer: str) -> str:
        """Ends the episode with the answer, one number."""
        given = scoring.number_in(answer)
        if given is None:
            raise ToolFailure("the answer must hold exactly one number, such as 1204.5")
        self.over, self.won = True, scoring.right(given, self._gold)
        return self.closed

    def take(self, command: str) -> None:
        answer = self.toolbox.call(command)
        self.observation, self.reason = answer.text, answer.reason

    def explain(self, command: str) -> str:
        return self.toolbox.explain(command)
