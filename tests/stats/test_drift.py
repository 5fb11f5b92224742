"""Statistics of a running stream, and when they have drifted."""

import pytest
from worlds import stats_with

from stretto.stats.drift import Drift, Running, drifted


def test_rates_follow_the_recent_past() -> None:
    running = Running(half_life=10.0)
    for _ in range(50):
        running.push({"A": 20, "B": 4}, 2.0)
    assert running.rates == pytest.approx({"A": 10.0, "B": 2.0})
    for _ in range(50):
        running.push({"B": 40}, 2.0)
    assert running.rates["A"] == pytest.approx(0.0, abs=0.02)
    assert running.rates["B"] == pytest.approx(20.0, rel=0.01)


def test_one_long_batch_counts_as_many_short_ones() -> None:
    short, long = Running(10.0), Running(10.0)
    for _ in range(100):
        short.push({"A": 3}, 1.0)
    long.push({"A": 300}, 100.0)
    assert long.rates == pytest.approx(short.rates)
    assert long.seconds == pytest.approx(short.seconds, rel=1e-6)


def test_a_drastic_change_is_noticed_and_a_small_one_is_not() -> None:
    known = stats_with({"A": 10.0, "B": 10.0})
    running = Running()
    running.push({"A": 1000, "B": 1100}, 100.0)
    assert running.drifts(known) == []
    for _ in range(10):
        running.push({"A": 1000, "B": 4000}, 100.0)
    (drift,) = running.drifts(known)
    assert (drift.what, drift.before) == ("B", 10.0)
    assert drift.factor > 2
    assert running.drifts(known, threshold=10.0) == []
    assert running.stats(known).rates["B"] == pytest.approx(40.0, rel=0.1)
    assert running.drifts(running.stats(known)) == []


def test_chance_is_no_drift() -> None:
    known = stats_with({"A": 1.0, "B": 1.0})
    running = Running()
    running.push({"A": 3, "B": 1}, 1.0)
    assert running.drifts(known) == []


def test_types_that_come_and_go() -> None:
    assert drifted({"A": 5.0}, {"B": 5.0}) == [Drift("A", 5.0, 0.0), Drift("B", 0.0, 5.0)]
    assert drifted({"A": 5.0}, {"A": 5.0}) == []
    assert drifted({}, {}) == []
    assert drifted({"A": 1000.0, "B": 0.1}, {"A": 1000.0, "B": 0.5}) == []  # too rare to matter
    assert Running().stats(stats_with({"A": 1.0})).rates == {"A": 1.0}
    running = Running()
    running.push({"B": 10}, 1.0)
    assert running.stats(stats_with({"A": 1.0})).rates == {"A": 0.0, "B": pytest.approx(10.0)}


def test_selectivities_of_operators() -> None:
    running = Running(10.0)
    running.observe("join", 50, 1000)
    running.observe("join", 50, 1000)
    running.observe("idle", 0, 0)
    assert running.selectivities == {"join": 0.05}
    assert running.selectivity_drifts({"join": 0.06, "idle": 0.5, "gone": 0.1}) == []
    (drift,) = running.selectivity_drifts({"join": 0.5})
    assert drift.factor == pytest.approx(10.0)
    running.push({}, 1000.0)
    running.observe("join", 500, 1000)
    assert running.selectivities["join"] == pytest.approx(0.5)
