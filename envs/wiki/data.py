"""HotpotQA and FEVER as their authors publish them. A split is a file of the data folder, named by its stem.

HotpotQA (Yang et al. 2018): ``*.json``, a list of ``_id``, ``question``, ``answer``, ``type``, ``context``; rows
without ``_id`` are numbered. FEVER (Thorne et al. 2018): ``*.jsonl``, rows of ``id``, ``claim``, ``label``. A label
given as an integer is read by the names that ``dataset_info.json`` beside the file declares (features.label.names,
the format of Hugging Face datasets), never by guess.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from trialogue.envs import generated
from trialogue.envs.contract import Task
from trialogue.envs.wiki.corpus import Corpus
from trialogue.envs.wiki.scoring import LABELS, fever_label
from trialogue.envs.wiki.sources import context_pages, read_json, read_jsonl, stamp
from trialogue.errors import DataError, UnknownName

QUESTION_TYPES = ("bridge", "comparison")
CLAIM = "claim"
"""The one type of every claim: a type that told the label would give it away."""


@dataclass(frozen=True)
class Question:
    """A question or claim, with its gold answer or label."""

    task: Task
    text: str
    answer: str


@dataclass(frozen=True)
class Dataset:
    """One file: its questions by task id, and the pages that it brings along (or None)."""

    questions: Mapping[str, Question]
    pages: Corpus | None


@dataclass(frozen=True)
class Format:
    """How a data set is stored: the file suffix, the published splits, where to get them, and how a file is read."""

    title: str
    variable: str
    suffix: str
    published: tuple[str, ...]
    home: str
    read: Callable[[Path], Dataset]

    def splits(self, data: str | os.PathLike[str] | None) -> dict[str, Path]:
        """The files of the data folder (or the one file ``data``) by split. Raises DataError if it is not there."""
        setting = self._setting(data)
        if not setting:
            raise DataError(
                f"no {self.title} data: neither the setting data nor ${self.variable} is set. {self._advice}"
            )
        files = self._files(_resolved(setting))
        if not files:
            raise DataError(f"no {self.title} data: no *{self.suffix} files at {_resolved(setting)}. {self._advice}")
        return {file.stem: file for file in files}

    def load(self, data: str | os.PathLike[str] | None, split: str) -> Dataset:
        """The data set of ``split``. Raises DataError, or UnknownName for a split that is not there."""
        if not self._setting(data) and split not in self.published:
            raise UnknownName("split", split, (*generated.SPLITS, *self.published))
        files = self.splits(data)
        if split not in files:
            raise UnknownName("split", split, (*generated.SPLITS, *files))
        return _loaded(self.read, files[split], stamp(files[split]))

    def folder(self, data: str | os.PathLike[str] | None) -> Path | None:
        """The folder that the data lies in, or None when neither the setting nor the variable names one."""
        setting = self._setting(data)
        if not setting:
            return None
        root = _resolved(setting)
        return root.parent if root.is_file() else root

    def digests(self, data: str | os.PathLike[str] | None) -> dict[str, str]:
        """The SHA-256 of every data file, as "data SPLIT"; none where there is no data."""
        setting = self._setting(data)
        files = self._files(_resolved(setting)) if setting else []
        return {f"data {file.stem}": _digest(file, stamp(file)) for file in files}

    def _files(self, root: Path) -> list[Path]:
        return [root] if root.is_file() else sorted(root.glob(f"*{self.suffix}"))

    def _setting(self, data: str | os.PathLike[str] | None) -> str | os.PathLike[str] | None:
        return data if data is not None else os.environ.get(self.variable)

    @property
    def _advice(self) -> str:
        return (
            f"Expected a folder with {', '.join(name + self.suffix for name in self.published)} or files like them, "
            f"from {self.home}. The splits {' and '.join(generated.SPLITS)} need no data."
        )


@lru_cache(maxsize=4)
def _loaded(read: Callable[[Path], Dataset], path: Path, stamp: tuple[int, int]) -> Dataset:
    """Keyed by the file's state: environments share what they read, and a changed file is read anew."""
    return read(path)


def read_hotpotqa(path: Path) -> Dataset:
    """Reads one HotpotQA file. Raises DataError that names the row and what it lacks."""
    rows = read_json(path)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DataError(f"{path} holds no HotpotQA questions; expected a JSON list of objects.")
    questions = {}
    for number, row in enumerate(rows):
        place = f"{path}, row {number}"
        kind = _text(row, "type", place)
        if kind not in QUESTION_TYPES:
            raise DataError(f"{place}: expected the type {' or '.join(QUESTION_TYPES)}; got {kind!r}.")
        task = Task(f"{path.stem}/{row.get('_id', number)}", path.stem, kind)
        questions[task.id] = Question(task, _text(row, "question", place), _text(row, "answer", place))
    pages = Corpus(context_pages(rows, path)) if any(row.get("context") for row in rows) else None
    return Dataset(questions, pages)


def read_fever(path: Path) -> Dataset:
    """Reads one FEVER file. Raises DataError that names the line and what it lacks."""
    names = _declared_names(path.parent)
    questions = {}
    for place, row in read_jsonl(path):
        if "id" not in row:
            raise DataError(f"{place}: expected an id; got the keys {', '.join(row)}.")
        task = Task(f"{path.stem}/{row['id']}", path.stem, CLAIM)
        questions[task.id] = Question(task, _text(row, "claim", place), read_label(row.get("label"), names, place))
    return Dataset(questions, None)


def read_label(value: object, names: Sequence[str] | None, place: str = "a row") -> str:
    """The label that ``value`` spells, or stands for as a number in the declared ``names``. Raises DataError."""
    if isinstance(value, int) and not isinstance(value, bool):
        if names is None or value not in range(len(names)):
            raise DataError(
                f"{place}: the label is the number {value}, and no names are declared for it. Write the label out "
                f"({', '.join(LABELS)}), or declare features.label.names in a dataset_info.json beside the file."
            )
        value = names[value]
    label = fever_label(value) if isinstance(value, str) else None
    if label is None:
        raise DataError(f"{place}: expected a label of {', '.join(LABELS)}; got {value!r}.")
    return label


def _declared_names(folder: Path) -> Sequence[str] | None:
    path = folder / "dataset_info.json"
    if not path.is_file():
        return None
    try:
        names: list[str] = read_json(path)["features"]["label"]["names"]
    except (KeyError, TypeError):
        raise DataError(f"{path} declares no label names; expected features.label.names.") from None
    return names


def _text(row: Mapping[str, Any], key: str, place: str) -> str:
    value = row.get(key)
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{place}: expected text under {key!r}; got {value!r}.")
    return value


def _resolved(setting: str | os.PathLike[str]) -> Path:
    return Path(setting).expanduser().resolve()


@lru_cache(maxsize=64)
def _digest(path: Path, stamp: tuple[int, int]) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


HOTPOTQA = Format(
    "HotpotQA",
    "HOTPOTQA_DATA",
    ".json",
    ("hotpot_train_v1.1", "hotpot_dev_distractor_v1", "hotpot_dev_fullwiki_v1"),
    "https://hotpotqa.github.io",
    read_hotpotqa,
)
FEVER = Format(
    "FEVER",
    "FEVER_DATA",
    ".jsonl",
    ("train", "paper_dev", "paper_test", "shared_task_dev"),
    "https://fever.ai",
    read_fever,
)
