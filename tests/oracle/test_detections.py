"""The oracle itself: queries built by hand, values of expressions, and relations between queries that must hold."""

import math
from dataclasses import replace
from itertools import permutations
from random import Random

import pytest
from tests.support.comparison import assert_same_matches
from tests.support.random_events import SCHEMA, random_events
from tests.support.strategies import random_workload

from stretto.oracle.detections import Event, Match, matches
from stretto.oracle.values import evaluate
from stretto.pattern.functions import register_function
from stretto.pattern.nodes import Atom, Combine, Not, Policy, Query, Repeat, Return, Stream, Variable, Window
from stretto.pattern.predicates import Apply, Const, Expr, Reduce, Ref, Value, Which
from stretto.pattern.workload import Workload
from stretto.schema import Kind

A, B, N = Stream("A"), Stream("B"), Stream("N")


def _events(*written: tuple[str, int]) -> list[Event]:
    return [Event(10 + i, ts, kind, {"x": float(i)}) for i, (kind, ts) in enumerate(written)]


def test_a_query_built_by_hand() -> None:
    pattern = Combine("SEQ", (Atom(0, A), Not(Atom(1, N)), Repeat(Atom(2, B), 1, None)))
    variables = (Variable("a"), Variable("n", negated=True), Variable("b", kleene=True))
    rising = Apply(
        ">", tuple(Ref(2, "x", Kind.FLOAT, which) for which in (Which.CURRENT, Which.PREVIOUS)), Kind.BOOL
    )
    total = Return("total", Reduce("SUM", 2, "x", Kind.FLOAT), Kind.FLOAT)
    query = Query("q", pattern, variables, (rising,), (), Window(10), returns=(total,))
    found = matches(query, _events(("A", 1), ("N", 2), ("A", 3), ("B", 4), ("B", 5)))
    expected = [
        Match(3, 4, 4, {"a": (12,), "b": (13,)}, {"total": 3.0}),
        Match(3, 5, 5, {"a": (12,), "b": (14,)}, {"total": 4.0}),
        Match(3, 5, 5, {"a": (12,), "b": (13, 14)}, {"total": 7.0}),
    ]
    assert_same_matches(found, expected)


INT, FLOAT, BOOL = Kind.INT, Kind.FLOAT, Kind.BOOL
BIG, NAN, INF = 2**63 - 1, math.nan, math.inf
VALUES: list[tuple[str, tuple[Value, ...], Kind, Value]] = [
    ("+", (BIG, 1), INT, None),
    ("+", (BIG, 0), INT, BIG),
    ("-", (-BIG, 2), INT, None),
    ("*", (2**32, 2**31), INT, None),
    ("*", (-(2**32), 2**31), INT, -(2**63)),
    ("neg", (-(2**63),), INT, None),
    ("abs", (-(2**63),), INT, None),
    ("+", (1e308, 1e308), FLOAT, INF),
    ("-", (INF, INF), FLOAT, NAN),
    ("/", (1.0, 0.0), FLOAT, None),
    ("/", (1.0, -0.0), FLOAT, None),
    ("/", (7, 2), FLOAT, 3.5),
    ("%", (-7, 3), INT, -1),
    ("%", (7, -3), INT, 1),
    ("%", (7, 0), INT, None),
    ("%", (-(2**63), -1), INT, 0),
    ("%", (-7.5, 2.0), FLOAT, -1.5),
    ("%", (INF, 2.0), FLOAT, NAN),
    ("%", (2.0, INF), FLOAT, 2.0),
    ("=", (NAN, NAN), BOOL, False),
    ("!=", (NAN, NAN), BOOL, True),
    ("!=", (None, 1), BOOL, None),
    ("<", ("Z", "a"), BOOL, True),
    ("<", ("\uffff", "𝄞"), BOOL, True),
    ("and", (False, None), BOOL, False),
    ("and", (True, None), BOOL, None),
    ("or", (True, None), BOOL, True),
    ("or", (False, None), BOOL, None),
    ("not", (None,), BOOL, None),
    ("in", (1, 2, 1), BOOL, True),
    ("in", (1, 2, 3), BOOL, False),
    ("in", (None, 2, 3), BOOL, None),
    ("in", (NAN, NAN), BOOL, False),
    ("is_null", (None,), BOOL, True),
    ("is_null", (NAN,), BOOL, False),
    ("to_float", (2**53 + 1,), FLOAT, 2.0**53),
    ("sqrt", (-1.0,), FLOAT, NAN),
    ("sqrt", (9.0,), FLOAT, 3.0),
    ("floor", (-1.5,), FLOAT, -2.0),
    ("ceil", (INF,), FLOAT, INF),
    ("least", (3, 1, 2), INT, 1),
    ("least", (1.0, NAN), FLOAT, NAN),
    ("greatest", (NAN, None), FLOAT, None),
    ("user:TWICE_PLUS", (2.0, 1.0), FLOAT, 5.0),
    ("user:TWICE_PLUS", (2.0, None), FLOAT, None),
]


@pytest.mark.parametrize(("op", "arguments", "kind", "expected"), VALUES)
def test_values(op: str, arguments: tuple[Value, ...], kind: Kind, expected: Value) -> None:
    register_function("twice_plus", lambda one, two: 2 * one + two, [Kind.FLOAT, Kind.FLOAT], Kind.FLOAT)
    found = evaluate(Apply(op, tuple(Const(value, kind) for value in arguments), kind), {}, {})
    assert repr(found) == repr(expected)


SETS: list[tuple[str, list[Value], Value]] = [
    ("SUM", [], None),
    ("SUM", [None, None], None),
    ("SUM", [1, None, 2], 3),
    ("SUM", [BIG, 1], None),
    ("SUM", [BIG, 1, -1], BIG),
    ("SUM", [0.1, 0.2, 0.3], 0.1 + 0.2 + 0.3),
    ("SUM", [1e308, 1e308, -1e308], INF),
    ("AVG", [1, None, 2], 1.5),
    ("AVG", [2**53 + 1, 0], 2.0**52),
    ("AVG", [1.0, NAN], NAN),
    ("MIN", [3, None, 1], 1),
    ("MAX", [1.0, NAN, 2.0], NAN),
    ("COUNT", [1, None], 2),
]


@pytest.mark.parametrize(("function", "values", "expected"), SETS)
def test_sets(function: str, values: list[Value], expected: Value) -> None:
    events = [Event(i, i, "A", {"x": value}) for i, value in enumerate(values)]
    expr: Expr = Reduce(function, 0, "" if function == "COUNT" else "x", Kind.FLOAT)
    assert repr(evaluate(expr, {0: events}, {})) == repr(expected)


def _queries(text: str) -> dict[str, Query]:
    return {query.name: query for query in Workload.parse(text).bind(SCHEMA).detections}


@pytest.mark.parametrize("seed", range(20))
def test_a_sequence_is_what_all_orders_of_events_give(seed: int) -> None:
    """A second, smaller statement of SEQ with terms: try every triple."""
    events = random_events(Random(seed))
    query = _queries("QUERY q PATTERN SEQ(A p, B q, A r) WHERE p.n < r.n AND q.k != p.k WITHIN 6 us;")["q"]
    found = [tuple(match.events[name][0] for name in "pqr") for match in matches(query, events)]
    expected = [
        (one.id, two.id, three.id)
        for one, two, three in permutations(events, 3)
        if (one.type, two.type, three.type) == ("A", "B", "A")
        and one.ts < two.ts < three.ts <= one.ts + 6
        and None not in (one.attributes["n"], three.attributes["n"], one.attributes["k"], two.attributes["k"])
        and one.attributes["n"] < three.attributes["n"]
        and one.attributes["k"] != two.attributes["k"]
    ]
    assert sorted(found) == sorted(expected)


LAWS = {
    "OR is a union": ("OR(SEQ(A p, B q), C r)", ["SEQ(A p, B q)", "C r"]),
    "ANY is a union of conjunctions": ("ANY(A p, B q)", ["A p", "B q", "AND(A p, B q)"]),
    "an optional part is there or not": ("SEQ(A p, B q?, C r)", ["SEQ(A p, C r)", "SEQ(A p, B q, C r)"]),
    "bounds add up": ("B p{1,3}", ["B p", "B p{2}", "B p{3}"]),
    "a star is nothing or a plus": ("SEQ(A p, B q*)", ["A p", "SEQ(A p, B q+)"]),
    "SEQ is associative": ("SEQ(A p, SEQ(B q, C r))", ["SEQ(SEQ(A p, B q), C r)"]),
    "a set may be bracketed": ("SEQ(A p, B q)+", ["SEQ(A p, B q)", "SEQ(A p, B q){2,}"]),
}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("law", LAWS)
def test_laws(law: str, seed: int) -> None:
    whole, parts = LAWS[law]
    texts = [f"QUERY q{i} PATTERN {part} WITHIN 5 us;" for i, part in enumerate([whole, *parts])]
    events = random_events(Random(seed))
    found = {name: matches(query, events) for name, query in _queries("\n".join(texts)).items()}
    assert_same_matches(found["q0"], [match for name in list(found)[1:] for match in found[name]], about=law)


@pytest.mark.parametrize("seed", range(60))
def test_policies_only_choose_among_all_matches(seed: int) -> None:
    sample = random_workload(Random(seed))
    for query in Workload.parse(sample.text).bind(sample.schema).detections:
        if query.policy is not Policy.ANY:
            every = {_bound(match) for match in matches(replace(query, policy=Policy.ANY), sample.events)}
            assert {_bound(match) for match in matches(query, sample.events)} <= every


def _bound(match: Match) -> tuple[object, ...]:
    return tuple(sorted(match.events.items())), match.detected
