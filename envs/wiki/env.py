"""Look-up question answering behind the Gymnasium interface: HotpotQA and FEVER, real and generated."""

from __future__ import annotations

import os
import re
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar

from trialogue.envs import generated
from trialogue.envs.contract import Policy, Task, split_of
from trialogue.envs.episode import OVER, Episode, EpisodeEnv
from trialogue.envs.wiki import generate, scoring
from trialogue.envs.wiki.browser import Browser
from trialogue.envs.wiki.data import CLAIM, FEVER, HOTPOTQA, QUESTION_TYPES, Format, Question
from trialogue.envs.wiki.pages import PageSource
from trialogue.envs.wiki.sources import open_source
from trialogue.errors import DataError, UnknownName

TEMPLATES = ("search[{entity}]", "lookup[{string}]", "finish[{answer}]")
LONGEST_ARGUMENT = 300
"""Characters. Wikipedia's titles end at 255 bytes; what is longer is a runaway reply, and would be echoed."""

Judge = Callable[[str, str], tuple[bool, float]]

_ACTION = re.compile(r"(search|lookup|finish)\[(.*)\]", re.DOTALL)
_DONE = "Episode finished."
_BESIDE_DATA = ("wiki-pages", "recorded_searches.json")


class WikiEnv(EpisodeEnv["_Episode"]):
    """Answering by searching an encyclopedia (ReAct, Yao et al. 2023, section 3.1).

    ``search[entity]`` shows the first five sentences of a page, or the titles most like ``entity``;
    ``lookup[string]`` the next sentence of the open page that holds ``string``; ``finish[answer]`` ends the episode
    and scores the answer. The verbs are written in lower case. A search that finds no page is a valid action
    without a result.

    ``data`` is a folder with the data set (or one file of it), needed for real splits only; default: the
    environment variable of the data set. ``pages`` says where searches look in real splits, see
    :mod:`trialogue.envs.wiki.sources`; a generated task brings its own encyclopedia. ``split`` is what ``reset``
    draws from when it is not told a task; ``count`` is the number of tasks in a generated split.
    """

    splits: ClassVar[tuple[str, ...]] = generated.SPLITS
    types: ClassVar[tuple[str, ...]]
    format: ClassVar[Format]
    instruction: ClassVar[str]
    goal: ClassVar[str]

    def __init__(
        self,
        data: str | os.PathLike[str] | None = None,
        pages: str | os.PathLike[str] | PageSource | None = None,
        split: str = "generated_eval",
        count: int = 300,
    ) -> None:
        generate.tasks(generated.SPLITS[0], self.types, count)
        super().__init__(split, TEMPLATES)
        self.data, self.pages, self.count = data, pages, count

    def tasks(self, split: str) -> Sequence[Task]:
        """Generated splits by seed, types in turn; real splits in the file's order. See :class:`TextEnv`."""
        if split in generated.SPLITS:
            return generate.tasks(split, self.types, self.count)
        return [question.task for question in self.format.load(self.data, split).questions.values()]

    def expert(self) -> Policy | None:
        """A fresh expert for the generated task that was just reset; None for a real one."""
        episode = self._playing()
        if episode.task.split not in generated.SPLITS:
            return None
        from trialogue.envs.wiki.expert import Expert

        return Expert(episode.goal)

    def versions(self) -> dict[str, str]:
        """How answers are scored, the SHA-256 of every data file, and the fingerprint of the pages (see PageSource).

        The pages of a generated task, or of a data file, are known once an episode has begun.
        """
        found = {"scoring": self.scoring, **self.format.digests(self.data)}
        source = self._shared_pages() if self._episode is None else self._episode.browser.source
        return found if source is None else {**found, "pages": source.fingerprint()}

    @property
    @abstractmethod
    def scoring(self) -> str:
        """The name of the rule that scores answers."""

    @abstractmethod
    def judge(self, answer: str, gold: str) -> tuple[bool, float]:
        """Whether ``answer`` wins, and its score in [0, 1]."""

    def _find(self, id: str) -> Task:
        if id.startswith("generated_"):
            return generate.parse(id, self.types)
        questions = self.format.load(self.data, split_of(id)).questions
        if id not in questions:
            raise UnknownName("task", id, questions)
        return questions[id].task

    def _begin(self, task: Task) -> _Episode:
        question, browser = self._opened(task)
        return _Episode(question, browser, self.judge, f"{self.goal}: {question.text}", self.instruction)

    def _opened(self, task: Task) -> tuple[Question, Browser]:
        if task.split in generated.SPLITS:
            question, about, _ = generate.build(task)
            return question, Browser(about.pages)
        dataset = self.format.load(self.data, task.split)
        source = (dataset.pages if self.pages is None else None) or self._shared_pages()
        if source is None:
            raise DataError(
                f"no pages to search for {task.split}: give the setting pages (a folder, a file, or 'live' for "
                f"Wikipedia), or put {' or '.join(_BESIDE_DATA)} into {self.format.folder(self.data)}."
            )
        return dataset.questions[task.id], Browser(source)

    def _shared_pages(self) -> PageSource | None:
        """What ``pages`` names, else pages that lie beside the data, for data sets that do not bring them along."""
        if self.pages is not None:
            return open_source(self.pages)
        folder = self.format.folder(self.data)
        beside = [folder / name for name in _BESIDE_DATA if (folder / name).exists()] if folder else []
        return open_source(beside[0]) if beside else None


class _Episode(Episode):
    """One question being answered. The gold answer in it is compared with, and never told."""

    closed = "Invalid action."
    goal = ""
    won = False
    over = False
    score = 0.0

    def __init__(self, question: Question, browser: Browser, judge: Judge, goal: str, opening: str) -> None:
        super().__init__(question.task)
        self.browser, self.goal, self.observation = browser, goal, opening
        self._gold, self._judge = question.answer, judge

    def take(self, command: str) -> None:
        self.reason = self.explain(command)
        self.observation = self.closed if self.reason else self._execute(command)

    def explain(self, command: str) -> str:
        match = _ACTION.fullmatch(command.strip())
        if self.over:
            return OVER
        if match is None:
            return f"expected {', '.join(TEMPLATES[:2])} or {TEMPLATES[2]}, the verb in lower case."
        verb, argument = match.groups()
        if not argument.strip() and verb != "finish":  # no answer is one, and scores nothing
            return f"{verb}[] is empty; write what to {verb} between the brackets."
        if len(argument) > LONGEST_ARGUMENT:
            return f"at most {LONGEST_ARGUMENT} characters may stand between the brackets; got {len(argument)}."
        if verb == "lookup" and self.browser.page is None:
            return "lookup reads the page found last, and no page has been found yet; search first."
        return ""

    def _execute(self, command: str) -> str:
        verb, _, argument = command[:-1].partition("[")
        if verb == "search":
            return self.browser.search(argument)
        if verb == "lookup":
            return self.browser.lookup(argument)
        self.over = True
        self.won, self.score = self._judge(argument, self._gold)
        return _DONE


class HotpotQAEnv(WikiEnv):
    """Questions over several pages (HotpotQA; Yang et al. 2018, https://arxiv.org/abs/1809.09600).

    ``won`` is exact match and ``score`` is F1, both by the normalisation ``metric`` (one of scoring.METRICS;
    "official" is the data set's own). Searches look among the paragraphs of the data file, all its questions
    together, unless ``pages`` names another source. Data: ``data`` or $HOTPOTQA_DATA.
    """

    name: ClassVar[str] = "hotpotqa"
    types: ClassVar[tuple[str, ...]] = QUESTION_TYPES
    format: ClassVar[Format] = HOTPOTQA
    instruction: ClassVar[str] = (
        "You have an encyclopedia. Search it for a page, look up words on the page, and finish with a short answer."
    )
    goal: ClassVar[str] = "answer the question"

    def __init__(
        self,
        data: str | os.PathLike[str] | None = None,
        pages: str | os.PathLike[str] | PageSource | None = None,
        split: str = "generated_eval",
        count: int = 300,
        metric: str = "official",
    ) -> None:
        super().__init__(data, pages, split, count)
        self.metric = scoring.require_metric(metric)

    @property
    def scoring(self) -> str:
        return f"exact match and F1, {self.metric}"

    def judge(self, answer: str, gold: str) -> tuple[bool, float]:
        return scoring.exact_match(answer, gold, self.metric), scoring.f1(answer, gold, self.metric)


class FeverEnv(WikiEnv):
    """Claims to be judged (FEVER; Thorne et al. 2018, https://arxiv.org/abs/1803.05355).

    The answer is one of three labels in any usual spelling; ``won`` and ``score`` say whether it is the gold label.
    An answer that spells no label is wrong. Real claims are searched in ``pages``, else in wiki-pages/ or
    recorded_searches.json beside the data. Data: ``data`` or $FEVER_DATA.
    """

    name: ClassVar[str] = "fever"
    types: ClassVar[tuple[str, ...]] = (CLAIM,)
    format: ClassVar[Format] = FEVER
    instruction: ClassVar[str] = (
        "You have an encyclopedia. Search it for a page, look up words on the page, and finish with SUPPORTS if it "
        "bears the claim out, REFUTES if it contradicts the claim, or NOT ENOUGH INFO if it does not say."
    )
    goal: ClassVar[str] = "judge the claim"

    @property
    def scoring(self) -> str:
        return "FEVER label"

    def judge(self, answer: str, gold: str) -> tuple[bool, float]:
        right = scoring.fever_match(answer, gold)
        return right, float(right)
