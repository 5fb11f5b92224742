"""Which types are divided among cells, and when `auto` takes them: where the work of an event is worth its copies."""

from dataclasses import replace
from itertools import product

import pytest

from stretto.errors import StrettoError
from stretto.explain.model import Estimate
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.ops import Join, Scan
from stretto.plan.optimize import optimize
from stretto.plan.placement.cells import ByCell
from stretto.plan.spread.cell_choice import cells_for, work_share
from stretto.plan.spread.choice import choose, rejected
from stretto.plan.spread.event_load import EventLoad
from stretto.plan.spread.spreads import Whole
from stretto.plan.spread.staged import Staged
from stretto.plan.spread.stream_choice import units_if_they_pay
from stretto.plan.spread.time_slices import Times
from stretto.schema import Kind, Schema

SCHEMA = Schema({"x": Kind.FLOAT}, frozenset("ABC"))
SECOND = 10**6
PAIRS = "QUERY q PATTERN SEQ(A a, B b) WITHIN 100 SECONDS;"


def plan_of(text: str, us: float = 0.0, rates: dict[str, float] | None = None) -> Plan:
    """A plan whose events come at these rates, and take so many microseconds each, in its joins."""
    plan = optimize(Workload.parse(text), SCHEMA, "none")
    given = rates or {}
    total = sum(given.values())
    joins = sum(isinstance(op, Join) for op in plan.ops)
    records = tuple(
        replace(
            record,
            rows=given.get(op.stream.type, 0.0) if isinstance(op, Scan) else None,
            cost=us * 1000 * total / joins if isinstance(op, Join) else None,
        )
        for op, record in zip(plan.ops, plan.records, strict=True)
    )
    cost = us * 1000 * total
    return replace(plan, records=records, estimate=Estimate(cost, cost, None, 0.0)) if rates else plan


RATES = {"A": 900.0, "B": 100.0}


def test_the_type_with_most_events_is_divided() -> None:
    assert cells_for(plan_of(PAIRS, 1.0, RATES), 3) == ByCell((("A", 3),), ("A", "B"))
    assert cells_for(plan_of(PAIRS, 1.0, {"A": 10.0, "B": 100.0}), 3).anchors == (("B", 3),)


def test_two_types_of_many_events_make_a_grid() -> None:
    assert cells_for(plan_of(PAIRS, 0.01, {"A": 100.0, "B": 100.0}), 16).anchors == (("A", 4), ("B", 4))


def test_work_without_a_divided_type_is_done_by_every_cell() -> None:
    both = PAIRS + "QUERY r PATTERN SEQ(B b, C c) WITHIN 100 SECONDS;"
    plan = plan_of(both, 10.0, RATES | {"C": 1.0})
    assert work_share(plan, ByCell((("A", 4),))) == pytest.approx(0.5 / 4 + 0.5)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("QUERY q PATTERN SEQ(A a, B b) WITHIN 5 EVENTS;", "window in EVENTS"),
        ("QUERY q PATTERN SEQ(A a, B b) WITHIN 5 s SELECT STRICT;", "STRICT"),
        ("QUERY q PATTERN SEQ(A a, B b) WITHIN 5 s SELECT NEXT;", "SELECT NEXT"),
        ("QUERY q PATTERN SEQ(A a, B b) WITHIN 5 s KEEP FIRST FOR 1 HOUR;", "KEEP or LIMIT"),
        ("QUERY q PATTERN A a+ WITHIN 5 s RETURN COUNT(*);", "trends"),
        ("QUERY q PATTERN SEQ(A a, A b) WITHIN 5 s;", "no type can be divided"),
    ],
)
def test_what_cannot_be_right_is_refused(text: str, reason: str) -> None:
    plan = plan_of(text)
    with pytest.raises(StrettoError, match=f"cannot spread by units: .*{reason}"):
        cells_for(plan, 2)


def test_a_stream_takes_cells_from_the_break_even_on() -> None:
    """Of 1,000 events 900 are divided: 1.1 copies of each in two cells, so they win from 0.77 us on.

    They are a quarter faster from 1.28 us on.
    """
    even, light, heavy = (units_if_they_pay(plan_of(PAIRS, us, RATES), 2) for us in (0.76, 1.27, 1.30))
    assert even.units is None
    assert "cells about 0.77 us, with 1.1 copies of each; staged units about" in even.because
    assert "times as fast" not in even.because
    assert light.units is None
    assert light.because.endswith("; less than 1.25 times as fast")
    assert heavy.units == ByCell((("A", 2),), ("A", "B"))
    assert units_if_they_pay(plan_of(PAIRS, 100.0, RATES), 1).units is None


@pytest.mark.parametrize("cores", [2, 8, 20, 100])
def test_a_sequence_of_three_types_is_never_divided(cores: int) -> None:
    """The first workload of `bench detect`, ten types at ten events a second: 0.3 us per event that is read."""
    light = "QUERY q PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN 10 SECONDS;"
    plan = plan_of(light, 0.3, dict.fromkeys("ABC", 1.0))
    assert units_if_they_pay(plan, cores).units is None
    for events, in_place in product((200_000, 4_000_000), (False, True)):
        times = Times.of([(0, events * SECOND // 10, events)])
        load = EventLoad(times, in_place=in_place, shares=dict.fromkeys("ABC", 0.1))
        assert not isinstance(choose(plan, load, cores), ByCell | Staged)


def test_a_batch_takes_cells_where_its_window_is_a_large_part_of_it() -> None:
    load = EventLoad(Times.of([(0, 100 * SECOND, 100_000)]), shares={"A": 0.9, "B": 0.1})
    heavy, light = plan_of(PAIRS, 50.0, RATES), plan_of(PAIRS, 0.1, RATES)
    assert choose(heavy, load, 2) == ByCell((("A", 2),), ("A", "B"))
    told = rejected(heavy, load, 2, choose(heavy, load, 2))
    assert "rejected: whole (about 5.1 s), key (" in told
    assert choose(light, load, 2) == Whole()
    assert "cells (about 0." in rejected(light, load, 2, Whole())
    assert "staged (about 0." in rejected(light, load, 2, Whole())
    short = plan_of(PAIRS.replace("100 SECONDS", "1 SECOND"), 5.0, RATES)
    assert not isinstance(choose(short, replace(load, in_place=True), 2), ByCell)
