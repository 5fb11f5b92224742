"""What operators compute: equal for equal computations, whatever the order of joins and columns."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from tests.plan.estimated import ALONE, NARROW, SHARED, WINDOW, less, plan, ts, x

from stretto.memo.explore import Rules, explore
from stretto.memo.memo import build_memo
from stretto.memo.rules.join_left_to_right import join_left_to_right
from stretto.memo.rules.split_in_two import split_in_two
from stretto.pattern.nodes import Stream, Window
from stretto.pattern.piece import Piece, Place
from stretto.pattern.predicates import Apply, Expr, Which
from stretto.pattern.workload import Workload
from stretto.plan.assemble import assemble
from stretto.plan.build import Builder
from stretto.plan.dag import Estimate
from stretto.plan.meaning import computed, with_all_rows
from stretto.plan.ops import Emit, Filter, Forbid, Join, Op, Repeat, Scan, Union
from stretto.schema import Kind, Schema
from stretto.solve.common.solution import Solution, one_way_each

A, B, C, N = (Scan(Stream(name)) for name in "ABCN")


def last(*ops: Op) -> Piece:
    found = computed(ops)[-1]
    assert found is not None
    return found


def same(left: Expr, right: Expr) -> Expr:
    return Apply("=", (left, right), Kind.BOOL)


def seq(*terms: Expr, window: Window = WINDOW) -> Piece:
    return last(A, B, Join(0, 1, window, "before", terms))


def test_two_plans_of_a_query_end_in_the_same() -> None:
    shared, alone = computed(SHARED.ops), computed(ALONE.ops)
    assert shared[6] == alone[6]
    assert shared[3] == alone[2]
    assert shared[2] != alone[2]
    assert shared[4] is None


def test_order_terms_and_sides_do_not_matter() -> None:
    turned = last(A, B, Join(1, 0, WINDOW, "any", (less(ts(1), ts(0)), less(x(1), x(0)))))
    filtered = last(A, B, Join(0, 1, WINDOW), Filter(2, (less(x(0), x(1)), less(ts(0), ts(1)))))
    assert turned == filtered == seq(less(x(0), x(1)))


@pytest.mark.parametrize(
    "other",
    [
        seq(),
        seq(less(x(1), x(0))),
        seq(less(x(0), x(1)), window=NARROW),
        last(A, B, Join(0, 1, WINDOW, "any", (less(x(0), x(1)),))),
        last(A, C, Join(0, 1, WINDOW, "before", (less(x(0), x(1)),))),
        last(A, B, Join(0, 1, WINDOW, "before", (less(x(0), x(1)),)), Filter(2, (less(x(0), ts(1)),))),
    ],
)
def test_what_differs_in_meaning_differs(other: Piece) -> None:
    assert other != seq(less(x(0), x(1)))


def test_a_condition_on_one_event_counts_wherever_it_is_checked() -> None:
    term = less(x(0), x(0))
    early = last(Scan(Stream("A", (term,))), B, Join(0, 1, WINDOW, "before"))
    late = last(A, B, Join(0, 1, WINDOW, "before"), Filter(2, (term,)))
    assert early == late


def test_equalities_count_by_what_follows_from_them() -> None:
    def three(first: Expr, second: Expr) -> Piece:
        return last(A, B, C, Join(0, 1, WINDOW, "any", (first,)), Join(3, 2, WINDOW, "any", (second,)))

    assert three(same(x(0), x(1)), same(x(0), x(2))) == three(same(x(0), x(1)), same(x(1), x(2)))


def test_a_narrower_part_is_not_the_same_as_a_wide_one() -> None:
    def three(inner: Window) -> Piece:
        return last(A, B, C, Join(0, 1, inner, "before"), Join(3, 2, WINDOW, "before"))

    assert three(NARROW) != three(WINDOW)
    assert three(Window(2 * WINDOW.size)) == three(WINDOW)


def test_forbidden_events_are_compared_with_any_of_equal_ones() -> None:
    def without(column: int) -> Piece:
        equal = same(x(column), x(2))
        join = Join(0, 1, WINDOW, "before", (same(x(0), x(1)),))
        return last(A, B, N, join, Forbid(3, 2, Place.BETWEEN, WINDOW, (0,), (1,), (equal,)))

    assert without(0) == without(1)


def test_an_early_negation_may_come_before_or_after_a_join() -> None:
    early = last(
        *(A, B, C, N, Join(0, 1, WINDOW, "before")),
        Forbid(4, 3, Place.BETWEEN, WINDOW, (0,), (1,)),
        Join(5, 2, WINDOW, "before"),
    )
    late = last(
        *(A, B, C, N, Join(1, 2, WINDOW, "before"), Join(0, 4, WINDOW, "before")),
        Forbid(5, 3, Place.BETWEEN, WINDOW, (0,), (1,)),
    )
    assert early == late


def test_the_window_is_part_of_a_late_negation() -> None:
    def late(window: Window) -> Piece:
        return last(A, N, Forbid(0, 1, Place.LAST, window, after=(0,)))

    assert late(WINDOW) != late(NARROW)
    assert late(WINDOW) == late(WINDOW)


def test_repetitions_grow_on_any_order_of_columns() -> None:
    def grown(low: int, *, turned: bool) -> Piece:
        if turned:
            join = Join(1, 0, WINDOW, "any", (less(ts(1), ts(0)),))
            repeat = Repeat(2, 1, (0,), low, None, WINDOW, (less(ts(1), ts(2)), less(x(1), x(2))))
        else:
            join = Join(0, 1, WINDOW, "before")
            repeat = Repeat(2, 1, (1,), low, None, WINDOW, (less(ts(0), ts(2)), less(x(0), x(2))))
        return last(A, B, join, repeat)

    assert grown(1, turned=True) == grown(1, turned=False)
    assert grown(2, turned=True) != grown(1, turned=True)


def test_negations_of_grown_rows_keep_their_places() -> None:
    def forbidden(after: int, before: int) -> Piece:
        join = Join(0, 1, WINDOW, "before")
        repeat = Repeat(3, 1, (1,), 1, None, WINDOW)
        return last(A, B, N, join, repeat, Forbid(4, 2, Place.BETWEEN, WINDOW, (after,), (before,)))

    assert forbidden(0, 1) != forbidden(1, 0)


def test_alternatives_are_one_event() -> None:
    union = Union((1, 2), ((0,), (0,)), 1, (False,), distinct=False)
    other = Union((2, 1), ((0,), (0,)), 1, (False,), distinct=False)
    before = last(A, B, C, union, Join(0, 3, WINDOW, "before"))
    turned = last(A, B, C, other, Join(3, 0, WINDOW, "any", (less(ts(1), ts(0)),)))
    assert before == turned


def test_filters_on_repetitions_do_not_mix() -> None:
    joined = (A, B, Join(0, 1, WINDOW, "before"), Repeat(2, 1, (1,), 1, None, WINDOW))
    first, second = (less(x(0), x(1)), less(x(1), x(0)))
    found = [last(*joined), *(last(*joined, Filter(3, (term,))) for term in (first, second))]
    found.append(last(*joined, Filter(3, (), NARROW)))
    assert all(one != other for one, other in pairwise(found))
    assert len(set(found)) == 4


def test_neighbours_are_told_apart() -> None:
    def grown(which: tuple[Expr, ...], start: tuple[Expr, ...]) -> Piece:
        repeat = Repeat(2, 1, (1,), 1, None, WINDOW, (), which, start)
        return last(A, B, Join(0, 1, WINDOW, "before"), repeat)

    assert Which.EACH is x(0).which
    assert (
        len({grown((less(x(2), x(3)),), ()), grown((less(x(3), x(2)),), ()), grown((), (less(x(0), x(2)),))})
        == 3
    )


def test_rows_of_operators_that_were_not_looked_at() -> None:
    known = SHARED.estimate
    assert known is not None
    assert with_all_rows(SHARED, lambda _: 7.0).estimate == known  # an Emit computes no piece of its own
    partly = replace(SHARED, estimate=replace(known, rows=(None, *known.rows[1:3], None, *known.rows[4:])))
    completed = with_all_rows(
        partly, lambda piece: 10.0 * len(piece.slots) + piece.window.size / 1e6
    ).estimate
    assert completed is not None
    assert completed.rows == (10.0, 340.0, 12.5, 25.0, *known.rows[4:])
    bare = replace(SHARED, estimate=None)
    assert with_all_rows(bare, lambda _: 7.0) is bare


def test_rows_of_what_no_piece_says_stay_unknown() -> None:
    ops = (
        *(A, B, Join(0, 1, WINDOW, "before"), Repeat(2, 1, (1,), 1, None, WINDOW)),
        Union((3, 2), ((0, 1), (0, 1)), 2, (False, True), distinct=False),
        Emit("q", ("a", "b"), (False, True), (4,), ((0, 1),), (False,), WINDOW),
    )
    nothing = Estimate((None,) * 6, (None,) * 6, 1.0, 1.0, None, 0.0)
    found = with_all_rows(plan(ops, "none", nothing), lambda _: 7.0).estimate
    assert found is not None
    assert found.rows == (7.0, 7.0, 7.0, None, None, None)


GOLDEN = Path(__file__).parent.parent / "golden" / "plan"
GROWN_IN_ANY_ORDER = "two"
"""A query with two slots that grow: their order is that of the columns, and what is grown first is not the same."""


def ends(workload: Workload, seed: int | None) -> dict[str, list[Piece | None]]:
    """What the plan of random ways (None: the queries' own order) computes for each query in the end."""
    schema = Schema({"x": Kind.FLOAT, "n": Kind.INT, "k": Kind.INT, "s": Kind.STRING})
    detections = workload.bind(schema).normal_forms()
    memo = build_memo(detections)
    explore(memo, Rules((join_left_to_right, split_in_two)))
    rng = Random(seed)
    chosen = {} if seed is None else {i: rng.randrange(len(ways)) for i, ways in enumerate(memo.ways) if ways}
    builder = Builder(schema.attributes)
    assemble(detections, memo, Solution(one_way_each(memo, chosen)), builder)
    found = computed(builder.ops)
    return {op.query: [found[part] for part in op.parts] for op in builder.ops if isinstance(op, Emit)}


@pytest.mark.parametrize("name", sorted(path.stem for path in GOLDEN.glob("*.cep")))
def test_every_tree_of_joins_computes_the_same(name: str) -> None:
    workload = Workload.parse((GOLDEN / f"{name}.cep").read_text())
    expected = ends(workload, None)
    for seed in range(5):
        found = ends(workload, seed)
        for query, pieces in expected.items():
            assert query == GROWN_IN_ANY_ORDER or found[query] == pieces
