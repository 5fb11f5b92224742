"""Tuples drawn from a sample: their number and their means are those of all tuples."""

from itertools import product

import numpy as np
import pytest
from tests.stats.worlds import piece_of, poisson

from stretto.pattern.nodes import Stream, Window
from stretto.pattern.order import NO_ORDER, Order
from stretto.schema import Schema
from stretto.stats.drawn_tuples import Link, TupleFrame, draw
from stretto.stats.sampling import Stretches

TABLE = poisson(220, seed=4, types="ABC", keys=3)
ROWS = TABLE.to_pylist()
COUNT = 20_000


def sample():
    stretches = Stretches(Schema.of(TABLE.schema), TABLE.num_rows, 10_000, 0)
    for batch in TABLE.to_batches():
        stretches.add(batch)
    return stretches.sample()


def all_tuples(types: str, order, window: int, *, same: bool = False):
    """Every tuple by definition."""
    for rows in product(*([row for row in ROWS if row["type"] == kind] for kind in types)):
        times = [row["ts"] for row in rows]
        if max(times) - min(times) > window or len({id(row) for row in rows}) < len(rows):
            continue
        if any(times[i] >= times[j] for i, j in order) or (same and len({row["k"] for row in rows}) > 1):
            continue
        yield rows


CASES = [
    ("AB", ((0, 1),), 200_000),
    ("AB", (), 200_000),
    ("BA", ((1, 0),), 100_000),
    ("AAB", (), 60_000),
    ("ABC", ((0, 1), (0, 2), (1, 2)), 150_000),
    ("ABC", ((1, 2),), 100_000),
]


@pytest.mark.parametrize(("types", "order", "window"), CASES)
@pytest.mark.parametrize("same", [False, True])
def test_the_number_of_tuples(types, order, window, same) -> None:
    given = tuple(Link(i, "k", i + 1, "k") for i in range(len(types) - 1)) if same else ()
    frame = TupleFrame(tuple(Stream(kind) for kind in types), Order.of(order), given, Window(window))
    found = draw(sample(), frame, COUNT, seed=1)
    per_first = sum(1 for _ in all_tuples(types, order, window, same=same)) / sum(
        row["type"] == types[0] for row in ROWS
    )
    slot = 0 if (1, 0) not in order else 1
    if slot:  # the walk starts with the earliest slot
        per_first *= sum(row["type"] == types[0] for row in ROWS) / sum(
            row["type"] == types[1] for row in ROWS
        )
    assert found.size == pytest.approx(per_first, rel=max(0.05, 4 * found.error))


def test_means_are_those_of_all_tuples() -> None:
    order = ((0, 1), (0, 2), (1, 2))
    frame = TupleFrame((Stream("A"), Stream("B"), Stream("C")), Order.of(order), (), Window(150_000))
    found = draw(sample(), frame, COUNT, seed=2)
    gaps = sample().ts[found.columns[2]] - sample().ts[found.columns[0]]
    mean = float((gaps * found.weights).sum() / found.weights.sum())
    truth = np.mean([c["ts"] - a["ts"] for a, _, c in all_tuples("ABC", order, 150_000)])
    assert mean == pytest.approx(truth, rel=0.05)


def test_rare_conjunctions_are_followed() -> None:
    order = ((0, 1), (0, 2), (1, 2))
    terms = piece_of("SEQ(A a, B b, C c) WHERE a.x + b.x < 0.3 AND b.x + c.x < 0.3 WITHIN 1s").terms
    frame = TupleFrame((Stream("A"), Stream("B"), Stream("C")), Order.of(order), (), Window(500_000))
    found = draw(sample(), frame, COUNT, 3, terms)
    truth = sum(
        a["x"] + b["x"] < 0.3 and b["x"] + c["x"] < 0.3 for a, b, c in all_tuples("ABC", order, 500_000)
    )
    assert found.size == pytest.approx(truth / sum(row["type"] == "A" for row in ROWS), rel=0.15)


def test_nothing_to_draw() -> None:
    for streams in ((Stream("Z"), Stream("A")), (Stream("A"), Stream("Z"))):
        found = draw(sample(), TupleFrame(streams, NO_ORDER, (), Window(10)), 100, 0)
        assert (found.size, found.worth) == (0.0, 0.0)
    nowhere = TupleFrame((Stream("A"), Stream("A")), Order.total(2), (), Window(0))
    assert draw(sample(), nowhere, 100, 0).size == 0.0


def test_the_same_seed_draws_the_same_tuples() -> None:
    frame = TupleFrame((Stream("A"), Stream("B")), NO_ORDER, (), Window(100_000))
    one, other = (draw(sample(), frame, 500, 9) for _ in range(2))
    np.testing.assert_array_equal(one.columns[1], other.columns[1])
