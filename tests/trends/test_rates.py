import numpy as np
import pyarrow as pa
import pytest
from tests.trends.shapes import SECOND

from stretto.pattern.nodes import Stream
from stretto.stats.profile import Stats
from stretto.trends.plan import GraphNode
from stretto.trends.rates import ASSUMED, ASSUMED_SINGLE, Rates

NODES = (GraphNode(Stream("A")), GraphNode(Stream("B")))
A, B = frozenset({0}), frozenset({1})


def stats_of(types: list[str], keys: list[str] | None = None) -> Stats:
    ts = pa.array(np.arange(len(types)) * SECOND, pa.timestamp("us"))
    return Stats.of(pa.table({"ts": ts, "type": types, "k": keys or ["one"] * len(types)}))


def test_events_of_a_window() -> None:
    rates = Rates(NODES, B, Stats(stats_of(["A", "B"]).schema, 100.0, {"A": 2.0, "B": 0.5}))
    assert rates.events(0, 10 * SECOND, ()) == 20.0
    assert rates.events(1, 10 * SECOND, ()) == 5.0


def test_nothing_known() -> None:
    rates = Rates(NODES, B, None)
    assert rates.events(0, 10, ()) == ASSUMED_SINGLE
    assert rates.events(1, 10, ()) == ASSUMED
    assert rates.alternations(A, B, 10, ()) == 0.0


def test_independent_events_alternate_by_their_rates() -> None:
    rates = Rates(NODES, B, Stats(stats_of(["A", "B"]).schema, 100.0, {"A": 1.0, "B": 3.0}))
    assert rates.alternations(A, B, 100 * SECOND, ()) == pytest.approx(300 * 0.25)


def test_bursts_alternate_less() -> None:
    """100 events of A, then 100 of B, and again: four in eight hundred."""
    rates = Rates(NODES, B, stats_of((["A"] * 100 + ["B"] * 100) * 4))
    assert rates.alternations(A, B, 800 * SECOND, ()) == pytest.approx(4.0, rel=0.01)
    turns = Rates(NODES, B, stats_of(["A", "B"] * 400))
    assert turns.alternations(A, B, 800 * SECOND, ()) == pytest.approx(400.0, rel=0.01)


def test_alternations_are_of_one_partition() -> None:
    """A and B alternate, but A's events have another key than B's."""
    rates = Rates(NODES, B, stats_of(["A", "B"] * 400, ["left", "right"] * 400))
    assert rates.alternations(A, B, 800 * SECOND, ("k",)) == 0.0
