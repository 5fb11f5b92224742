"""Conditions between neighbours: how they are kept and asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.engine.trends.conditions import looks_of
from stretto.pattern.predicates import Apply, Const, Ref, Which
from stretto.schema import Kind
from stretto.trends.plan import Edge

X0, X1 = Ref(0, "x", Kind.FLOAT), Ref(1, "x", Kind.FLOAT)
K0, K1 = Ref(0, "k", Kind.INT), Ref(1, "k", Kind.INT)
S0, S1 = Ref(0, "s", Kind.STRING), Ref(1, "s", Kind.STRING)


def compare(op, one, other):
    return Apply(op, (one, other), Kind.BOOL)


def looks(*alternatives, source=0, target=1):
    return looks_of(Edge(source, target, alternatives or None))


def test_without_a_condition_one_sum_serves():
    (look,) = looks()
    assert look.store.is_total
    assert look.pairs is None


def test_any_alternative_without_terms_is_no_condition():
    (look,) = looks((compare("<", X0, X1),), ())
    assert look.store.is_total


def test_an_alternative_that_asks_for_more_adds_nothing():
    rising, equal = compare("<", X0, X1), compare("=", K0, K1)
    assert looks((rising, equal), (rising,)) == looks((rising,))


@pytest.mark.parametrize(
    ("term", "falling", "strict"),
    [
        (compare("<", X0, X1), False, True),
        (compare(">", X1, X0), False, True),
        (compare("<=", X0, X1), False, False),
        (compare(">", X0, X1), True, True),
        (compare("<=", X1, X0), True, False),
    ],
)
def test_one_comparison_of_order_ranks(term, falling, strict):
    (look,) = looks((term,))
    assert (look.store.falling, look.strict, look.pairs) == (falling, strict, None)
    assert (look.store.order, look.order) == (X0, X0)


def test_neighbours_of_a_repetition_are_two_events():
    current, previous = Ref(1, "x", Kind.FLOAT, Which.CURRENT), Ref(0, "x", Kind.FLOAT, Which.PREVIOUS)
    assert looks((compare("<", previous, current),)) == looks((compare("<", X0, X1),))


def test_equalities_group_and_terms_on_one_event_filter():
    early, late = compare(">", K0, Const(1, Kind.INT)), compare("<", K1, Const(5, Kind.INT))
    (look,) = looks((compare("=", S1, S0), compare("=", K0, K1), early, late, compare("<", X0, X1)))
    assert look.store.equal == look.equal == (S0, K0)
    assert look.store.where == (early,)
    assert look.where == (compare("<", K0, Const(5, Kind.INT)),)
    assert look.pairs is None


def test_unequal_is_less_or_greater():
    below, beyond = looks((compare("!=", X0, X1),))
    assert (below.store.falling, beyond.store.falling) == (False, True)
    assert below.strict
    assert beyond.strict
    assert below.store.apart
    assert beyond.store.apart


@pytest.mark.parametrize(
    "condition",
    [
        ((compare("<", X0, X1), compare("<", K0, K1)),),
        ((compare("<", X0, X1),), (compare("=", K0, K1),)),
        ((compare("<", Apply("+", (K0, K1), Kind.INT), Const(3, Kind.INT)),),),
        ((compare("!=", X0, X1), compare("!=", K0, K1)),),
    ],
)
def test_all_else_is_scanned(condition):
    (look,) = looks(*condition)
    assert look.store.scanned
    assert look.pairs


def test_alternatives_on_single_events_are_excluded_from_the_others():
    """As `(B b+)+` with a term on neighbours inside and one on FIRST(b) or LAST(b)."""
    rising, early, late = compare("<", X0, X1), compare(">", K0, X0), compare(">", K1, X1)
    found = looks((rising,), (early, late))
    assert [look.store.order for look in found] == [None, X0, X0]
    assert not any(look.store.scanned for look in found)


def test_what_all_alternatives_ask_need_not_be_scanned():
    equal = compare("=", S0, S1)
    (look,) = looks((equal, compare("<", X0, X1)), (equal, compare("<", K0, K1)))
    assert look.store.equal == (S0,)
    assert look.pairs == ((compare("<", X0, X1),), (compare("<", K0, K1),))


def test_a_limit_on_the_time_between_is_a_comparison_of_order():
    t0, t1 = Ref(0, "ts", Kind.TIME), Ref(1, "ts", Kind.TIME)
    gap = Apply("-", (t1, t0), Kind.DURATION)
    (look,) = looks((compare("<=", gap, Const(5, Kind.DURATION)),))
    assert look.pairs is None
    assert look.store.falling
    assert look.store.order == Apply("+", (t0, Const(5, Kind.DURATION)), Kind.TIME)


@given(st.permutations([compare("=", S0, S1), compare("<", X0, X1), compare(">", K0, Const(1, Kind.INT))]))
def test_the_order_of_terms_does_not_matter(terms):
    assert looks(tuple(terms)) == looks(tuple(sorted(terms, key=repr)))
