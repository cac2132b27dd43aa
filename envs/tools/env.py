"""The tools environment: questions that are answered by calling tools, behind the Gymnasium interface."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from importlib.metadata import version
from typing import Any, ClassVar

from trialogue.envs.contract import Info, Policy, Task, TextEnv
from trialogue.envs.spaces import ActionSpace, TextSpace
from trialogue.envs.tools import questions, scoring
from trialogue.envs.tools.questions import Recipe
from trialogue.envs.tools.tables import table_tools
from trialogue.envs.tools.tool import Tool, ToolFailure
from trialogue.envs.tools.toolbox import Confirm, Limits, Toolbox
from trialogue.errors import UnknownName, UsageError

_DONE = "Episode finished."


class ToolsEnv(TextEnv):
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
    splits: ClassVar[tuple[str, ...]] = tuple(questions.SEEDS)

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
        self.split, self.count = split, count
        self._further, self._allowed, self._confirm = tuple(tools), allowed, confirm
        self._limits = Limits(seconds, characters)
        self._toolbox = self._box(_Episode(Recipe("generated_train", next(iter(questions.TYPES)), 0)))
        self.action_space = ActionSpace(self._toolbox.templates)
        self.observation_space = TextSpace()
        self._episode: _Episode | None = None

    def tasks(self, split: str) -> Sequence[Task]:
        """Generated splits by seed, interleaved by type. See :class:`TextEnv`."""
        if split not in questions.SEEDS:
            raise UnknownName("split", split, self.splits)
        return questions.tasks(split, self.count)

    def task(self, id: str) -> Task:
        """Any question that its id can rebuild, listed by ``tasks`` or not. Raises UsageError, UnknownName."""
        if not isinstance(id, str):
            raise UsageError(f"a task id is text; got {type(id).__name__}.")
        return Recipe.parse(id).task

    def tool_schemas(self) -> list[dict[str, Any]]:
        """The tools in OpenAI's format for function calls, ``finish`` included."""
        return self._toolbox.tool_schemas()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Any]:
        """Starts ``options["task"]``, or a task of ``split`` that the seed draws.

        Raises UsageError or UnknownName for options that cannot be.
        """
        super().reset(seed=seed)
        task = self._chosen(options or {})
        self._episode = _Episode(Recipe.parse(task.id))
        self._toolbox = self._box(self._episode)
        names = ", ".join(self._episode.question.tables)
        self._episode.observation = f"Tables: {names}.\nTools:\n{self._toolbox.manual()}"
        return self._episode.observation, self._tell()

    def step(self, action: str) -> tuple[str, float, bool, bool, Any]:
        """Makes one call. After the end nothing happens any more: no reward, and ``won`` stays."""
        episode = self._playing()
        if not isinstance(action, str):
            raise UsageError(f"an action is text; got {type(action).__name__}.")
        before = episode.won
        if episode.over:
            episode.observation, episode.reason = _DONE, "the episode is over; call reset"
        else:
            answer = self._toolbox.call(action.strip())
            episode.observation, episode.reason = answer.text, answer.reason
        return episode.observation, float(episode.won - before), episode.over, False, self._tell()

    def expert(self) -> Policy:
        """A fresh expert for the episode that was just reset. It plays the embedded questions."""
        from trialogue.envs.tools.expert import Reckoner

        return Reckoner(self._playing().question.text)

    def versions(self) -> dict[str, str]:
        """What checks arguments; the questions come with this package."""
        return {"pydantic": version("pydantic")}

    def _box(self, episode: _Episode) -> Toolbox:
        tools = (*table_tools(episode.question.tables), *self._further, Tool.of(episode.finish))
        allowed = None if self._allowed is None else {*self._allowed, "finish"}
        return Toolbox(tools, allowed, self._limits, self._confirm)

    def _chosen(self, options: dict[str, Any]) -> Task:
        for name in options:
            if name != "task":
                raise UnknownName("reset option", name, ("task",))
        if "task" in options:
            return self.task(options["task"])
        tasks = self.tasks(self.split)
        return tasks[int(self.np_random.integers(len(tasks)))]

    def _playing(self) -> _Episode:
        if self._episode is None:
            raise UsageError("no episode has begun; call reset() first.")
        return self._episode

    def _tell(self) -> Info:
        self.action_space.update(None, self._toolbox.explain, self._toolbox.templates)
        return self._playing().info()


class _Episode:
    """One question being answered."""

    def __init__(self, recipe: Recipe) -> None:
        self.task, self.question = recipe.task, questions.build(recipe)
        self.observation, self.reason = "", ""
        self.over, self.won = False, False

    def finish(self, answer: str) -> str:
        """Ends the episode with the answer, one number."""
        given = scoring.number_in(answer)
        if given is None:
            raise ToolFailure("the answer must hold exactly one number, such as 1204.5")
        self.over, self.won = True, scoring.right(given, self.question.gold)
        return _DONE

    def info(self) -> Info:
        return Info(
            task=self.task.id,
            type=self.task.type,
            goal=self.question.text,
            dialect="",
            admissible=None,
            valid=not self.reason,
            reason=self.reason,
            score=float(self.won),
            won=self.won,
        )
