"""Environments of other packages: found by entry point, and harmless when they are broken."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import gymnasium
import pytest
from test_cli import HERE, trialogue

import trialogue.envs as envs
from trialogue.errors import UnknownName, UsageError

MODULE = '''
from broken_envs import Stairs


class {cls}(Stairs):
    """Steps of another package.

    More about them.
    """

    name = "{name}"
'''

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Puts a package (its metadata and modules) where Python finds it; everything is as before afterwards."""
    monkeypatch.syspath_prepend(tmp_path)

    def install(package: str, points: dict[str, str], **modules: str) -> None:
        info = tmp_path / f"{package}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n", encoding="utf-8")
        lines = "\n".join(f"{name} = {value}" for name, value in points.items())
        (info / "entry_points.txt").write_text(f"[trialogue.envs]\n{lines}\n", encoding="utf-8")
        for name, text in modules.items():
            (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        envs.register_installed()

    yield install
    for name in ("other_steps", "other_broken"):
        sys.modules.pop(name, None)
    monkeypatch.undo()
    envs.register_installed()


def steps(name: str) -> str:
    return MODULE.format(cls="Steps", name=name)


def test_a_package_is_found_and_described_without_naming_importing_it(install: Install) -> None:
    install("other-steps", {"steps": "other_steps:Steps"}, other_steps=steps("steps"))
    assert "steps" in envs.names()
    assert "other_steps" not in sys.modules
    [entry] = envs.describe("steps")
    assert (entry.summary, entry.package, entry.error) == ("Steps of another package.", "other-steps 1.2", "")
    assert envs.make("steps", split="eval").name == "steps"
    assert gymnasium.make("trialogue/Steps-v0").unwrapped.reset(seed=1)[1]["valid"] is True
    with pytest.raises(UnknownName, match="Did you mean 'steps'"):
        envs.make("stepss")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("import a_module_that_is_missing", "No module named 'a_module_that_is_missing'"),
        ("def (", "SyntaxError"),
        ("raise SystemExit('no')", "SystemExit: no"),
        ("Other = 1", "has no attribute 'Steps'"),
        ("Steps = dict", "expected a subclass of TextEnv"),
        (steps("stairs"), "whose own name is 'stairs'"),
    ],
)
def test_a_broken_package_is_listed_with_its_error_and_breaks_nobody(install: Install, text: str, message: str) -> None:
    install("broken", {"steps": "other_broken:Steps"}, other_broken=text)
    assert {"household", "webshop"} <= set(envs.names())
    told = {entry.name: entry for entry in envs.describe()}
    assert told["household"].error == ""
    assert "broken 1.2" in told["steps"].error
    assert message in told["steps"].error
    with pytest.raises(UsageError, match=r"broken 1\.2 offers 'steps' as other_broken:Steps"):
        envs.make("steps")


def test_two_packages_with_one_name_are_both_named_and_neither_is_taken(install: Install) -> None:
    install("first", {"steps": "other_steps:Steps"}, other_steps=steps("steps"))
    install("second", {"steps": "other_broken:Steps"}, other_broken=steps("steps"))
    assert "steps" not in envs.names()
    with pytest.raises(UsageError, match=r"claimed by first 1\.2 .* and second 1\.2"):
        envs.make("steps")
    errors = [entry.error for entry in envs.describe() if entry.name == "steps"]
    assert len(errors) == 2
    assert all("first 1.2" in error and "second 1.2" in error for error in errors)


def test_a_name_of_our_own_cannot_be_taken(install: Install) -> None:
    install("greedy", {"household": "other_steps:Steps"}, other_steps=steps("household"))
    assert envs.describe("household")[0].package == ""
    [refused] = [entry for entry in envs.describe() if entry.package == "greedy 1.2"]
    assert "claimed by trialogue (trialogue.envs.household:HouseholdEnv) and greedy 1.2" in refused.error


def test_a_name_that_is_registered_later_is_taken_from_a_package(install: Install) -> None:
    install("other-steps", {"steps": "other_steps:Steps"}, other_steps=steps("steps"))
    try:
        envs.register("steps", "broken_envs:Stairs", "trialogue/Steps-v0", "Our own.")
        assert envs.describe("steps")[0].summary == "Our own."
        assert [entry.package for entry in envs.describe() if entry.error] == ["other-steps 1.2"]
    finally:
        envs.registry._ENTRIES.pop("steps")


def test_the_command_lists_packages_and_their_errors(install: Install, tmp_path: Path) -> None:
    install("other-steps", {"steps": "other_steps:Steps"}, other_steps=steps("steps"))
    install("broken", {"worse": "other_broken:Env"}, other_broken="raise ValueError('[red] herring')")
    listed = trialogue("envs", cwd=tmp_path, PYTHONPATH=f"{HERE}:{tmp_path}")
    assert listed.returncode == 0, listed.stderr
    assert "other-steps 1.2" in listed.stdout
    assert "[red] herring" in listed.stdout
    assert "household" in listed.stdout
