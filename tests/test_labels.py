"""Labels: stored beside a run that writes, asked of people one episode at a time, and compared."""

from __future__ import annotations

import io
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from test_cli import trialogue
from test_runner import BASE, configured, play

from trialogue.errors import UsageError
from trialogue.experiments import labels
from trialogue.experiments.labels import NOTHING, TAGS, add_label, agreements, cohens_kappa, remove_label
from trialogue.experiments.launch import open_store
from trialogue.experiments.recording import Observer
from trialogue.experiments.runner import run_experiment
from trialogue.experiments.show import print_episode
from trialogue.experiments.store import Store


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """Ten tasks of one agent, of which the five of odd length (episodes 1, 3, …, 9) are lost in circles."""
    await play(configured(agents={"react": BASE["agents"]["react"]}), tmp_path / "x.sqlite")
    return tmp_path / "x.sqlite"


def said(path: Path) -> list[tuple[int, str, str, str]]:
    with Store.read(path) as store:
        return [(row["episode"], row["label"], row["who"], row["note"]) for row in store.labels()]


def test_labels_are_added_replaced_and_taken_back(path: Path) -> None:
    add_label(path, 3, "repetition", "ann", "it looks and looks")
    add_label(path, 3, "bored", "ben")
    add_label(path, 1, " two words ", "ann")
    add_label(path, 3, "repetition", "ann", "again")
    assert said(path) == [
        (1, "two words", "ann", ""),
        (3, "repetition", "ann", "again"),
        (3, "bored", "ben", ""),
    ]
    remove_label(path, 3, "repetition", "ann")
    with pytest.raises(UsageError, match="has no label 'bored' by 'ann'"):
        remove_label(path, 3, "bored", "ann")
    assert said(path) == [(1, "two words", "ann", ""), (3, "bored", "ben", "")]
    told = io.StringIO()
    with Store.read(path) as store:
        print_episode(store, 3, Console(file=told, width=120))
    assert "label bored (ben)" in told.getvalue()


def test_that_none_fits_gives_way_to_a_label(path: Path) -> None:
    add_label(path, 3, NOTHING, "ann")
    add_label(path, 3, NOTHING, "ben")
    add_label(path, 3, "format", "ann")
    assert said(path) == [(3, "format", "ann", ""), (3, NOTHING, "ben", "")]


@pytest.mark.parametrize(
    ("episode", "label", "who", "message"),
    [
        (99, "x", "ann", "no episode 99"),
        (1, "", "ann", "expected a label"),
        (1, "x" * 81, "ann", "expected a label"),
        (1, "two\nlines", "ann", "expected a label"),
        (1, "x", " ", "who gives it"),
    ],
)
def test_what_cannot_be_a_label_is_refused(path: Path, episode: int, label: str, who: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        add_label(path, episode, label, who)
    assert said(path) == []


async def test_labels_are_given_while_a_run_writes_and_neither_minds(tmp_path: Path) -> None:
    config = configured(model="scripted:runner_models:slow_walk", agents={"react": BASE["agents"]["react"]})
    path = tmp_path / "x.sqlite"
    with open_store(config, path) as store:

        class Labelling(Observer):
            def replied(self, reply: object) -> None:
                add_label(path, 1, "seen", "ann")
                with Store.read(path) as reader:
                    assert len(reader.labels()) == 1

        await run_experiment(config, store, Labelling())
        assert {row["ending"] for row in store.episodes()} == {"solved", "stuck"}
    assert said(path) == [(1, "seen", "ann", "")]


def test_a_label_waits_for_a_writer_and_says_so_if_it_waits_in_vain(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trialogue.experiments import store_file

    connect = sqlite3.connect
    monkeypatch.setattr(store_file.sqlite3, "connect", lambda *a, **k: connect(*a, **{**k, "timeout": 0.1}))
    busy = connect(path, isolation_level=None)
    busy.execute("BEGIN IMMEDIATE")
    with pytest.raises(UsageError, match="cannot be written: database is locked"):
        add_label(path, 1, "x", "ann")
    busy.rollback()
    busy.close()
    add_label(path, 1, "x", "ann")
    assert said(path) == [(1, "x", "ann", "")]


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the person types, line by line; then the input ends."""
    lines: list[str] = []

    def line(question: str) -> str:
        if not lines:
            raise EOFError
        return lines.pop(0)

    monkeypatch.setattr("builtins.input", line)
    return lines


def ask(path: Path, who: str = "ann", run: str | None = None) -> str:
    told = io.StringIO()
    labels.ask(path, run, who, Console(file=told, width=150))
    return told.getvalue()


def test_a_person_is_asked_about_failed_episodes_one_after_the_other(path: Path, typed: list[str]) -> None:
    typed += ["1, wandering", "s", "", "q"]
    told = ask(path)
    assert said(path) == [(1, "repetition", "ann", ""), (1, "wandering", "ann", ""), (5, NOTHING, "ann", "")]
    assert [f"episode {n}  react/corridor" in told for n in (1, 2, 3, 5, 7, 9)] == [
        True,
        False,
        True,
        True,
        True,
        False,
    ]
    assert "act 1 look" in told
    assert "1 repetition:" in told
    typed += ["bad\x00label", "format", "s", "s"]
    told = ask(path)
    assert "not stored: expected a label" in told
    assert "no failed episode is left that ann has not labelled" in told
    assert said(path)[2:] == [(3, "format", "ann", ""), (5, NOTHING, "ann", "")]
    told = ask(path, "ben")
    assert ("episode 1  react" in told, "episode 3  react" in told) == (True, False)
    assert "episode 7  react" in ask(path, run="react")


def test_what_was_only_looked_at_counts_as_seen(path: Path) -> None:
    for episode in (1, 3, 5):
        add_label(path, episode, "repetition", "ann")
    add_label(path, 7, NOTHING, "ann")
    add_label(path, 2, "dull", "ann")
    for episode, label in ((1, "repetition"), (3, NOTHING), (7, "dull"), (9, "dull")):
        add_label(path, episode, label, "ben")
    with Store.read(path) as store:
        found = {(one.a, one.b, one.label): one for one in agreements(store)}
    automatic = found["ann", TAGS, "repetition"]
    # Seen by ann: 1, 3, 5 (given), 7 (not), 2 (solved, so no tag). The tags say 1, 3, 5, 7.
    assert (automatic.both, automatic.only_a, automatic.only_b, automatic.neither) == (3, 0, 1, 1)
    assert automatic.observed == pytest.approx(0.8)
    assert automatic.kappa == pytest.approx(6 / 11)
    people = found["ann", "ben", "repetition"]
    assert (people.n, people.both, people.only_a, people.only_b, people.neither) == (3, 1, 1, 0, 1)
    assert people.kappa == pytest.approx(0.4)
    assert ("ann", TAGS, "dull") not in found
    assert (found["ann", "ben", "dull"].only_b, found["ann", "ben", "dull"].kappa) == (1, pytest.approx(0.0))
    told = io.StringIO()
    labels.print_agreement(path, None, Console(file=told, width=150))
    assert "0.55" in told.getvalue()


@pytest.mark.parametrize(
    ("table", "kappa"),
    [
        ((20, 5, 10, 15), 0.4),  # observed 0.7, by chance 25/50 * 30/50 + 25/50 * 20/50 = 0.5
        ((45, 15, 25, 15), 0.1304),  # observed 0.6, by chance 0.7 * 0.6 + 0.3 * 0.4 = 0.54
        ((25, 35, 5, 35), 0.2593),  # observed 0.6, by chance 0.3 * 0.6 + 0.7 * 0.4 = 0.46
        ((0, 5, 5, 0), -1.0),
        ((5, 0, 0, 5), 1.0),
        ((0, 0, 0, 9), None),
        ((9, 0, 0, 0), None),
        ((0, 0, 0, 0), None),
    ],
)
def test_kappa_as_computed_by_hand(table: tuple[int, int, int, int], kappa: float | None) -> None:
    assert cohens_kappa(*table) == (None if kappa is None else pytest.approx(kappa, abs=5e-5))


@pytest.fixture(scope="module")
def reference() -> Any:
    return pytest.importorskip("statsmodels.stats.inter_rater").cohens_kappa


@given(table=st.tuples(*[st.integers(1, 60)] * 4))
def test_kappa_is_that_of_statsmodels(reference: Any, table: tuple[int, int, int, int]) -> None:
    both, only_a, only_b, neither = table
    expected = reference([[both, only_a], [only_b, neither]]).kappa
    assert cohens_kappa(*table) == pytest.approx(expected)


def test_the_commands(path: Path, tmp_path: Path) -> None:
    def label(*arguments: str) -> tuple[int, str]:
        result = trialogue("label", str(path), *arguments, cwd=tmp_path)
        return result.returncode, result.stderr + result.stdout

    assert label("3", "repetition", "bored", "--who", "ann", "--note", "why not") == (0, "")
    code, told = label("3", "repetion", "--who", "ben")
    assert (code, "did you mean 'repetition'?" in told) == (0, True)
    assert said(path)[0] == (3, "bored", "ann", "why not")
    assert label("3", "bored", "--who", "ann", "--remove")[0] == 0
    assert (3, "bored", "ann", "why not") not in said(path)
    assert label("3")[0] == label("--next", "--agreement")[0] == label()[0] == 2
    code, told = label("--agreement")
    assert (code, "Cohen's kappa" in told) == (0, True)
    code, told = label("--next", "--who", "ann")
    assert (code, "act 1 look" in told) == (0, True)
