"""Comparisons that join slots as a tree: the share of all tuples, none of them listed."""

from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from tests.stats.worlds import SCHEMA, piece_of, poisson

from stretto.stats.comparison_trees import share_in_tree
from stretto.stats.sample import Sample
from stretto.stats.term_clusters import relate, standard
from stretto.values.evaluate import holds

TREES = (
    "AND(A a, B b) WHERE a.x < b.x WITHIN 1s",
    "AND(A a, B b, C c) WHERE a.x < c.x AND b.x <= c.x WITHIN 1s",
    "AND(A a, B b, C c) WHERE a.x >= b.x AND b.k > c.k WITHIN 1s",
    "AND(A a, B b, C c, D d) WHERE a.x + 1 > b.x AND b.x > c.x AND b.k <= d.k WITHIN 1s",
)


def small_sample() -> Sample:
    """Few events, with values that are equal, null or no number."""
    events = poisson(80, keys=5)
    x = [None if n % 11 == 0 else float("nan") if n % 13 == 0 else n % 7 / 2 for n in range(80)]
    events = events.set_column(events.schema.get_field_index("x"), "x", pa.array(x, pa.float64()))
    return Sample([events], None, SCHEMA)


def test_terms_that_share_an_event_do_not_multiply() -> None:
    """b is great in one of twenty events, and then it is greater than all others."""
    count = 2_000
    events = pa.table(
        {
            "ts": np.arange(count),
            "type": np.array(["A", "B", "C", "D"])[np.arange(count) % 4],
            "x": np.where(np.arange(count) % 80 == 1, 9.0, 1.0),
            "k": np.zeros(count, np.int64),
            "w": ["red"] * count,
        }
    )
    (cluster,) = relate(piece_of("AND(A a, B b, C c) WHERE a.x < b.x AND c.x < b.x WITHIN 1s")).clusters
    assert share_in_tree(standard(cluster), Sample([events], None, SCHEMA)) == pytest.approx(0.05)


@pytest.mark.parametrize("pattern", TREES)
def test_all_tuples_are_counted(pattern: str) -> None:
    sample = small_sample()
    (cluster,) = (standard(one) for one in relate(piece_of(pattern)).clusters)
    found = share_in_tree(cluster, sample)
    positions = [sample.members(stream).positions for stream in cluster.frame.streams]
    tuples = np.array(list(product(*positions)))
    passed = holds(cluster.terms, list(tuples.T.copy()), len(tuples), sample)
    assert 0 < np.count_nonzero(passed) < len(passed)
    assert found == pytest.approx(np.count_nonzero(passed) / len(passed))


@pytest.mark.parametrize(
    "pattern",
    [
        "AND(A a, B b) WHERE a.x < b.x AND b.k < a.k WITHIN 1s",  # two terms between the same slots
        "AND(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x AND c.k < a.k WITHIN 1s",
        "AND(A a, B b, C c) WHERE a.x + b.x < c.x WITHIN 1s",
        "AND(A a, B b) WHERE a.x != b.x WITHIN 1s",
        "AND(A a, B b) WHERE a.w < b.w WITHIN 1s",
        "AND(A a, B b) WHERE [w] AND a.x < b.x WITHIN 1s",  # what agrees on w may differ in x otherwise
    ],
)
def test_what_is_no_tree(pattern: str) -> None:
    clusters = [standard(one) for one in relate(piece_of(pattern)).clusters]
    assert [share_in_tree(cluster, small_sample()) for cluster in clusters] == [None] * len(clusters)
