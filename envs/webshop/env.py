"""The shopping environment: WebShop's goals, real and generated, behind the Gymnasium interface."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.metadata import version
from typing import ClassVar

from trialogue.envs import generated
from trialogue.envs.contract import Info, Policy, Task, split_of
from trialogue.envs.episode import Episode, EpisodeEnv
from trialogue.envs.webshop import files, generate, goals
from trialogue.envs.webshop.catalogue import Goal, Shop
from trialogue.envs.webshop.nouns import tagger
from trialogue.envs.webshop.session import PARTS, TEMPLATES, Session
from trialogue.errors import UnknownName, UsageError

INVALID = "Invalid action!"


class ShopInfo(Info):
    """``clipped``: the published rules gave a score above 1 (see :mod:`.scoring`), which was cut to 1."""

    clipped: bool


class WebShopEnv(EpisodeEnv["_Episode"]):
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
    splits: ClassVar[tuple[str, ...]] = generated.SPLITS

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
        super().__init__(split, TEMPLATES)
        self.data, self.count, self.seed = data, count, seed
        self._visit = partial(Session, page_size=page_size, parts=PARTS if show_attributes else PARTS[:-1])
        self._listed: dict[str, tuple[Task, ...]] = {}

    def tasks(self, split: str) -> Sequence[Task]:
        """Generated splits by shop and goal; real ones in WebShop's order (see :mod:`.goals`). See :class:`TextEnv`."""
        if split not in self._listed:
            self._listed[split] = self._list(split)
        return self._listed[split]

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
        if split in generated.SPLITS:
            return generate.tasks(split, self.count)
        return tuple(Task(id, split, generate.type_of(goal)) for id, goal in self._known(split).items())

    def _known(self, split: str) -> Mapping[str, Goal]:
        if split not in goals.SPLITS:
            raise UnknownName("split", split, (*self.splits, *goals.SPLITS))
        return goals.goals(files.root(self.data), split, self.seed)

    def _find(self, id: str) -> Task:
        if id.startswith("generated_"):
            return generate.Recipe.parse(id).task
        goal = self._known(split_of(id)).get(id)
        if goal is None:
            raise UnknownName("task", id, difflib.get_close_matches(id, self._known(split_of(id)), n=3))
        return Task(id, split_of(id), generate.type_of(goal))

    def _begin(self, task: Task) -> _Episode:
        shop, goal = self._shop(task)
        return _Episode(task, goal.text, self._visit(shop, goal))

    def _shop(self, task: Task) -> tuple[Shop, Goal]:
        if task.split in generated.SPLITS:
            return generate.build(task.id)
        return files.read(files.root(self.data), self.seed).shop, self._known(task.split)[task.id]


class _Episode(Episode):
    """One task being played: the visit to the shop, and what was last said."""

    closed = INVALID
    goal = ""

    def __init__(self, task: Task, goal: str, session: Session) -> None:
        super().__init__(task)
        self.goal, self.session, self.observation = goal, session, session.text

    @property
    def won(self) -> bool:
        return self.score == 1.0

    @property
    def over(self) -> bool:
        return self.session.score is not None

    @property
    def score(self) -> float:
        return self.session.score.value if self.session.score is not None else 0.0

    @property
    def admissible(self) -> list[str]:
        return self.session.admissible()

    def take(self, command: str) -> None:
        self.reason = self.session.take(command)
        self.observation = INVALID if self.reason else self.session.text

    def explain(self, command: str) -> str:
        return self.session.refusal(command)

    def info(self) -> ShopInfo:
        return {**super().info(), "clipped": self.session.score is not None and self.session.score.clipped}
