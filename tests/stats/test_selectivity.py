"""Selectivities: measured, assumed, kept, and put into a file."""

import json
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from tests.stats.worlds import SCHEMA, piece_of, poisson

from stretto.stats import selectivity
from stretto.stats.estimate import Estimator
from stretto.stats.profile import Stats
from stretto.stats.selectivity import Selectivities

TABLE = poisson(20_000, seed=7)


def measured(pattern: str, table: pa.Table = TABLE, **options: int) -> float:
    """The selectivity of all terms of a pattern."""
    stats = Stats.of(table, **options)
    return Estimator(stats).selectivity(piece_of(pattern, stats.schema))


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ("a.x < b.x", 1 / 2),
        ("a.x + b.x < 0.2", 0.02),
        ("a.x < b.x AND a.x + 0.5 > b.x", 3 / 8),
        ("a.k = b.k", 1 / 20),
        ("a.k = b.k AND a.x < b.x", 1 / 40),
        ("a.w = b.w", 0.5**2 + 0.25**2 + 0.125**2),
        ("a.w < b.w", 0.125 * 0.75 + 0.25 * 0.5),  # blue < green < red
        ("a.ts + 500ms < b.ts", 1 / 2),
        ("ABS(a.x - b.x) > 0.9", 0.01),
    ],
)
def test_terms_between_two_events(terms, expected) -> None:
    assert measured(f"SEQ(A a, B b) WHERE {terms} WITHIN 1s") == pytest.approx(expected, rel=0.2)


def test_terms_over_three_events_are_measured_together() -> None:
    chain = "a.x < b.x AND b.x < c.x AND a.x < c.x"
    assert measured(f"SEQ(A a, B b, C c) WHERE {chain} WITHIN 1s") == pytest.approx(1 / 6, rel=0.15)
    three = measured("AND(A a, B b, C c) WHERE a.x + b.x + c.x < 0.3 WITHIN 500ms")
    assert three == pytest.approx(0.3**3 / 6, rel=0.4)


def test_one_event_alone() -> None:
    stats = Stats.of(TABLE)
    stream = piece_of("A a WHERE a.x > 0.9 AND a.w = 'red' WITHIN 1s", stats.schema).slots[0].source
    found = stats.selectivities.of_stream(stream)
    rows = [row for row in TABLE.to_pylist() if row["type"] == "A"]
    share = sum(row["x"] > 0.9 and row["w"] == "red" for row in rows) / len(rows)
    assert found.value == pytest.approx(share)
    assert found.error == pytest.approx((share * (1 - share) / len(rows)) ** 0.5)
    assert stats.selectivities.known["A.w = 'red' AND A.x > 0.9", "A"] == found


def test_what_never_passes_is_rare_not_impossible() -> None:
    assert 0 < measured("SEQ(A a, B b) WHERE a.x > b.x + 1 WITHIN 1s") < 1e-3
    stats = Stats.of(TABLE)
    stream = piece_of("A a WHERE a.x > 1 WITHIN 1s", stats.schema).slots[0].source
    assert 0 < stats.selectivities.of_stream(stream).value < 1e-3


def test_windows_without_pairs_put_events_of_any_time_together() -> None:
    assert measured("SEQ(A a, B b) WHERE a.x < b.x WITHIN 10us") == pytest.approx(0.5, rel=0.15)
    assert measured("SEQ(A a, B b) WHERE [k] AND a.x < b.x WITHIN 10us") == pytest.approx(1 / 40, rel=0.2)


def test_nearness_in_time_counts() -> None:
    # Keys live for a short while: events of one window agree far more often than any two events.
    events = 20_000
    random = np.random.default_rng(3)
    table = pa.table(
        {
            "ts": np.arange(events) * 10_000,
            "type": random.choice(["A", "B", "C"], events),
            "k": np.arange(events) // 100 * 4 + random.integers(0, 4, events),
        }
    )
    assert measured("SEQ(A a, B b) WHERE [k] WITHIN 100ms", table) == pytest.approx(0.25 * 0.95, rel=0.15)
    three = measured("SEQ(A a, B b, C c) WHERE [k] WITHIN 100ms", table)
    assert three == pytest.approx(0.25**2 * 0.95, rel=0.3)


def test_defaults_by_operator() -> None:
    nothing = Stats(SCHEMA)
    for terms, expected in [
        ("a.x < b.x", 0.5),
        ("a.x = b.x", 0.1),
        ("a.x != b.x", 0.9),
        ("a.x + 1 = b.x", 0.1),
        ("a.x < b.x OR a.k = b.k", 0.55),
        ("NOT (a.x < b.x)", 0.5),
        ("a.x + b.x IN (1, 2)", 0.2),
        ("(a.x + b.x) IS NULL", 0.1),
    ]:
        found = Estimator(nothing).selectivity(piece_of(f"SEQ(A a, B b) WHERE {terms} WITHIN 1s"))
        assert found == pytest.approx(expected), terms
    assert nothing.selectivities.known == {}


def test_attributes_and_types_that_the_sample_has_not() -> None:
    stats = Stats.of(TABLE.select(["ts", "type", "k"]))
    estimator = Estimator(stats)
    assert estimator.selectivity(piece_of("SEQ(A a, B b) WHERE a.x < b.x WITHIN 1s")) == 0.5
    assert estimator.selectivity(piece_of("SEQ(A a, B b) WHERE a.x = b.x WITHIN 1s")) == pytest.approx(0.1)
    missing = Stats.of(TABLE.filter(np.array(TABLE["type"]) != "B"))
    assert Estimator(missing).selectivity(piece_of("SEQ(A a, B b) WHERE a.x < b.x WITHIN 1s")) == 0.5


def test_measures_do_not_depend_on_their_order() -> None:
    patterns = [
        f"{word}(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN {window}"
        for word, window in product(("SEQ", "AND"), ("1s", "2s"))
    ]
    one, other = Stats.of(TABLE), Stats.of(TABLE)
    for pattern in patterns:
        Estimator(one).rows(piece_of(pattern))
    for pattern in reversed(patterns):
        Estimator(other).rows(piece_of(pattern))
    assert one.selectivities.known == other.selectivities.known


def test_after_very_many_measures_events_are_put_together_wherever_they_stand(monkeypatch) -> None:
    monkeypatch.setattr(selectivity, "ENOUGH", 0)
    found = measured("SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN 1s")
    assert found == pytest.approx(1 / 6, rel=0.3)


def test_a_file_holds_what_was_measured() -> None:
    stats = Stats.of(TABLE)
    pieces = [piece_of("SEQ(A a, B b) WHERE [k] AND a.x < b.x AND a.x > 0.5 WITHIN 1s")]
    stats.measured(pieces)
    read = json.loads(json.dumps(stats.selectivities.to_json()))
    assert [entry["term"] for entry in read["selectivity"]] == ["A.x > 0.5"]
    counts = [(entry["term"], entry["of"]) for entry in read["counts"]]
    assert counts == [("A.x < B.x", "rows of SEQ(A[x > 0.5], B) given A.k = B.k within 1s")]
    assert all(
        entry.keys() == {"term", "of", "value", "error"} for entry in read["selectivity"] + read["counts"]
    )
    again = Selectivities.from_json(read)
    assert again.known == stats.selectivities.known
    assert again.counts == stats.selectivities.counts
    assert again.skews == stats.selectivities.skews
    from_file = Stats.from_json(stats.to_json())
    assert Estimator(from_file).rows(pieces[0]) == Estimator(stats).rows(pieces[0])
