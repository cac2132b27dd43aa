"""The shopping environment: WebShop's goals, real and generated, behind the Gymnasium interface."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.metadata import version
from typing import Any, ClassVar

from trialogue.envs.contract import Info, Policy, Task, TextEnv, split_of
from trialogue.envs.spaces import ActionSpace, TextSpace
from trialogue.envs.webshop import files, generate, goals
from trialogue.envs.webshop.catalogue import Goal, Shop
from trialogue.envs.webshop.nouns import tagger
from trialogue.envs.webshop.session import PARTS, TEMPLATES, Session
from trialogue.errors import UnknownName, UsageError

INVALID = "Invalid action!"


class ShopInfo(Info):
    """``clipped``: the published rules gave a score above 1 (see :mod:`.scoring`), which was cut to 1."""

    clipped: bool


class WebShopEnv(TextEnv):
    """A customer in a web shop (WebShop; Yao et al. 2022, https://arxiv.org/abs/2207.01206).

    Commands are ``search[words]`` on the search page and ``click[element]`` for what stands in brackets on a page, in
    any case; a value that two choices share can be named with its choice (``click[size: small]``). Buying
    ends the episode; the score is WebShop's, and success (``won``) is the full score.

    ``info["admissible"]`` lists every possible click. Any words can be searched for, so on the search page
    it lists suggestions only, made of the goal's own words: enough for random and constrained players to go on.

    ``data`` is a folder with WebShop's files (default $TRIALOGUE_WEBSHOP_DATA), needed for their splits only; ``seed``
    draws their prices and price limits. ``count`` is the number of tasks in a generated split, ``page_size`` the number
    of results a page. ``show_attributes=False`` hides the page of attributes, which the paper's players did not have.
    ``split`` is what ``reset`` draws from when it is not told a task.
    """

    name: ClassVar[str] = "webshop"
    splits: ClassVar[tuple[str, ...]] = tuple(generate.SHOPS)

    def __init__(
        self,
        data: str | os.PathLike[str] | None = None,
        split: str = "generated_train",
        count: int = 300,
        page_size: int = 10,
        show_attributes: bool = True,
        seed: int = 233,
    ) -> None:
        if page_size < 1:
            raise UsageError(f"page_size must be at least 1; got {page_size}.")
        generate.tasks("generated_train", count)
        self.data, self.split, self.count, self.seed = data, split, count, seed
        self.action_space = ActionSpace(TEMPLATES)
        self.observation_space = TextSpace()
        self._visit = partial(Session, page_size=page_size, parts=PARTS if show_attributes else PARTS[:-1])
        self._listed: dict[str, tuple[Task, ...]] = {}
        self._episode: _Episode | None = None

    def tasks(self, split: str) -> Sequence[Task]:
        """Generated splits by shop and goal; real ones in WebShop's order (see :mod:`.goals`). See :class:`TextEnv`."""
        if split not in self._listed:
            self._listed[split] = self._list(split)
        return self._listed[split]

    def task(self, id: str) -> Task:
        """Any task that its id can rebuild, listed by ``tasks`` or not. Raises UsageError, UnknownName, DataError."""
        if not isinstance(id, str):
            raise UsageError(f"a task id is text; got {type(id).__name__}.")
        if id.startswith("generated_"):
            return generate.Recipe.parse(id).task
        goal = self._known(split_of(id)).get(id)
        if goal is None:
            raise UnknownName("task", id, difflib.get_close_matches(id, self._known(split_of(id)), n=3))
        return Task(id, split_of(id), generate.type_of(goal))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Any]:
        """Starts ``options["task"]``, or a task of ``split`` that the seed draws.

        Raises UsageError or UnknownName for options that cannot be, DataError for files that cannot be read.
        """
        super().reset(seed=seed)
        task = self._chosen(options or {})
        self._episode = None
        shop, goal = self._shop(task)
        self._episode = _Episode(task, goal, self._visit(shop, goal))
        return self._episode.observation, self._tell()

    def step(self, action: str) -> tuple[str, float, bool, bool, Any]:
        """Executes one command. After the end nothing happens any more: no reward, and score and ``won`` stay."""
        episode = self._playing()
        if not isinstance(action, str):
            raise UsageError(f"an action is text; got {type(action).__name__}.")
        before = episode.value
        episode.take(action)
        return episode.observation, episode.value - before, episode.over, False, self._tell()

    def expert(self) -> Policy:
        """A fresh buyer for the episode that was just reset."""
        from trialogue.envs.webshop.expert import Buyer

        self._playing()
        return Buyer()

    def versions(self) -> dict[str, str]:
        """What finds and scores products (``nouns`` names the tagger), and the SHA-256 of the files in use."""
        found = {name: version(name) for name in ("bm25s", "PyStemmer", "rapidfuzz")}
        found["nouns"] = tagger().name
        if self._episode is not None and self._episode.task.split in goals.SPLITS:
            found["webshop files"] = files.read(files.root(self.data), self.seed).digest
        return found

    def _list(self, split: str) -> tuple[Task, ...]:
        if split in generate.SHOPS:
            return generate.tasks(split, self.count)
        return tuple(Task(id, split, generate.type_of(goal)) for id, goal in self._known(split).items())

    def _known(self, split: str) -> Mapping[str, Goal]:
        if split not in goals.SPLITS:
            raise UnknownName("split", split, (*self.splits, *goals.SPLITS))
        return goals.goals(files.root(self.data), split, self.seed)

    def _chosen(self, options: dict[str, Any]) -> Task:
        for name in options:
            if name != "task":
                raise UnknownName("reset option", name, ("task",))
        if "task" in options:
            return self.task(options["task"])
        tasks = self.tasks(self.split)
        if not tasks:
            raise UsageError(f"the split {self.split!r} has no tasks in these files; choose another.")
        return tasks[int(self.np_random.integers(len(tasks)))]

    def _shop(self, task: Task) -> tuple[Shop, Goal]:
        if task.split in generate.SHOPS:
            return generate.build(task.id)
        return files.read(files.root(self.data), self.seed).shop, self._known(task.split)[task.id]

    def _playing(self) -> _Episode:
        if self._episode is None:
            raise UsageError("no episode has begun; call reset() first.")
        return self._episode

    def _tell(self) -> ShopInfo:
        episode = self._playing()
        info = episode.info()
        self.action_space.update(info["admissible"], episode.session.refusal)
        return info


class _Episode:
    """One task being played: the visit to the shop, and what was last said."""

    def __init__(self, task: Task, goal: Goal, session: Session) -> None:
        self.task, self.goal, self.session = task, goal, session
        self.observation, self.reason = session.text, ""

    @property
    def over(self) -> bool:
        return self.session.score is not None

    @property
    def value(self) -> float:
        return self.session.score.value if self.session.score is not None else 0.0

    def take(self, command: str) -> None:
        self.reason = self.session.take(command)
        self.observation = INVALID if self.reason else self.session.text

    def info(self) -> ShopInfo:
        return ShopInfo(
            task=self.task.id,
            type=self.task.type,
            goal=self.goal.text,
            dialect="",
            admissible=self.session.admissible(),
            valid=not self.reason,
            reason=self.reason,
            score=self.value,
            won=self.value == 1.0,
            clipped=self.session.score is not None and self.session.score.clipped,
        )
