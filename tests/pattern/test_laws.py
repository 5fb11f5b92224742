"""The laws of the algebra: of terms, negations, orders, pieces, comparisons and disjoint sets."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.pattern.canonical.pieces import canonical
from stretto.pattern.comparisons import COMPARISONS, OPPOSITE, flipped
from stretto.pattern.core import core_of
from stretto.pattern.disjoint_sets import DisjointSets
from stretto.pattern.linear_extensions import count_linear_extensions, linear_extensions
from stretto.pattern.nodes import Stream, Window
from stretto.pattern.order import Order, mask_of
from stretto.pattern.piece import Negation, Piece, Place, Slot
from stretto.pattern.predicates import Apply, Changed, Const, Expr, Reduce, Ref, numbered
from stretto.pattern.project import project, rearrange
from stretto.schema import Kind

COLUMNS = 4
PAIRS = st.tuples(st.integers(0, COLUMNS - 1), st.integers(0, COLUMNS - 1))
RENUMBERINGS = st.permutations(range(COLUMNS + 1))


def terms() -> st.SearchStrategy[Expr]:
    column, name = st.integers(0, COLUMNS - 1), st.sampled_from("xy")
    refs = st.builds(Ref, column, name, st.just(Kind.INT))
    reduced = st.builds(Reduce, st.just("SUM"), column, name, st.just(Kind.INT))
    leaves = st.one_of(refs, reduced, st.builds(Const, st.integers(0, 3), st.just(Kind.INT)))
    sums = st.builds(lambda a, b: Apply("+", (a, b), Kind.INT), leaves, leaves)
    side = st.one_of(leaves, sums)
    op = st.sampled_from(sorted(COMPARISONS))
    return st.builds(lambda op, a, b: Apply(op, (a, b), Kind.BOOL), op, side, side)


@st.composite
def orders(draw) -> Order:
    to = draw(st.permutations(range(COLUMNS)))
    return Order.closing((to[i], to[j]) for i, j in draw(st.lists(PAIRS, max_size=5)) if i < j)


@st.composite
def pieces(draw, *, repeated: bool = False) -> Piece:
    """A piece of four slots, with equalities, comparisons and a negation between two slots in order."""
    bounds = st.sampled_from([(1, 1), (1, None), (2, 3)]) if repeated else st.just((1, 1))
    slots = tuple(Slot(Stream(draw(st.sampled_from("AB"))), *draw(bounds)) for _ in range(COLUMNS))
    order = draw(orders())
    compared = st.builds(
        lambda op, pair, x, y: Apply(op, (Ref(pair[0], x, Kind.INT), Ref(pair[1], y, Kind.INT)), Kind.BOOL),
        st.sampled_from(["=", "=", "<", "<="]),
        PAIRS.filter(lambda pair: pair[0] != pair[1]),
        st.sampled_from("xy"),
        st.sampled_from("xy"),
    )
    found = tuple(dict.fromkeys(draw(st.lists(compared, max_size=4))))
    negations: tuple[Negation, ...] = ()
    if order and draw(st.booleans()):
        i, j = draw(st.sampled_from(list(order)))
        near = Apply("<", (Ref(i, "x", Kind.INT), Ref(COLUMNS, "x", Kind.INT)), Kind.BOOL)
        negations = (Negation(Stream("C"), Place.BETWEEN, (i,), (j,), (near,)),)
    return Piece(slots, order, found, (), negations, Window(5))


def form(piece: Piece) -> Piece:
    return canonical(piece)[0]


# ---- moving ----------------------------------------------------------------------------------------------------


@given(terms(), RENUMBERINGS, RENUMBERINGS)
def test_moving_composes(term: Expr, one: list[int], other: list[int]) -> None:
    assert term.moved(one).moved(other) == term.moved([other[i] for i in one])
    assert term.moved(one).moved(numbered(one)) == term


@given(terms())
def test_moving_by_the_identity_changes_nothing(term: Expr) -> None:
    assert term.moved(range(COLUMNS)) == term.moved(Changed()) == term


@given(terms(), st.integers(-5, 5))
def test_a_range_shifts(term: Expr, by: int) -> None:
    assert term.moved(range(by, by + COLUMNS)) == term.moved({i: i + by for i in range(COLUMNS)})


@given(pieces(), RENUMBERINGS, RENUMBERINGS)
def test_moving_negations_composes(piece: Piece, one: list[int], other: list[int]) -> None:
    both = [other[i] for i in one]
    for negation in piece.negations:
        assert negation.moved(one, one).moved(other, other) == negation.moved(both, both)
        assert negation.moved(Changed(), Changed()) == negation


# ---- pieces ----------------------------------------------------------------------------------------------------


@given(pieces(), st.permutations(range(COLUMNS)))
def test_the_canonical_form_does_not_see_how_a_piece_is_arranged(piece: Piece, slots: list[int]) -> None:
    assert form(rearrange(piece, slots)) == form(piece)
    assert rearrange(rearrange(piece, slots), [numbered(slots)[i] for i in range(COLUMNS)]) == piece


@given(pieces(), st.permutations(range(COLUMNS)), st.data())
def test_projecting_composes(piece: Piece, slots: list[int], data) -> None:
    outer = slots[: data.draw(st.integers(2, COLUMNS))]
    inner = data.draw(st.lists(st.sampled_from(range(len(outer))), min_size=1, unique=True))
    assert form(project(project(piece, outer), inner)) == form(project(piece, [outer[i] for i in inner]))


@given(pieces(repeated=True), st.permutations(range(COLUMNS)))
def test_the_core_of_an_arrangement_is_the_arrangement_of_the_core(piece: Piece, slots: list[int]) -> None:
    assert form(core_of(rearrange(piece, slots))) == form(rearrange(core_of(piece), slots))
    assert core_of(core_of(piece)) == core_of(piece)


@given(pieces())
def test_slots_and_columns_are_told_from_each_other(piece: Piece) -> None:
    assert piece.slots_of(piece.columns_of(range(COLUMNS))) == tuple(range(COLUMNS))
    assert all(column in piece.columns(slot) for column, slot in enumerate(piece.slot_of_column))


# ---- orders ----------------------------------------------------------------------------------------------------


@given(st.lists(PAIRS), st.lists(PAIRS))
def test_the_closure_is_idempotent_monotone_and_extensive(some, more) -> None:
    closed, larger = Order.closing(some), Order.closing([*some, *more])
    assert Order.closing(closed) == closed
    assert set(some) <= set(closed) <= set(larger)


@given(orders(), st.permutations(range(COLUMNS)), st.permutations(range(COLUMNS)))
def test_parts_of_orders_compose(order: Order, one: list[int], other: list[int]) -> None:
    assert order.part(one).part(other) == order.part([one[i] for i in other])
    assert order.part(range(COLUMNS)) == order


@given(orders(), st.sets(st.integers(0, COLUMNS - 1)))
def test_minimal_and_maximal_are_dual(order: Order, things: set[int]) -> None:
    turned = Order.of((j, i) for i, j in order)
    assert turned.latest(things) == order.earliest(things)
    assert turned.earliest(things) == order.latest(things)
    others = set(range(COLUMNS)) - things
    assert turned.never_first(things, others) == order.never_last(things, mask_of(others))


@given(st.lists(PAIRS, max_size=5))
def test_linear_extensions_counted_are_those_enumerated(pairs) -> None:
    order = Order.closing(pairs)
    found = list(linear_extensions(order, range(COLUMNS)))
    allowed = [
        way
        for way in permutations(range(COLUMNS))
        if all(i != j and way.index(i) < way.index(j) for i, j in order)
    ]
    assert found == allowed
    assert count_linear_extensions(COLUMNS, order) == len(allowed)


# ---- comparisons -----------------------------------------------------------------------------------------------


@given(terms().filter(lambda term: isinstance(term, Apply)))
def test_flipping_twice_changes_nothing(term: Apply) -> None:
    assert flipped(flipped(term)) == term


@pytest.mark.parametrize("op", sorted(COMPARISONS))
def test_negating_twice_changes_nothing(op: str) -> None:
    assert OPPOSITE[OPPOSITE[op]] == op
    assert OPPOSITE[op] != op


# ---- disjoint sets ---------------------------------------------------------------------------------------------


@given(st.lists(PAIRS))
def test_disjoint_sets_are_the_classes_of_the_closure(pairs) -> None:
    closed = Order.closing([*pairs, *((j, i) for i, j in pairs)])
    found = DisjointSets(pairs)
    named = {i for pair in pairs for i in pair}
    assert sorted(i for members in found.sets() for i in members) == sorted(named)
    assert {(i, j) for i in named for j in named if found.find(i) == found.find(j)} == set(closed)
    assert all(not found.join(*pair) for pair in pairs)
