"""The normal form, as text; that it means the same is judged in test_normal_oracle."""

import pytest

from stretto.errors import QueryError
from stretto.pattern.describe import piece_text
from stretto.pattern.normal import normalize
from stretto.pattern.piece import Detection
from stretto.pattern.predicates import Const, Reduce, Ref
from stretto.pattern.workload import Workload
from stretto.schema import Kind, Schema

SCHEMA = Schema({"x": Kind.FLOAT, "n": Kind.INT, "k": Kind.INT}, frozenset("ABCDN"))


def normal(pattern: str, where: str = "", rest: str = "") -> Detection:
    text = f"QUERY q PATTERN {pattern} {'WHERE ' + where if where else ''} WITHIN 9 s {rest};"
    (query,) = Workload.parse(text).bind(SCHEMA).detections
    return normalize(query)


def texts(pattern: str, where: str = "", rest: str = "") -> list[str]:
    found = normal(pattern, where, rest)
    return [piece_text(branch.piece).removesuffix(" within 9s") for branch in found.branches]


@pytest.mark.parametrize(
    ("pattern", "where", "expected"),
    [
        ("SEQ(A a, SEQ(B b, C c))", "", ["SEQ(A, B, C)"]),
        ("AND(SEQ(A a, B b), C c)", "", ["AND(SEQ(A, B), C)"]),
        ("SEQ(OR(A a, B b), C c)", "a.x < c.x", ["SEQ(A, C) where 0.x < 1.x", "SEQ(B, C)"]),
        ("ANY(A a, B b)", "", ["AND(A, B)", "A", "B"]),
        ("SEQ(A a?, B b*)", "", ["SEQ(A, B+)", "A", "B+"]),
        ("SEQ(A a, B b{2,3})", "b.x > 1 AND COUNT(b) > 2", ["SEQ(A, B[x > 1]{2,3}) where COUNT(1) > 2"]),
        ("SEQ(A a, B b?)", "a.x < b.x", ["SEQ(A, B) where 0.x < 1.x", "A"]),
        ("SEQ(A a, SEQ(B b, C c)+)", "b.x < c.x", ["SEQ(A, (SEQ(B, C) where 0.x < 1.x)+)"]),
        ("SEQ(A a, SEQ(B b, C c)+)", "a.x < c.x", ["SEQ(A, SEQ(B, C)+) where 0.x < 2.x"]),
        ("SEQ(A a, SEQ(B b, C c)?)", "b.x < c.x", ["SEQ(A, B, C) where 1.x < 2.x", "A"]),
        ("(OR(A a, B b?)){2,3}", "a.x > 1", ["(A[x > 1] | B){1,3}"]),
        ("A a", "LAST(a).x > 1 AND COUNT(a) = 1", ["A[x > 1]"]),
        ("A a", "COUNT(a) = 2", ["A[1 = 2]"]),
        ("A a", "1 < 2", ["A"]),
    ],
)
def test_branches(pattern: str, where: str, expected: list[str]) -> None:
    assert texts(pattern, where) == expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("SEQ(A a, NOT(N n), C c)", ["SEQ(A, C) without N between 0 and 1"]),
        ("SEQ(NOT(N n), A a, C c)", ["SEQ(A, C) without N before 0"]),
        ("SEQ(A a, C c, NOT(N n))", ["SEQ(A, C) without N after 1"]),
        ("AND(A a, C c, NOT(N n))", ["AND(A, C) without N anywhere"]),
        ("SEQ(AND(A a, B b), NOT(N n), C c)", ["SEQ(AND(A, B), C) without N between 0,1 and 2"]),
        ("SEQ(SEQ(A a, B b), NOT(N n), C c)", ["SEQ(A, B, C) without N between 1 and 2"]),
        (
            "SEQ(A a, B b?, NOT(N n), C c)",
            ["SEQ(A, B, C) without N between 1 and 2", "SEQ(A, C) without N between 0 and 1"],
        ),
        ("SEQ(A a?, NOT(N n), C c)", ["SEQ(A, C) without N between 0 and 1", "C without N before 0"]),
        ("SEQ(A a, SEQ(B b?, NOT(N n)))", ["SEQ(A, B) without N after 1", "A"]),
    ],
)
def test_negations(pattern: str, expected: list[str]) -> None:
    assert texts(pattern) == expected


def test_terms_of_negations() -> None:
    found = texts("SEQ(A a, NOT(N n), B b?)", "n.x > 1 AND n.x < a.x AND n.n = b.n")
    assert found == [
        "SEQ(A, B) without N[x > 1] between 0 and 1 where it.x < 0.x AND it.n = 1.n",
        "A without N[x > 1] after 0 where it.x < 0.x",
    ]


def test_strict_counts_positions() -> None:
    assert texts("SEQ(A a, B b+)", "", "SELECT STRICT") == [
        "SEQ(A, B+) where FIRST(1).@position = 0.@position + 1 AND 1[i].@position = 1[i-1].@position + 1"
    ]
    assert texts("SEQ(A a, B b)", "[n] AND [k]", "SELECT STRICT") == [
        "SEQ(A, B) where 1.@position(k,n) = 0.@position(k,n) + 1 AND [k] AND [n]"
    ]


def test_next_reaches_over_steps_that_may_be_left_out() -> None:
    (text,) = (
        piece_text(branch.piece)
        for branch in normal("SEQ(A a, B b*, NOT(N n), C c)", "b.x > a.x AND b.x > 1", "SELECT NEXT").branches
    )
    assert text == "SEQ(A, B[x > 1]*, C) where 1.x > 0.x without N between 0,1 and 2 within 9s select NEXT"


@pytest.mark.parametrize(
    ("pattern", "ambiguous"),
    [
        ("SEQ(A a, B b+)", False),
        ("OR(A a, B b)", False),
        ("OR(A a, B a)", True),
        ("SEQ(A a, B b)+", False),
        ("AND(A a, B b+)+", True),
        ("OR(A a, B b)+", True),
        ("SEQ(A a, B b?)", False),
        ("ANY(A a, B b, C c)", False),
    ],
)
def test_ambiguous(pattern: str, ambiguous: bool) -> None:
    assert normal(pattern).ambiguous is ambiguous


def test_lists_and_returned_values() -> None:
    found = normal(
        "SEQ(A a, B b+, NOT(N n), C c?, SEQ(D d)?)",
        "",
        "RETURN COUNT(a) AS p, COUNT(c) AS q, LAST(c).x AS r, SUM(b.x) AS s, AVG(c.n) AS t",
    )
    assert (found.variables, found.kleene) == (("a", "b", "c", "d"), (False, True, False, False))
    assert [item.value for item in found.returns][:4] == [
        Const(1, Kind.INT),
        Reduce("COUNT", 2, "", Kind.INT),
        Ref(2, "x", Kind.FLOAT),
        Reduce("SUM", 1, "x", Kind.FLOAT),
    ]


@pytest.mark.parametrize(
    ("pattern", "where", "rest", "reason"),
    [
        (
            "SEQ(SEQ(A a, B b)+, C c+)",
            "a.x < b.x + c.x",
            "",
            "each repetition of a group with another repeated",
        ),
        (
            "SEQ(SEQ(A a, B b+)+, C c+)",
            "SUM(b.x) < c.x",
            "",
            "each repetition of a group with another repeated",
        ),
        ("SEQ(SEQ(A a, B b)+, NOT(N n))", "a.x < b.x + n.x", "", "with a forbidden event"),
        ("SEQ(SEQ(A a, SEQ(B b, C c)+)+, D d)", "b.x < c.x + d.x", "", "of a group in a group"),
        (f"ANY({', '.join(f'A a{i}' for i in range(13))})", "", "", "more than 4,096 alternatives"),
    ],
)
def test_not_plannable(pattern: str, where: str, rest: str, reason: str) -> None:
    with pytest.raises(QueryError, match=reason) as refused:
        normal(pattern, where, rest)
    assert "not supported yet" in str(refused.value)
    assert refused.value.mistakes[0].at is not None
