"""The checks that people and CI share: style, types, and which way imports run."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAY_IMPORT = {
    "envs": {"envs", "errors"},
    "exemplars": {"exemplars", "errors"},
    "agents": {"agents", "exemplars", "errors"},
    "experiments": {"experiments", "agents", "envs", "exemplars", "errors", "__version__"},
}


@pytest.mark.parametrize(
    "command", [["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"]], ids=lambda c: " ".join(c)
)
def test_style_and_types(command: list[str]) -> None:
    result = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_imports_run_one_way(folder: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in (ROOT / folder).rglob("*.py")
        for name in imported(path)
        if name.startswith("trialogue.") and name.split(".")[1] not in MAY_IMPORT[folder]
    ]
    assert wrong == []


def test_naming_the_parts_imports_nothing_heavy() -> None:
    code = (
        "import sys, trialogue.envs, trialogue.agents, trialogue.exemplars, trialogue.experiments.cli\n"
        "heavy = {'textworld', 'alfworld', 'openai', 'xllamacpp', 'torch', 'scipy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def imported(path: Path) -> list[str]:
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names
