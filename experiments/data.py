"""Real task sets: where they come from, where the environments look for them, and how to get them.

What cannot be fetched, here or at all, is said exactly: which files to put where, and which variable names the folder.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from trialogue.errors import DataError, UnknownName
from trialogue.experiments.download import Progress, fetch


@dataclass(frozen=True)
class RemoteFile:
    """``name`` is the one that the environment expects; ``url`` "" where a person has to fetch it from ``home``."""

    name: str
    url: str = ""
    sha256: str = ""


@dataclass(frozen=True)
class DataSet:
    """A set of ``files`` in one folder, which ``variable`` names; ``command`` is a program that fetches it instead."""

    name: str
    title: str
    variable: str
    home: str
    use: str
    files: tuple[RemoteFile, ...]
    command: str = ""

    def folder(self, to: Path | None = None) -> Path:
        """``to``, else the folder that the variable names, else one below ~/.cache."""
        cache = Path.home() / ".cache"
        usual = cache / self.name if self.command else cache / "trialogue" / self.name
        folder = (to or Path(os.environ.get(self.variable) or usual)).expanduser()
        return folder.parent if folder.is_file() else folder

    def missing(self, folder: Path) -> list[str]:
        """What is not in ``folder`` yet, or not known to be complete."""
        unfinished = self.command and (folder / f"{self.command}.part").exists()
        return [file.name for file in self.files if unfinished or not (folder / file.name).exists()]

    def state(self) -> str:
        """One line for people: there, or what is missing where."""
        folder = self.folder()
        missing = self.missing(folder)
        if missing:
            return f"not in {folder}" if len(missing) == len(self.files) else f"{folder} lacks {', '.join(missing)}"
        places = [folder / file.name for file in self.files]
        found = sum(place.stat().st_size for place in places if place.is_file())
        return f"{folder} ({size(found)})" if found else str(folder)

    def by_hand(self, folder: Path) -> str:
        """What a person has to do without this program."""
        sources = [f"  {file.name}" + (f"  from {file.url}" if file.url else "") for file in self.files]
        return "\n".join(
            [
                f"To get {self.title} by hand, put these into {folder}:",
                *sources,
                f"They are at {self.home}.",
                self.advice(folder),
            ]
        )

    def advice(self, folder: Path) -> str:
        """How the files are then used."""
        return f"Then set {self.variable}={folder} (or the setting data); {self.use}"


SETS = (
    DataSet(
        "alfworld",
        "ALFWorld's games",
        "ALFWORLD_DATA",
        "github.com/alfworld/alfworld",
        "tasks: {env: household, split: valid_unseen}",
        (RemoteFile("json_2.1.1"),),
        command="alfworld-download",
    ),
    DataSet(
        "hotpotqa",
        "HotpotQA's development questions, distractor setting",
        "HOTPOTQA_DATA",
        "hotpotqa.github.io",
        "tasks: {env: hotpotqa, split: hotpot_dev_distractor_v1}",
        (
            RemoteFile(
                "hotpot_dev_distractor_v1.json",
                "http://curtis.ml.cmu.edu/datasets/hotpot/hotpot_dev_distractor_v1.json",
            ),
        ),
    ),
    DataSet(
        "fever",
        "FEVER's development claims",
        "FEVER_DATA",
        "fever.ai/dataset/fever.html",
        "tasks: {env: fever, split: paper_dev, settings: {pages: live}}, or put wiki-pages beside it",
        (RemoteFile("paper_dev.jsonl", "https://fever.ai/download/fever/paper_dev.jsonl"),),
    ),
    DataSet(
        "webshop",
        "WebShop's 1,000 products and their goals",
        "TRIALOGUE_WEBSHOP_DATA",
        "github.com/princeton-nlp/WebShop, whose setup.sh fetches them from Google Drive with gdown (-d small)",
        "tasks: {env: webshop, split: synthetic_test}",
        (
            RemoteFile("items_shuffle_1000.json"),
            RemoteFile("items_ins_v2_1000.json"),
            RemoteFile("items_human_ins.json"),
        ),
    ),
)


def find(name: str) -> DataSet:
    """The set called ``name``. Raises UnknownName."""
    for known in SETS:
        if known.name == name:
            return known
    raise UnknownName("data set", name, [known.name for known in SETS])


def obtain(wanted: DataSet, to: Path | None = None, mirror: str = "", progress: Progress | None = None) -> str:
    """Gets what is missing of ``wanted``, from below the address ``mirror`` if given, and says how to use it.

    Raises DataError with what to do by hand when it cannot.
    """
    folder = wanted.folder(to)
    try:
        if wanted.command and not mirror and wanted.missing(folder):
            _run(wanted.command, folder, wanted.variable)
        for file in wanted.files:
            url = f"{mirror.rstrip('/')}/{file.name}" if mirror else file.url
            if url and not wanted.command:
                fetch(url, folder / file.name, sha256=file.sha256, progress=progress)
    except DataError as error:
        raise DataError(f"{error}\n{wanted.by_hand(folder)}") from error
    missing = wanted.missing(folder)
    if missing:
        raise DataError(f"{wanted.title}: not there: {', '.join(missing)}.\n{wanted.by_hand(folder)}")
    return f"{wanted.title}: in {folder}\n{wanted.advice(folder)}"


def size(count: int | None) -> str:
    """Bytes for people: "46.3 MB"."""
    if count is None:
        return "an unknown size"
    number, unit = float(count), "B"
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000 or unit == "GB":
            break
        number /= 1000
    return f"{number:.0f} B" if unit == "B" else f"{number:.1f} {unit}"


def _run(command: str, folder: Path, variable: str) -> None:
    """Runs another package's own download, which knows its addresses. Raises DataError."""
    beside = Path(sys.executable).with_name(command)
    program = str(beside) if beside.is_file() else shutil.which(command)
    if program is None:
        raise DataError(f"the program {command!r} is not installed")
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f"{command}.part"
    unfinished.touch()
    done = subprocess.run([program], env={**os.environ, variable: str(folder)}, check=False)  # noqa: S603
    if done.returncode:
        raise DataError(f"{command} failed with exit code {done.returncode}; the same command goes on")
    unfinished.unlink()
