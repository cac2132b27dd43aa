"""The report: one file, the numbers of `trialogue compare`, figures that are equal when their runs are."""

from __future__ import annotations

import re
import sqlite3
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner
from web_samples import LONG, SCRIPT, Parsed, assert_harmless, play

from trialogue.errors import MissingExtra, UsageError
from trialogue.experiments.cli import app
from trialogue.experiments.compare import compare, format_p, verdict
from trialogue.experiments.endings import Ending
from trialogue.experiments.rates import by_trial, success
from trialogue.experiments.records import EndRecord, EpisodePlan, RunPlan
from trialogue.experiments.report import percent
from trialogue.experiments.results import load_runs, load_several
from trialogue.experiments.store import Store
from trialogue.experiments.tagging import tagged
from trialogue.experiments.web import figures, render
from trialogue.experiments.web.charts import Bars, Dot, Dots, Stacks, draw, nice_ticks, short
from trialogue.experiments.web.document import CUT, write_report
from trialogue.experiments.web.summary import letter, summarise


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return play(tmp_path_factory.mktemp("web") / "hostile.sqlite")


@pytest.fixture(scope="module")
def report(store: Path) -> str:
    [written] = write_report([str(store)], store.with_name("report.html"))
    return written.read_text("utf-8")


def cells(report: str) -> list[str]:
    """What stands in the cells of its tables and in the values of its bars."""
    found = re.findall(r'<(?:td|span)[^>]*class="[^"]*(?:number|value)[^"]*"[^>]*>(.*?)</(?:td|span)>', report)
    return [Parsed(cell).text for cell in found]


def test_it_is_one_file_that_asks_for_nothing(report: str) -> None:
    parsed = assert_harmless(report)
    assert not parsed.names() & {"form", "frame"}
    assert all(target.startswith("#") for target in parsed.values("href") if target != "data:,")
    assert parsed.values("src") == []
    assert "url(" not in report
    assert "@import" not in report
    assert re.search(r"default-src 'none'; style-src (&#39;|')sha256-", report)
    numbered = parsed.values("id")
    assert len(numbered) == len(set(numbered))
    assert {target[1:] for target in parsed.values("href") if target.startswith("#")} <= set(numbered)


def test_its_numbers_are_those_of_compare(store: Path, report: str) -> None:
    runs = load_runs(str(store))
    told, shown = Parsed(report).text, cells(report)
    for run in runs:
        rate = success(run.outcomes, errors_as_failures=False)
        strict = success(run.outcomes, errors_as_failures=True)
        assert rate.n == strict.n - 1, "the samples have one task that ends in an error"
        assert run.name in told
        assert any(cell.startswith(f"{percent(rate)} ") and f"{rate.solved}/{rate.n}" in cell for cell in shown)
        assert percent(rate) in shown
        assert percent(strict) in shown
        for count in by_trial(run.outcomes):
            assert percent(count.success) in shown
    for comparison in compare(runs):
        assert verdict(comparison) in told
        assert format_p(comparison.p_holm) in shown


def test_errors_stand_beside_success_as_failures(store: Path) -> None:
    summaries, _, _ = summarise(load_runs(str(store)))
    [bars] = [chart for chart in draw(summaries, [], priced=False) if chart.name == "success"]
    assert isinstance(bars, Bars)
    for bar, summary in zip(bars.groups[0][1], summaries, strict=True):
        assert bar.value == summary.rate.value
        assert bar.other == summary.strict.value < max(bar.value, 1e-9) or bar.value == bar.other == 0
        assert bar.low <= bar.value <= bar.high


def test_every_figure_adds_up(store: Path) -> None:
    runs = load_runs(str(store))
    summaries, _, priced = summarise(runs)
    charts = {chart.name: chart for chart in draw(summaries, compare(runs), priced=priced)}
    assert list(charts) == ["success", "trials", "types", "cost", "endings", "tags", "pairs"]
    endings, trials, cost = charts["endings"], charts["trials"], charts["cost"]
    assert isinstance(endings, Stacks)
    for (_, _, parts), run in zip(endings.rows, runs, strict=True):
        assert sum(part.count for part in parts) == len(run.outcomes)
        assert sum(part.width for part in parts) == pytest.approx(100, abs=0.01)
        assert all(b.start == pytest.approx(a.start + a.width, abs=0.01) for a, b in pairwise(parts))
    assert isinstance(trials, Dots)
    assert [[dot.x for dot in dots] for *_, dots in trials.runs] == [[0, 1]] * 4
    assert all(a.y <= b.y for *_, dots in trials.runs for a, b in pairwise(dots))
    assert isinstance(cost, Dots)
    assert cost.title == "Tokens against success"
    assert [dots[0].x for *_, dots in cost.runs][3] == 0, "the expert asks no model"


def test_failure_tags_are_counted_and_linked_to_episodes_that_show_them(store: Path, report: str) -> None:
    with Store.read(store) as read:
        found = [(one.run, tag.kind, one.episode) for one in tagged(read) for tag in one.tags]
    summaries, samples, _ = summarise(load_runs(str(store)))
    for summary in summaries:
        assert dict(summary.tags) == Counter(kind for run, kind, _ in found if run == summary.run.name)
    assert set(samples) == {kind for _, kind, _ in found}
    for kind, some in samples.items():
        for one in some:
            assert (summaries[one.run].run.name, kind, one.episode) in found
            assert f'href="#episode-{one.run}-{one.episode}"' in report
            assert f"trialogue show {store} {one.episode}" in Parsed(report).text
        runs_with_it = {run for run, of, _ in found if of == kind}
        assert len({one.run for one in some}) == min(2, len(runs_with_it)), "one of each of two runs, where two have it"


def test_texts_of_models_and_environments_stay_texts_and_short(report: str) -> None:
    told = Parsed(report).text
    assert SCRIPT in told
    assert LONG[: CUT // 2] not in told or LONG not in told
    assert len(report) < 400_000


def test_a_long_text_is_cut_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "long.sqlite"
    play(path, agents={"expert": {"agent": "expert"}}, limits={"steps": 5}, stuck=None)
    with sqlite3.connect(path) as db:
        [(long,)] = db.execute("SELECT id FROM episode WHERE task = 'test/5' AND trial = 0")
        db.execute("UPDATE episode SET ending = 'step_limit', won = 0 WHERE id = ?", (long,))
        db.execute("UPDATE step SET valid = 0 WHERE episode = ?", (long,))
    write_report([str(path)], tmp_path / "x.html")
    told = Parsed((tmp_path / "x.html").read_text("utf-8")).text
    assert LONG not in told
    assert f"{len(LONG) + len('You are in room 4. ') - CUT:,} more characters are left out here" in told


def test_the_same_runs_give_the_same_bytes(store: Path, report: str, tmp_path: Path) -> None:
    [again] = write_report([str(store)], tmp_path / "x.html")
    assert again.read_text("utf-8") == report
    summaries, _, _ = summarise(load_runs(str(store)))
    charts = [chart for chart in draw(summaries, [], priced=False) if chart.name in ("trials", "endings")]
    both = [figures.write(charts, tmp_path / name) for name in ("a", "b")]
    assert [path.name for path in both[0]] == [f"{c.name}.{kind}" for c in charts for kind in ("svg", "pdf")]
    for a, b in zip(*both, strict=True):
        assert a.read_bytes() == b.read_bytes()
        if a.suffix == ".svg":
            assert ElementTree.parse(a).getroot().tag.endswith("svg")
        else:
            assert a.read_bytes().startswith(b"%PDF")


def test_figures_draw_texts_that_mean_something_to_matplotlib(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    plans = [EpisodePlan(n + 1, 1, f"t/{n}", n, ("$x_1", "_y%")[n % 2], "t", 0, 0) for n in range(4)]
    runs = [RunPlan(1, "a_$1$_{/t", "a", "t")]
    with Store.create(path, name="x", config={}, runs=runs, episodes=plans) as made:
        for plan in plans:
            made.end_episode(plan.id, EndRecord("failed", False, 0.25, 3, 3, 1.0))
    written = write_report([str(path)], tmp_path / "x.html", tmp_path / "figures")
    names = {one.name for one in written}
    assert {"score.svg", "types.svg"} <= names
    texts = "".join(ElementTree.parse(tmp_path / "figures" / "types.svg").getroot().itertext())
    assert "$x_1" in texts
    assert "a_$1$_{/t" in texts


def test_what_has_not_finished_is_said_and_an_empty_run_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    plans = [EpisodePlan(n + 1, n % 2 + 1, f"t/{n // 2}", n // 2, "walk", "t", 0, 0) for n in range(6)]
    runs = [RunPlan(1, "a/t", "a", "t"), RunPlan(2, "b/t", "b", "t")]
    with Store.create(path, name="x", config={}, runs=runs, episodes=plans) as made:
        made.end_episode(1, EndRecord("solved", True, 1.0, 3, 3, 1.0))
    write_report([str(path)], tmp_path / "x.html", tmp_path / "figures")
    told = Parsed((tmp_path / "x.html").read_text("utf-8")).text
    assert "Not finished: a/t 2 of 3, b/t 3 of 3." in told
    assert "none finished" in told


def test_imported_results_have_success_but_no_behaviour(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    plans = [EpisodePlan(n + 1, 1, f"t/{n}", n, "walk", "t", 0, 0) for n in range(3)]
    with Store.create(path, name="x", config={}, runs=[RunPlan(1, "paper/t", "paper", "t")], episodes=plans) as made:
        made.set_conditions(1, {"imported": "table 2"})
        for plan in plans:
            made.end_episode(plan.id, EndRecord("failed", False, 0.0, 0, 0, 0.0))
    write_report([str(path)], tmp_path / "x.html")
    told = Parsed((tmp_path / "x.html").read_text("utf-8")).text
    assert "0/3" in told
    assert "Behaviour per episode" not in told
    assert "Failure tags" not in told


def test_runs_of_several_stores_are_named_after_them(store: Path, tmp_path: Path) -> None:
    other = play(
        tmp_path / "priced.sqlite", model="scripted:web_samples:priced", agents={"react": {"agent": "react"}}, trials=1
    )
    specs = [f"{store}:react", str(other)]
    write_report(specs, tmp_path / "x.html")
    told = Parsed((tmp_path / "x.html").read_text("utf-8")).text
    assert "hostile:react/corridor" in told
    assert "priced:react/corridor" in told
    assert "Cost against success" in told
    _, _, priced = summarise(load_several(specs))
    assert priced


def test_the_command_writes_and_says_what(store: Path, tmp_path: Path) -> None:
    to = tmp_path / "out" / "x.html"
    done = CliRunner().invoke(app, ["report", str(store), "--to", str(to)])
    assert (done.exit_code, done.stdout.strip()) == (0, str(to))
    assert (tmp_path / "out" / "x.html").read_text("utf-8").startswith("<!doctype html>")
    before = store.read_bytes()
    with pytest.raises(UsageError, match=r"NAME\.html"):
        write_report([str(store)], store)
    assert store.read_bytes() == before


def test_a_missing_extra_says_how_to_get_it(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"trialogue\[report\]"):
        write_report([str(store)], tmp_path / "x.html", tmp_path / "figures")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    render._environment.cache_clear()
    with pytest.raises(MissingExtra, match="jinja2"):
        write_report([str(store)], tmp_path / "x.html")
    assert not (tmp_path / "x.html").exists()
    monkeypatch.undo()
    with pytest.raises(UsageError, match="there is no store"):
        write_report([str(tmp_path / "none.sqlite")], tmp_path / "x.html")


@given(st.floats(1e-6, 1e9))
def test_ticks_are_round_and_reach_the_largest_value(top: float) -> None:
    ticks = nice_ticks(top)
    assert ticks[0] == 0
    assert ticks[-1] >= top * (1 - 1e-6)
    assert ticks[-1] <= top * 2
    assert 2 <= len(ticks) <= 7
    assert all(a < b for a, b in pairwise(ticks))


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0, 1)), min_size=1, max_size=10))
def test_no_two_letters_in_a_figure_overlap(places: list[tuple[float, float]]) -> None:
    runs = tuple((n, "", (Dot(x, y, y, y),)) for n, (x, y) in enumerate(places))
    chart = Dots("x", "", "", runs, "x", ((0.0, "0"),), high=10.0)
    labels = chart.labels(190)
    assert set(labels) == set(range(len(places)))
    for a, (x, _) in enumerate(places):
        for b, (other, _) in enumerate(places[:a]):
            assert abs(chart.at(x) - chart.at(other)) >= 6 or abs(labels[a] - labels[b]) >= 16.9


def test_figures_in_files_have_the_colours_of_those_in_the_page() -> None:
    for number, colour in enumerate(figures.COLOURS):
        assert f"--r{number}: {colour};" in render.style()
    for ending in (*Ending, "unfinished"):
        if ending != Ending.SOLVED_EARLIER:
            assert f".e-{ending} {{ --e: {figures.ENDINGS[ending]}; }}" in render.style()


def test_letters_and_short_numbers() -> None:
    assert [letter(n) for n in (0, 25, 26, 52)] == ["A", "Z", "A2", "A3"]
    assert [short(n) for n in (0, 950, 1200, 3_400_000, 2e9)] == ["0", "950", "1.2k", "3.4M", "2G"]
