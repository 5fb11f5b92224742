"""Plans mean what their queries mean: the operators, read literally, find what the oracle finds."""

from random import Random
from typing import TypeVar

import pytest
from tests.plan.reference import Reference
from tests.support.comparison import assert_same_matches
from tests.support.random_events import SCHEMA
from tests.support.strategies import Sample, random_workload

from stretto import oracle
from stretto.errors import QueryError
from stretto.memo.explore import Rules, explore
from stretto.memo.memo import build_memo
from stretto.memo.rules.join_left_to_right import join_left_to_right
from stretto.memo.rules.split_in_two import split_in_two
from stretto.pattern.branches import NotPlannable
from stretto.pattern.nodes import Stream, Window
from stretto.pattern.order import Order
from stretto.pattern.piece import Branch, Group, Piece, Slot
from stretto.pattern.predicates import Apply, Ref
from stretto.pattern.workload import Workload
from stretto.plan.assemble import assemble
from stretto.plan.build import Builder
from stretto.plan.check import check
from stretto.plan.dag import Plan
from stretto.plan.ops import Emit, Forbid, Join, Next, Op, Repeat, Scan
from stretto.plan.optimize import optimize, plannable, refuse_unplannable
from stretto.schema import Kind
from stretto.solve.common.solution import Solution, each_alone, one_way_each

T = TypeVar("T", bound=Op)
EVENTS = 9  # brute force on both sides


@pytest.mark.parametrize("block", range(8))
def test_plans_find_what_the_oracle_finds(block: int) -> None:
    for seed in range(block * 30, block * 30 + 30):
        sample = random_workload(Random(seed))
        try:
            judge(optimize(Workload.parse(sample.text), sample.schema, "none"), sample, seed)
        except QueryError:
            continue


@pytest.mark.parametrize("block", range(8))
def test_any_choice_of_ways_finds_what_the_oracle_finds(block: int) -> None:
    for seed in range(block * 30, block * 30 + 30):
        sample, rng = random_workload(Random(seed)), Random(seed)
        try:
            detections = plannable(Workload.parse(sample.text).bind(sample.schema))
        except QueryError:
            continue
        memo = build_memo(detections)
        explore(memo, Rules((join_left_to_right, split_in_two)))
        chosen = {number: rng.randrange(len(ways)) for number, ways in enumerate(memo.ways) if ways}
        nodes = one_way_each(memo, chosen) if rng.random() < 0.7 else each_alone(memo, chosen)
        builder = Builder(sample.schema.attributes)
        emits = assemble(detections, memo, Solution(nodes), builder)
        found = Plan(tuple(builder.ops), emits, tuple(builder.records), sample.schema, "some")
        judge(check(found), sample, seed)


def judge(found: Plan, sample: Sample, seed: int) -> None:
    events = sample.events[:EVENTS]
    reference = Reference(found.ops, events)
    for query in Workload.parse(sample.text).bind(sample.schema).detections:
        emit = found.ops[found.queries[query.name]]
        assert isinstance(emit, Emit)
        expected = oracle.matches(query, events)
        assert_same_matches(reference.matches(emit), expected, f"seed {seed}\n{sample}\n{found}")


def plan(text: str) -> Plan:
    return optimize(Workload.parse(text), SCHEMA, "none")


def only(found: Plan, kind: type[T]) -> T:
    (op,) = (op for op in found.ops if isinstance(op, kind))
    return op


def kinds(found: Plan) -> list[str]:
    return [type(op).__name__ for op in found.ops if not isinstance(op, Scan)]


@pytest.mark.parametrize(
    ("condition", "bounds"),
    [
        ("COUNT(b) = 3", (3, 3)),
        ("COUNT(b) > 1 AND 5 > COUNT(b)", (2, 4)),
        ("3 <= COUNT(b)", (3, None)),
        ("COUNT(b) <= 4", (1, 4)),
    ],
)
def test_counts_become_bounds(condition: str, bounds: tuple[int, int | None]) -> None:
    found = plan(f"QUERY q PATTERN SEQ(A a, B b+) WHERE {condition} WITHIN 5 s;")
    repeat = only(found, Repeat)
    assert (repeat.low, repeat.high) == bounds
    assert kinds(found) == ["Join", "Repeat", "Emit"]


@pytest.mark.parametrize("condition", ["COUNT(b) = 0", "COUNT(b) > 2.5", "COUNT(b) != 3", "MIN(b.x) > 3"])
def test_what_is_no_bound_stays_a_filter(condition: str) -> None:
    found = plan(f"QUERY q PATTERN SEQ(A a, B b+) WHERE {condition} WITHIN 5 s;")
    assert kinds(found) == ["Join", "Repeat", "Filter", "Emit"]


def test_one_repetition_needs_no_growing() -> None:
    found = plan("QUERY q PATTERN SEQ(A a, B b+) WHERE COUNT(b) = 1 AND b[i].x > b[i-1].x WITHIN 5 s;")
    assert kinds(found) == ["Join", "Emit"]


def test_only_unordered_slots_of_one_type_are_kept_apart() -> None:
    assert only(plan("QUERY q PATTERN AND(A a, A b) WITHIN 5 s;"), Join).distinct == ((0, 0),)
    assert only(plan("QUERY q PATTERN SEQ(A a, A b) WITHIN 5 s;"), Join).distinct == ()
    assert only(plan("QUERY q PATTERN AND(A a, B b) WITHIN 5 s;"), Join).distinct == ()


def test_a_negation_waits_for_events_that_the_match_may_bind_itself() -> None:
    found = plan("QUERY q PATTERN AND(SEQ(A a, NOT(B n), C c), B b+) WITHIN 5 s;")
    assert kinds(found) == ["Join", "Join", "Repeat", "Forbid", "Emit"]
    assert only(found, Forbid).distinct == (2,)


def test_neighbours_grow_after_the_sets_they_are_compared_with() -> None:
    found = plan("QUERY q PATTERN SEQ(A a+, B b+) WHERE a[i].x - a[i-1].x < b.x WITHIN 5 s;")
    finals = [op.final for op in found.ops if isinstance(op, Repeat)]
    assert finals == [(1,), (0,)]
    assert "Filter" not in kinds(found)


def test_steps_agree_pairwise_and_within_themselves() -> None:
    found = plan("QUERY q PATTERN SEQ(A a?, B b, C c+) WHERE [k] WITHIN 5 s SELECT NEXT;")
    assert len(only(found, Next).terms) == 4


def test_scans_are_shared_by_equal_streams_only() -> None:
    found = plan("QUERY q PATTERN SEQ(A a, A b, A c) WHERE a.n > 1 AND c.n > 1 WITHIN 5 s;")
    assert sum(isinstance(op, Scan) for op in found.ops) == 2


def test_parts_that_wait_are_told_apart() -> None:
    found = plan("QUERY q PATTERN OR(SEQ(A a, NOT(B n)), C c) WITHIN 5 s;")
    assert only(found, Emit).waits == (True, False)


def test_repetitions_of_two_groups_cannot_be_told_apart_at_once() -> None:
    window = Window(5)
    pair = Piece((Slot(Stream("A")), Slot(Stream("B"))), Order.total(2), (), (), (), window)
    group = Slot(Group(2, (Branch(pair, (0, 1)),)), 1, None)
    total = Apply("+", (Ref(0, "x", Kind.FLOAT), Ref(1, "x", Kind.FLOAT)), Kind.FLOAT)
    other = Apply("+", (Ref(2, "x", Kind.FLOAT), Ref(3, "x", Kind.FLOAT)), Kind.FLOAT)
    term = Apply("<", (total, other), Kind.BOOL)
    piece = Piece((group, group), Order.total(2), (term,), (), (), window)
    with pytest.raises(NotPlannable, match="the repetitions of several groups"):
        refuse_unplannable(piece)
