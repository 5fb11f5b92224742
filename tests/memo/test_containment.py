"""What follows from what, checked by values; and which pieces are weaker."""

from itertools import product

import pytest
from tests.memo.rule_cases import memo_of

from stretto.memo.containment import Holds, Passes, arrangements, claims, consequences, implies, strongest
from stretto.memo.weaker_pieces import Held, alike
from stretto.pattern.predicates import Apply, Const, Ref
from stretto.schema import Kind

OPS = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}
PAIRS = list(product(OPS, OPS))
VALUES = [float("-inf"), 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("nan")]
X, Y = Ref(0, "x", Kind.FLOAT), Ref(1, "x", Kind.FLOAT)


def with_constant(op: str, value: float) -> Apply:
    return Apply(op, (X, Const(value, Kind.FLOAT)), Kind.BOOL)


@pytest.mark.parametrize(("strong", "weak"), PAIRS)
def test_a_comparison_with_a_constant_follows_only_if_it_does(strong: str, weak: str) -> None:
    for mine, theirs in product([1.0, 2.0, float("nan")], repeat=2):
        if implies(with_constant(strong, mine), with_constant(weak, theirs)):
            assert all(OPS[weak](v, theirs) for v in VALUES if OPS[strong](v, mine))


@pytest.mark.parametrize(("strong", "weak"), PAIRS)
def test_a_comparison_of_two_events_follows_only_if_it_does(strong: str, weak: str) -> None:
    if implies(Apply(strong, (X, Y), Kind.BOOL), Apply(weak, (X, Y), Kind.BOOL)):
        assert all(OPS[weak](a, b) for a, b in product(VALUES, repeat=2) if OPS[strong](a, b))


def test_bounds_follow_from_tighter_ones() -> None:
    assert implies(with_constant(">", 2.0), with_constant(">=", 1.0))
    assert implies(with_constant("=", 2.0), with_constant("!=", 1.0))
    assert not implies(with_constant(">=", 1.0), with_constant(">", 1.0))
    assert not implies(with_constant("!=", 1.0), with_constant("<", 2.0))


def test_consequences_stay_with_their_slot() -> None:
    strong, weak = Passes(0, with_constant(">", 2.0)), Passes(0, with_constant(">", 1.0))
    elsewhere, between = Passes(1, with_constant(">", 1.0)), Holds(with_constant(">", 1.0))
    found = consequences([strong, weak, elsewhere, between])
    assert found[strong] == [strong, weak]
    assert found[weak] == [weak]
    assert strongest([weak, strong, elsewhere]) == [strong, elsewhere]


def test_slots_of_one_type_are_arranged_in_every_order_that_agrees() -> None:
    memo = memo_of(
        "QUERY q PATTERN AND(A a, A b, B c) WITHIN 9 s; QUERY r PATTERN SEQ(A a, A b, B c) WITHIN 9 s;"
    )
    both = [arrangements(memo.pieces[number]) for number in memo.cores()]
    assert [len(found) for found in both] == [2, 1]


def test_too_many_arrangements_are_none() -> None:
    memo = memo_of("QUERY q PATTERN AND(A a, A b, A c, A d, A e) WITHIN 9 s;")
    (number,) = memo.cores()
    assert arrangements(memo.pieces[number]) == []
    assert Held.of(number, memo.pieces[number]) is None


def test_claims_do_not_depend_on_the_window() -> None:
    memo = memo_of("QUERY q PATTERN SEQ(A, B) WITHIN 9 s; QUERY r PATTERN SEQ(A, B) WITHIN 8 s;")
    one, other = (memo.pieces[number] for number in memo.cores())
    assert claims(one, (0, 1)) == claims(other, (0, 1))
    (shelf,) = alike(memo)
    assert [weaker.source.window for _, weaker in shelf.weaker_than(1)] == [9_000_000]
    assert list(shelf.weaker_than(0)) == []


def test_of_two_that_say_the_same_only_one_serves_the_other() -> None:
    memo = memo_of(
        "QUERY q PATTERN SEQ(A a, B b) WHERE a.x = 5 AND a.x > 3 WITHIN 9 s;"
        "QUERY r PATTERN SEQ(A a, B b) WHERE a.x = 5 WITHIN 9 s;"
    )
    (shelf,) = alike(memo)
    served = [bool(list(shelf.weaker_than(place))) for place in range(2)]
    assert served == [False, True]
