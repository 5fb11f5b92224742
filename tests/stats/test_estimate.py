"""Rows of pieces: formulas by hand, limits, and what must not matter."""

from dataclasses import replace
from math import exp, factorial, inf, isfinite, lgamma, log

import pyarrow as pa
import pytest
from hypothesis import given, settings
from tests.stats.worlds import SCHEMA, piece_of, poisson, stats_with
from tests.support.random_events import to_table
from tests.support.strategies import workloads

from stretto.errors import QueryError
from stretto.pattern.workload import Workload
from stretto.schema import Schema
from stretto.stats.estimate import MOST, Estimator
from stretto.stats.growth import once
from stretto.stats.profile import Stats

RATES = {"A": 2.0, "B": 3.0, "C": 5.0, "D": 10.0}


def rows(pattern: str, rates: dict[str, float] | None = None) -> float:
    return Estimator(stats_with(rates or RATES)).rows(piece_of(pattern))


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("A a WITHIN 1s", 2.0),
        ("AND(A a, B b) WITHIN 4s", 2 * 4 * 2 * 3),
        ("SEQ(A a, B b) WITHIN 4s", 4 * 2 * 3),
        ("AND(A a, B b, C c) WITHIN 4s", 3 * 4**2 * 2 * 3 * 5),
        ("SEQ(A a, B b, C c) WITHIN 4s", 4**2 / 2 * 2 * 3 * 5),
        ("AND(A a, SEQ(B b, C c)) WITHIN 4s", 3 * 4**2 * 2 * 3 * 5 / 2),
        ("SEQ(A a, AND(B b, C c), D d) WITHIN 2s", 4 * 2**3 * 300 * 2 / 24),
        ("AND(A a, A b) WITHIN 4s", 2 * 4 * 2 * 2),
        ("SEQ(A a, B b) WITHIN 11 EVENTS", 20 * 10 * (2 / 20) * (3 / 20)),
        ("AND(A a, B b, C c) WITHIN 2 EVENTS", 0.0),
        ("SEQ(A a, B b) WHERE a.x < b.x WITHIN 4s", 24 / 2),
        ("SEQ(A a, B b) WHERE a.x > 3 WITHIN 4s", 24 / 2),
        ("SEQ(A a, B b) WHERE [k] WITHIN 4s", 24 / 10),
        ("SEQ(A a, B b, C c) WHERE [k] WITHIN 4s", 240 / 100),
    ],
)
def test_formulas(pattern, expected) -> None:
    assert rows(pattern) == pytest.approx(expected)


def test_negations() -> None:
    # SEQ(A, NOT B, C): the gap is uniform in the window, B come at 3 per second.
    x = 3.0 * 4.0
    assert rows("SEQ(A a, NOT(B b), C c) WITHIN 4s") == pytest.approx(40 * (1 - exp(-x)) / x)
    # First and last: what the window leaves before the first or behind the last event is as long as the gap.
    assert rows("SEQ(NOT(B b), A a, C c) WITHIN 4s") == pytest.approx(40 * (1 - exp(-x)) / x)
    assert rows("SEQ(A a, C c, NOT(B b)) WITHIN 4s") == pytest.approx(40 * (1 - exp(-x)) / x)
    # Anywhere in the window from the first event on, and before a single one.
    assert rows("AND(SEQ(A a, C c), NOT(B b)) WITHIN 4s") == pytest.approx(40 * exp(-x))
    assert rows("SEQ(NOT(B b), A a) WITHIN 4s") == pytest.approx(2 * exp(-x))
    # Equal on `same`: a tenth of the B are forbidden ones.
    x /= 10
    assert rows("SEQ(A a, NOT(B b), C c) WHERE [k] WITHIN 4s") == pytest.approx(4 * (1 - exp(-x)) / x)


def test_repetitions() -> None:
    assert rows("A a+ WITHIN 3s") == pytest.approx(2 * exp(6.0))
    assert rows("A a{2,3} WITHIN 3s") == pytest.approx(2 * (6 + 18))
    x = 3.0 * 2.0
    expected = 2 * 5 * 2.0 * sum(3.0 * 2.0 / 2 * x**j * 2 / factorial(2 + j) for j in range(80))
    assert rows("SEQ(A a, B b+, C c) WITHIN 2s") == pytest.approx(expected)
    assert rows("SEQ(A a, SEQ(B b, C c){1,1}) WITHIN 2s") == pytest.approx(
        rows("SEQ(A a, B b, C c) WITHIN 2s")
    )
    pair = 3.0 * 5.0 * 4.0  # one more pair of B and C in the gap: two more slots in sequence
    expected = 2 * 3 * 5 * 2 * sum(pair**j * 2 / factorial(2 + 2 * j) for j in range(80))
    assert rows("SEQ(A a, SEQ(B b, C c)+) WITHIN 2s") == pytest.approx(expected)


def test_strict_patterns_follow_the_shares_of_types() -> None:
    assert rows("SEQ(A a, B b) WITHIN 1h SELECT STRICT") == pytest.approx(2 * 3 / 20)
    assert rows("SEQ(A a, B b, C c) WITHIN 1h SELECT STRICT") == pytest.approx(2 * 3 / 20 * 5 / 20)
    assert rows("SEQ(A a, B b+) WITHIN 1h SELECT STRICT") == pytest.approx(2 * 3 / 20 / (1 - 3 / 20))
    assert rows("SEQ(A a, B b, C c) WITHIN 2 EVENTS SELECT STRICT") == 0.0


def test_strict_neighbours_agree_on_same_alone() -> None:
    # Of positions counted among events with one k, neighbours have that k; that they have one x is an extra term.
    pattern = "SEQ(A a, B b, C c) WHERE [k]{} WITHIN 1h SELECT STRICT"
    free = rows(pattern.format(""))
    assert free > 0.0
    assert rows(pattern.format(" AND b.x = c.x")) == pytest.approx(free / 10)
    assert rows(pattern.format(" AND a.x = b.x")) == pytest.approx(free / 10)
    assert rows(pattern.format(" AND b.k = c.k")) == pytest.approx(free)


def test_an_average_is_measured_as_a_double_of_any_attribute() -> None:
    values = [1.0, 1.0, float("nan"), 9.0, float("inf"), float("-inf")]
    table = pa.table({"ts": range(6), "type": ["B"] * 6, "x": values, "k": [3] * 6, "w": ["a"] * 6})
    (found,), _ = once(piece_of("B b+ WHERE AVG(b.k) - LAST(b).x > 1 WITHIN 1s"))
    assert Estimator(Stats.of(table)).selectivity(found.piece) == pytest.approx(3 / 6, abs=0.01)


@pytest.mark.parametrize("count", [171, 172, 400])
def test_many_slots_have_rows(count: int) -> None:
    schema = Schema({}, frozenset(f"T{i}" for i in range(count)))
    slots = ", ".join(f"T{i}" for i in range(count))
    one = Estimator(stats_with({f"T{i}": 1.0 for i in range(count)}, schema))
    assert one.rows(piece_of(f"AND({slots}) WITHIN 1s", schema)) == pytest.approx(count)
    assert one.rows(piece_of(f"AND({slots}) WITHIN 30 DAYS", schema)) == pytest.approx(MOST)
    few = (
        count / 2.0
    )  # per second: the window holds so many of each, and the orders of the others are as many
    many = Estimator(stats_with({f"T{i}": few for i in range(count)}, schema))
    expected = count * log(few) - lgamma(count)
    assert log(many.rows(piece_of(f"SEQ({slots}) WITHIN 1s", schema))) == pytest.approx(expected)


def test_next_has_one_run_per_first_event() -> None:
    assert rows("SEQ(A a, B b, C c) WITHIN 1h SELECT NEXT") == pytest.approx(2.0)
    assert rows("SEQ(A a, B b) WITHIN 100ms SELECT NEXT") == pytest.approx(2 * (1 - exp(-0.3)))
    assert rows("SEQ(A a, B b+, C c) WITHIN 1h SELECT NEXT") == pytest.approx(2.0)
    assert rows("SEQ(A a?, B b) WITHIN 1h SELECT NEXT") == pytest.approx(5.0)


def test_alternatives_of_groups_add_up() -> None:
    both = rows("SEQ(A a, OR(B b, C c)+) WITHIN 1s")
    merged = rows("SEQ(A a, B b+) WITHIN 1s", {**RATES, "B": 8.0})
    assert both == pytest.approx(merged)


PATTERNS = [
    "SEQ(A a, B b, C c) WHERE a.x < b.x AND [k] WITHIN {}",
    "AND(A a, B b+, NOT(C c)) WHERE c.x > a.x WITHIN {}",
    "SEQ(A a+, SEQ(B b, C c)+, D d) WHERE a[i].x > a[i-1].x WITHIN {}",
    "SEQ(A a, B b+, C c) WITHIN {} SELECT STRICT",
    "SEQ(A a, B b*, C c) WITHIN {} SELECT NEXT",
    "SEQ(NOT(D d), A a, B b) WHERE [k] WITHIN {}",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_nothing_divides_by_a_rate_of_zero(pattern) -> None:
    for rates in ({}, {"A": 0.0}, {"A": 5.0}, {"B": 1.0}, dict.fromkeys("ABCD", 0.0)):
        for window in ("1s", "5 EVENTS"):
            piece = piece_of(pattern.format(window))
            estimator = Estimator(stats_with(rates))
            assert estimator.rows(piece) == 0.0
            assert 0.0 <= estimator.extent(piece) < inf


def test_a_window_of_events_that_hardly_ever_come_does_not_last_forever() -> None:
    for rate in (5e-324, 1e-300, 1e-31, 1e-29):
        estimator = Estimator(stats_with({"A": rate, "B": rate}))
        piece = piece_of("SEQ(A a, B b) WITHIN 1000000000 EVENTS")
        assert estimator.window(piece) < inf
        assert 0.0 <= estimator.rows(piece) < inf


@pytest.mark.parametrize("pattern", PATTERNS)
def test_huge_windows_and_rates_stay_finite(pattern) -> None:
    for window in ("1000 DAYS", "1000000000 EVENTS"):
        estimator = Estimator(stats_with(dict.fromkeys("ABCD", 1e9)))
        piece = piece_of(pattern.format(window))
        assert 0.0 <= estimator.rows(piece) < inf
        assert isfinite(estimator.extent(piece))


@pytest.mark.parametrize(
    "pattern",
    ["AND(A a, B b) WITHIN {}", "SEQ(A a, B b+, C c) WITHIN {}", "SEQ(A a, B b) WHERE [k] WITHIN {}"],
)
def test_more_time_and_more_events_give_more_rows(pattern) -> None:
    for unit in ("ms", " EVENTS"):
        found = [rows(pattern.format(f"{size}{unit}")) for size in (10, 100, 1000, 10_000)]
        assert found == sorted(found)
    found = [rows(pattern.format("1s"), {**RATES, "B": rate}) for rate in (0.0, 0.1, 1.0, 10.0)]
    assert found == sorted(found)


def test_only_a_schema() -> None:
    estimator = Estimator(Stats.assumed(SCHEMA))
    assert estimator.rows(piece_of("SEQ(A a, B b) WITHIN 3s")) == pytest.approx(3.0)
    open_schema = replace(SCHEMA, types=None)
    estimator = Estimator(Stats.assumed(open_schema))
    assert estimator.rows(piece_of("SEQ(A a, Z z) WITHIN 3s", open_schema)) == pytest.approx(3.0)
    assert estimator.rows(piece_of("SEQ(A a, Z z) WITHIN 31 EVENTS", open_schema)) == pytest.approx(3.0)


def test_extents() -> None:
    estimator = Estimator(stats_with(RATES))
    assert estimator.extent(piece_of("A a WITHIN 6s")) == 0.0
    assert estimator.extent(piece_of("AND(A a, B b) WITHIN 6s")) == pytest.approx(3.0)
    assert estimator.extent(piece_of("SEQ(A a, B b, C c) WITHIN 6s")) == pytest.approx(4.0)
    assert 4.0 < estimator.extent(piece_of("SEQ(A a, B b+, C c) WITHIN 6s")) < 6.0
    assert estimator.extent(piece_of("AND(A a, B b) WITHIN 40 EVENTS")) == pytest.approx(1.0)


def test_equalities_between_two_sides() -> None:
    estimator = Estimator(stats_with(RATES))
    piece = piece_of("SEQ(A a, B b, C c) WHERE a.k = b.k AND b.k = c.k AND a.x < c.x WITHIN 1s")
    assert estimator.selectivity_of_equalities(piece, (0,), (1,)) == pytest.approx(0.1)
    assert estimator.selectivity_of_equalities(piece, (0, 1), (2,)) == pytest.approx(0.1)
    same = piece_of("SEQ(A a, B b, C c) WHERE [k] AND [w] WITHIN 1s")
    assert estimator.selectivity_of_equalities(same, (0, 2), (1,)) == pytest.approx(0.01)
    none = piece_of("SEQ(A a, B b) WHERE a.x < b.x WITHIN 1s")
    assert estimator.selectivity_of_equalities(none, (0,), (1,)) == 1.0
    group = piece_of("SEQ(A a, SEQ(B b, C c)+) WHERE [k] WITHIN 1s")
    assert estimator.selectivity_of_equalities(group, (0,), (1,)) == pytest.approx(0.1)


def test_events_without_the_common_attribute_are_left_out() -> None:
    stats = Stats.of(poisson(8000, seed=5))
    stream = piece_of("A a WITHIN 1s").slots[0].source
    estimator = Estimator(stats)
    assert estimator.rate(stream, ("w",)) == pytest.approx(estimator.rate(stream) * 7 / 8, rel=0.05)
    assert estimator.rate(stream, ("k",)) == pytest.approx(estimator.rate(stream))


def test_equal_pieces_are_estimated_once() -> None:
    estimator = Estimator(stats_with(RATES))
    one, other = (piece_of("SEQ(A a, B b) WITHIN 4s") for _ in range(2))
    assert one is not other
    assert estimator.rows(one) == estimator.rows(other) == estimator.rows(one)
    assert len(estimator._rows) == 1


@settings(max_examples=50)
@given(workloads(most=30))
def test_every_piece_of_every_query_has_an_estimate(drawn) -> None:
    queries = Workload.parse(drawn.text).bind(drawn.schema)
    try:
        pieces = [branch.piece for found in queries.normal_forms() for branch in found.branches]
    except QueryError:
        return
    measured = Stats.of(to_table(drawn.events)).measured(pieces)
    read = Stats.from_json(measured.to_json())
    for stats in (measured, read, Stats.assumed(drawn.schema)):
        estimator = Estimator(stats)
        for piece in pieces:
            assert 0.0 <= estimator.rows(piece) < inf
            assert 0.0 <= estimator.extent(piece) < inf
    one, other = Estimator(measured), Estimator(read)
    assert [one.rows(piece) for piece in pieces] == [other.rows(piece) for piece in pieces]
