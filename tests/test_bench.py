"""The bench measures what it says, at small sizes; how fast it is here is not tested."""

from __future__ import annotations

import json

import pytest

from trialogue.errors import UnknownName
from trialogue.experiments.bench import bench, busy, loop
from trialogue.experiments.bench.figure import Figure


def test_the_loop_is_measured_at_three_numbers_of_episodes_at_once_and_in_chat() -> None:
    figures = list(loop.measure(turns=60))
    assert [figure.name for figure in figures] == [
        "loop, 1 at once",
        "loop, 16 at once",
        "loop, 128 at once",
        "loop, 16 at once, chat",
    ]
    assert [figure.note.partition(" ")[0] for figure in figures] == ["60", "480", "3840", "480"]
    assert all(0 < figure.value < 1000 for figure in figures)


def test_a_busy_server_is_used_by_several_episodes_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(busy, "LATENCY_S", 0.01)
    share, rate = list(busy.measure(episodes=12, local=0))
    assert 0 < share.value <= 1.05
    assert rate.ratio is not None
    assert rate.ratio > 1.5


def test_figures_are_told_as_a_table_and_as_json() -> None:
    figures = [("loop", Figure("loop, 1 at once", 0.5, "ms", reference=1.0, ratio=2.0))]
    told = json.loads(bench.as_json(bench.machine(), figures))
    assert told["figures"][0]["ratio"] == 2.0
    assert {"processor", "cores", "python", "trialogue"} <= told["machine"].keys()
    assert bench.table(figures).row_count == 1


def test_an_unknown_part_is_refused_before_anything_is_measured() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'loop'"):
        next(bench.measured(["lop"]))
