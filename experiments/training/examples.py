"""Training data: completions in JSON Lines, as ``trialogue export RUN --to sft`` writes them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from trialogue.errors import DataError

HELD_BACK = ("generated_eval/", "valid_seen/", "valid_unseen/")
"""Splits that are for evaluation: how their tasks' ids begin."""


@dataclass(frozen=True)
class Segment:
    """A part of a completion; ``loss``: the model wrote it, and is to learn it."""

    text: str
    loss: bool


@dataclass(frozen=True)
class Example:
    """One conversation as text to be completed. ``task`` is "" where the line does not name one."""

    prompt: str
    segments: tuple[Segment, ...]
    task: str = ""

    @property
    def text(self) -> str:
        return self.prompt + "".join(segment.text for segment in self.segments)

    def learnt(self) -> list[tuple[int, int]]:
        """Where, in ``text``, the parts to be learnt begin and end (in characters)."""
        spans, place = [], len(self.prompt)
        for segment in self.segments:
            if segment.loss and segment.text:
                spans.append((place, place + len(segment.text)))
            place += len(segment.text)
        return spans


@dataclass(frozen=True)
class DataFile:
    """What was read from where: ``sha256`` of the file's bytes, and how many lines had nothing to be learnt."""

    path: Path
    sha256: str
    lines: int
    empty: int


def read_examples(paths: Sequence[Path]) -> tuple[list[Example], list[DataFile]]:
    """The examples of all files, in order; those of which nothing is learnt are left out (and counted).

    Raises DataError naming the file and line.
    """
    examples: list[Example] = []
    files: list[DataFile] = []
    for path in paths:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise DataError(f"cannot read the training data {path}: {error.strerror}") from error
        found = list(_parsed(path, data))
        learnt = [example for example in found if example.learnt()]
        examples += learnt
        files.append(DataFile(path, hashlib.sha256(data).hexdigest(), len(found), len(found) - len(learnt)))
    return examples, files


def _parsed(path: Path, data: bytes) -> Iterator[Example]:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8: {error}") from None
    for number, line in enumerate(text.split("\n"), start=1):  # not splitlines: texts may hold other line ends
        if line.strip():
            yield parse_example(line, f"{path}, line {number}")


def parse_example(line: str, where: str) -> Example:
    """One line of training data. Raises DataError."""
    try:
        told = json.loads(line)
    except ValueError as error:
        raise DataError(f"{where}: not JSON: {error}") from None
    if isinstance(told, dict) and "messages" in told:
        raise DataError(
            f"{where}: a chat (messages). A local model is trained on completions: play the episodes with a model of "
            "the completion style, and export those"
        )
    try:
        segments = tuple(Segment(_text(part["text"]), _flag(part["loss"])) for part in told["segments"])
        example = Example(_text(told["prompt"]), segments, str(told.get("task", "")))
        completion = _text(told["completion"])
    except (KeyError, TypeError) as error:
        raise DataError(
            f"{where}: expected prompt, completion and segments, each of these with text and loss, as "
            f"`trialogue export RUN --to sft` writes them ({type(error).__name__}: {error})"
        ) from None
    if example.text != example.prompt + completion:
        raise DataError(f"{where}: the segments, put together, are not the completion")
    if example.task.startswith(HELD_BACK):
        raise DataError(
            f"{where}: the task {example.task!r} is one of those that agents are evaluated on; a model trained on it "
            "would know it by heart. Export episodes of generated_train"
        )
    return example


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text was expected, not {value!r}")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"true or false was expected, not {value!r}")
    return value
