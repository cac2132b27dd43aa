"""What is installed: from a wheel, from an sdist, and next to a package that owns the name ``agents``."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DATA_FILES = [
    "trialogue/experiments/schema.sql",
    "trialogue/experiments/quickstart.yaml",
    "trialogue/exemplars/household/put.yaml",
    "trialogue/py.typed",
]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was built from it."""
    out = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)], check=True)
    return out


def test_the_wheel_brings_data_and_no_top_level_package_but_its_own(built: Path) -> None:
    [wheel] = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in names if ".dist-info/" not in name} == {"trialogue"}
    assert [name for name in DATA_FILES if name not in names] == []
    # The wheel came from the sdist, and lacks nothing that the tree has.
    tree = [path for folder in ("agents", "envs", "exemplars", "experiments") for path in (ROOT / folder).rglob("*.*")]
    kinds = (".py", ".yaml", ".sql", ".html", ".css")
    sources = {f"trialogue/{path.relative_to(ROOT)}" for path in tree if path.suffix in kinds}
    assert sources <= set(names)


def test_the_sdist_brings_the_tests_and_nothing_that_was_built(built: Path) -> None:
    [sdist] = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
    assert any(name.endswith("tests/test_packaging.py") for name in names)
    assert not [name for name in names if "__pycache__" in name or name.endswith(".sqlite")]


@pytest.mark.slow
def test_the_wheel_works_next_to_openai_agents(built: Path, tmp_path: Path) -> None:
    """openai-agents installs a top-level package ``agents``; both must import, from anywhere."""
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    [wheel] = built.glob("*.whl")
    subprocess.run([python, "-m", "pip", "install", "--quiet", str(wheel), "openai-agents"], check=True)
    code = (
        "import agents, trialogue.agents, trialogue.envs, trialogue.exemplars as e, trialogue.experiments\n"
        "assert hasattr(agents, 'Runner') and agents.__name__ != trialogue.agents.__name__\n"
        "assert len(e.exemplars_for('household', 'put', 'move')) >= 3\n"
    )
    subprocess.run([python, "-c", code], check=True, cwd=tmp_path)
    listed = subprocess.run(
        [tmp_path / "venv" / "bin" / "trialogue", "envs"], check=True, cwd=tmp_path, capture_output=True, text=True
    )
    assert "household" in listed.stdout
