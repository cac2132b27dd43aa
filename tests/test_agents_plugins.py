"""Agents of other packages: found by entry point, and harmless when they are broken; and how entries are made."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from test_cli import HERE, trialogue

from trialogue import agents
from trialogue.agents import AgentEntry, Parts, make_agent
from trialogue.agents.models import ScriptedModel
from trialogue.agents.random_agent import RandomAgent
from trialogue.agents.registry import NoSettings, find
from trialogue.errors import UnknownName, UsageError
from trialogue.experiments.config import parse_config
from trialogue.experiments.workshop import make_models, model_of

GOOD = """
from learners import Plain, Settings
from trialogue.agents import AgentEntry

ENTRY = AgentEntry("an agent of another package", Settings, Plain, needs_model=True, source="nobody 2020")
"""

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
        (info / "entry_points.txt").write_text(f"[trialogue.agents]\n{lines}\n", encoding="utf-8")
        for name, text in modules.items():
            (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")

    yield install
    for name in ("other_agent", "broken_agent"):
        sys.modules.pop(name, None)


def test_a_package_is_found_by_name_and_imported_only_when_it_is_asked_for(install: Install) -> None:
    install("other", {"other": "other_agent:ENTRY"}, other_agent=GOOD)
    with pytest.raises(UnknownName, match="Did you mean 'other'"):
        make_agent("otter")
    make_agent("random")
    assert "other_agent" not in sys.modules
    assert agents.needs_model("other")
    assert [agents.package_of(name) for name in ("other", "react", "other_agent:ENTRY")] == ["other 1.2", "", ""]
    [info] = [info for info in agents.describe() if info.name == "other"]
    assert (info.summary, info.source) == ("an agent of another package", "nobody 2020")
    assert (info.package, info.settings, info.error) == ("other 1.2", {"review": "never"}, "")
    made = make_agent("other", model=ScriptedModel([]), settings={"review": "always"})
    assert type(made).__name__ == "Plain"
    with pytest.raises(UnknownName, match="Did you mean 'review'"):
        make_agent("other", model=ScriptedModel([]), settings={"reviews": "always"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("import a_module_that_is_missing", "No module named 'a_module_that_is_missing'"),
        ("raise SystemExit('no')", "SystemExit: no"),
        ("Other = 1", "has no attribute 'ENTRY'"),
        ("ENTRY = dict", "expected an AgentEntry, got <class 'dict'>"),
    ],
)
def test_a_broken_package_is_listed_with_its_error_and_breaks_nobody(install: Install, text: str, message: str) -> None:
    install("broken", {"other": "broken_agent:ENTRY"}, broken_agent=text)
    told = {info.name: info for info in agents.describe()}
    assert told["react"].error == ""
    assert message in told["other"].error
    with pytest.raises(UsageError, match=r"broken 1\.2 offers 'other' as broken_agent:ENTRY"):
        make_agent("other")
    with pytest.raises(UsageError, match="no agent at 'broken_agent:ENTRY'"):
        make_agent("broken_agent:ENTRY")


def test_a_name_that_two_claim_is_refused_to_both(install: Install) -> None:
    install("first", {"other": "other_agent:ENTRY"}, other_agent=GOOD)
    install("second", {"other": "other_agent:ENTRY"})
    with pytest.raises(UsageError, match=r"claimed by first 1\.2 \(other_agent:ENTRY\) and second 1\.2"):
        make_agent("other")
    errors = [info.error for info in agents.describe() if info.name == "other"]
    assert len(errors) == 2
    assert all("name it module:ENTRY" in error for error in errors)
    assert find("other_agent:ENTRY").source == "nobody 2020"


def test_a_name_of_our_own_cannot_be_taken(install: Install) -> None:
    install("greedy", {"random": "other_agent:ENTRY"}, other_agent=GOOD)
    assert isinstance(make_agent("random"), RandomAgent)
    [refused] = [info for info in agents.describe() if info.package == "greedy 1.2"]
    assert "claimed by trialogue and greedy 1.2" in refused.error


def test_the_command_lists_packages_and_their_errors(install: Install, tmp_path: Path) -> None:
    install("other", {"other": "other_agent:ENTRY"}, other_agent=GOOD)
    install("broken", {"worse": "broken_agent:ENTRY"}, broken_agent="raise ValueError('[red]herring')")
    listed = trialogue("agents", cwd=tmp_path, PYTHONPATH=f"{HERE}:{tmp_path}")
    assert listed.returncode == 0, listed.stderr
    for word in ("other 1.2", "[red]herring", "react"):
        assert word in listed.stdout


def asking(parts: Parts, settings: NoSettings) -> RandomAgent:
    parts.required_model()
    return RandomAgent()


KEYBOARD = AgentEntry("asks somebody", NoSettings, asking, needs_model=True, default_model="scripted:toy:walk")


def test_an_agents_default_model_stands_before_the_experiments_and_behind_its_own() -> None:
    def names(**changes: object) -> list[str]:
        data = {"name": "x", "tasks": {"t": {"env": "e", "split": "s"}}, **changes}
        data.setdefault("agents", {"a": {"agent": "test_agents_plugins:KEYBOARD"}})
        config = parse_config(data)
        assert [model.name for model in make_models(config).values()] == [
            model.name for agent in config.agents.values() if (model := model_of(config, agent))
        ]
        return [model.name for model in make_models(config).values()]

    assert names() == ["scripted:toy:walk"]
    assert names(model="scripted:learners:wiser") == ["scripted:toy:walk"]
    own = {"agent": "test_agents_plugins:KEYBOARD", "model": "scripted:learners:person"}
    assert names(agents={"a": own}, model="scripted:learners:wiser") == ["scripted:learners:person"]
    with pytest.raises(UsageError, match="agent 'react' needs a model"):
        names(agents={"a": {"agent": "react"}})


def test_parts_without_a_model_say_what_to_do() -> None:
    with pytest.raises(UsageError, match="name one, such as"):
        Parts().required_model()
