"""The grammar as tables: what each spelling means."""

import pytest

from stretto.errors import QueryError, Span
from stretto.text import syntax as s
from stretto.text.parser import parse, parse_duration, parse_expression, parse_partial, parse_pattern

A, B, C = s.Atom("A", "a"), s.Atom("B", "b"), s.Atom("C", "c")


def combine(word, *parts):
    return s.Combine(word, parts)


def plus(part):
    return s.Repeat(part, 1, None)


PATTERNS = {
    "A a": A,
    "A": s.Atom("A"),
    "SEQ(A a, B b)": combine("SEQ", A, B),
    "seq(A a)": combine("SEQ", A),
    "AND(A a, B b)": combine("AND", A, B),
    "CONJ(A a, B b)": combine("AND", A, B),
    "CONJ(A a & B b)": combine("AND", combine("AND", A, B)),
    "OR(A a, B b)": combine("OR", A, B),
    "ANY(A a, B b)": combine("ANY", A, B),
    "DISJ(A a, B b)": combine("ANY", A, B),
    "A a, B b": combine("SEQ", A, B),
    "A a & B b & C c": combine("AND", A, B, C),
    "A a | B b": combine("ANY", A, B),
    "A a, B b & C c": combine("SEQ", A, combine("AND", B, C)),
    "A a | B b & C c": combine("ANY", A, combine("AND", B, C)),
    "A a, B b | C c": combine("SEQ", A, combine("ANY", B, C)),
    "(A a, B b) & C c": combine("AND", combine("SEQ", A, B), C),
    "SEQ(A a, (B b, C c))": combine("SEQ", A, combine("SEQ", B, C)),
    "SEQ(A a | B b, C c)": combine("SEQ", combine("ANY", A, B), C),
    "NOT(A a)": s.Not(A),
    "NEG(A a)": s.Not(A),
    "!A a": s.Not(A),
    "!A a & B b": combine("AND", s.Not(A), B),
    "!A a+": s.Not(plus(A)),
    "KL(A a)": plus(A),
    "KL(SEQ(A a, B b))": plus(combine("SEQ", A, B)),
    "A a+": plus(A),
    "A+ a": plus(A),
    "A+": plus(s.Atom("A")),
    "A{2,3} a": s.Repeat(A, 2, 3),
    "A a*": s.Repeat(A, 0, None),
    "A a?": s.Repeat(A, 0, 1),
    "A a{3}": s.Repeat(A, 3, 3),
    "A a{2,}": s.Repeat(A, 2, None),
    "A a{2,3}": s.Repeat(A, 2, 3),
    "A a{,3}": s.Repeat(A, 0, 3),
    "A a+?": s.Repeat(plus(A), 0, 1),
    "SEQ(A a, B b+)+": plus(combine("SEQ", A, plus(B))),
    "(A a, B b){2}": s.Repeat(combine("SEQ", A, B), 2, 2),
    "((((A a))))": A,
    '"odd type" "odd var"': s.Atom("odd type", "odd var"),
    "SEQ(seq and, Where w, Group g)": combine(
        "SEQ", s.Atom("seq", "and"), s.Atom("Where", "w"), s.Atom("Group", "g")
    ),
    "Min min": s.Atom("Min", "min"),
}


@pytest.mark.parametrize("text", PATTERNS)
def test_pattern(text: str) -> None:
    assert parse_pattern(text) == PATTERNS[text]
    (query,) = parse(f"QUERY q PATTERN {text} WITHIN 1 s;")
    assert query.pattern == PATTERNS[text]


def name(text: str) -> s.Name:
    variable, _, attribute = text.rpartition(".")
    return s.Name(attribute, variable or None)


def lit(value):
    return s.Literal(value)


def binary(left, op, right):
    return s.Binary(op, left, right)


X, Y = name("a.x"), name("b.y")
EXPRESSIONS = {
    "1": lit(1),
    "-1": lit(-1),
    "- 1": lit(-1),
    "1.5": lit(1.5),
    "1e3": lit(1000.0),
    ".5": lit(0.5),
    "-9223372036854775808": lit(-(2**63)),
    "'it''s'": lit("it's"),
    "''": lit(""),
    "true": lit(True),
    "FALSE": lit(False),
    "Null": lit(None),
    "a.x": X,
    "x": name("x"),
    '"a b"."c ""d"""': s.Name('c "d"', "a b"),
    "d[i].x": s.Name("x", "d", "i"),
    "d[i-1].x": s.Name("x", "d", "i-1"),
    "d[ i - 1 ].x": s.Name("x", "d", "i-1"),
    "a.select": name("a.select"),
    "where.x": name("where.x"),
    "and[i].or": s.Name("or", "and", "i"),
    "in.x = 1": binary(name("in.x"), "=", lit(1)),
    "d.s < 5 s": binary(name("d.s"), "<", s.Duration(5 * 10**6)),
    "s.d": name("s.d"),
    "min.h": name("min.h"),
    "5 d": s.Duration(5 * 86400 * 10**6),
    "1.5 MINUTES": s.Duration(90 * 10**6),
    "10ms": s.Duration(10000),
    "-2 Hours": s.Duration(-7200 * 10**6),
    "1e3 us": s.Duration(1000),
    "TIMESTAMP '1970-01-01 00:00:01'": s.Timestamp(10**6),
    "TIMESTAMP '1970-01-02'": s.Timestamp(86400 * 10**6),
    "timestamp '1970-01-01T01:00:00.5+01:00'": s.Timestamp(500_000),
    "timestamp > 5": binary(name("timestamp"), ">", lit(5)),
    "a.x + b.y * 2": binary(X, "+", binary(Y, "*", lit(2))),
    "a.x - b.y - 2": binary(binary(X, "-", Y), "-", lit(2)),
    "a.x -2": binary(X, "-", lit(2)),
    "(a.x) -2": binary(X, "-", lit(2)),
    "a.x - -2": binary(X, "-", lit(-2)),
    "-a.x": s.Unary("-", X),
    "-(1)": s.Unary("-", lit(1)),
    "a.x = b.y": binary(X, "=", Y),
    "a.x == b.y": binary(X, "=", Y),
    "a.x != b.y": binary(X, "!=", Y),
    "a.x <> b.y": binary(X, "!=", Y),
    "NOT a.x = b.y": s.Unary("NOT", binary(X, "=", Y)),
    "a.x AND b.y AND 1": s.Logic("AND", (X, Y, lit(1))),
    "(a.x AND b.y) AND 1": s.Logic("AND", (X, Y, lit(1))),
    "a.x OR b.y AND 1": s.Logic("OR", (X, s.Logic("AND", (Y, lit(1))))),
    "a.x IN (1, 'b')": s.In(X, (lit(1), lit("b"))),
    "a.x not in (1)": s.In(X, (lit(1),), negated=True),
    "a.x BETWEEN 1 AND 2 AND b.y": s.Logic("AND", (s.Between(X, lit(1), lit(2)), Y)),
    "a.x NOT BETWEEN 1 AND 2": s.Between(X, lit(1), lit(2), negated=True),
    "a.x IS NULL": s.IsNull(X),
    "a.x IS NOT NULL": s.IsNull(X, negated=True),
    "abs(a.x)": s.Call("ABS", (X,)),
    "COUNT(*)": s.Call("COUNT", (s.Star(),)),
    "now()": s.Call("NOW", ()),
    "FIRST(d).x": s.Call("FIRST", (name("d"),), "x"),
    "first.x": name("first.x"),
    "[driver]": s.Same("driver"),
    "[a, b]": s.Logic("AND", (s.Same("a"), s.Same("b"))),
    "[a, b] AND a.x": s.Logic("AND", (s.Same("a"), s.Same("b"), X)),
    "a.x AND [i]": s.Logic("AND", (X, s.Same("i"))),
    "NOT [select]": s.Unary("NOT", s.Same("select")),
    "type = events": binary(name("type"), "=", name("events")),
    "a.x -- a comment\n > 1": binary(X, ">", lit(1)),
}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expression(text: str) -> None:
    assert parse_expression(text) == EXPRESSIONS[text]
    (query,) = parse(f"QUERY q PATTERN A a WITHIN 1 s RETURN {text} AS within;")
    assert query.returning == (s.Item(EXPRESSIONS[text], "within"),)


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("10 minutes", 600 * 10**6),
        ("500ms", 500_000),
        ("1 Day", 86400 * 10**6),
        ("0 s", 0),
        ("10 MICROSECOND", 10),
        ("2 h", 7200 * 10**6),
        ("1.5 min", 90 * 10**6),
        ("1 hour", 3600 * 10**6),
        ("3 milliseconds", 3000),
        ("7 us", 7),
    ],
)
def test_duration(text: str, us: int) -> None:
    assert parse_duration(text) == us


@pytest.mark.parametrize(
    "text",
    [
        "",
        "10",
        "minutes",
        "10 parsecs",
        "1e30 days",
        "0.5 us",
        "1e999999999 s",
        "1e-99999999999999999999 s",
        "1e99999999999999999999 d",
        "10 s;",
        "1 s 2 s",
        "'10 s'",
    ],
)
def test_no_duration(text: str) -> None:
    with pytest.raises(QueryError):
        parse_duration(text)


def test_clauses_in_any_order() -> None:
    first, second = parse(
        "QUERY q PATTERN A a WHERE a.x > 1 WITHIN 5 s SLIDE 1 s SELECT next RETURN COUNT(*) GROUP BY k, a.m;"
        "query q pattern A a group by k, a.m return COUNT(*) select NEXT within 5 s slide 1 s where a.x > 1"
    )
    assert first == second
    assert first.select == "NEXT"
    assert first.slide == s.Duration(10**6)
    assert first.group_by == (s.Name("k"), s.Name("m", "a"))


def test_where_is_a_list_of_terms() -> None:
    (query,) = parse(
        "QUERY q PATTERN A a WHERE [k] AND (a.x > 1 AND (a.y > 2 OR a.z > 3)) WITHIN 100 EVENTS;"
    )
    assert len(query.where) == 3
    assert query.within == s.Within(100, "events")


def test_streams() -> None:
    text = """CREATE EVENT e AS SELECT * FROM t WHERE x > 1;
    create stream p as select pid, AVG(load) AS load from cpu where pid > 1 group by pid within 60 SECONDS;
    CREATE STREAM j AS SELECT a.x, b.y FROM s1 a JOIN s2 b ON a.k = b.k AND a.m = b.m WITHIN 5 s WHERE a.x > 1;
    CREATE STREAM k AS SELECT * FROM s1"""
    event, grouped, joined, plain = parse(text)
    over = binary(name("x"), ">", lit(1))
    assert event == s.CreateEvent("e", "t", (over,))
    assert grouped.group_by == (s.Name("pid"),)
    assert grouped.within == s.Within(60 * 10**6)
    assert joined.sources == (s.Source("s1", "a"), s.Source("s2", "b"))
    assert len(joined.on) == 2
    assert plain.items == (s.Item(s.Star()),)


@pytest.mark.parametrize("text", ["", "  ", ";;", "-- nothing\n", "\ufeff"])
def test_nothing(text: str) -> None:
    assert parse(text) == ()


def test_keywords_as_names() -> None:
    text = (
        "QUERY query PATTERN SEQ(Where where, Select select+, within) "
        "WHERE where.from = select[i].pattern AND group = 3 AND [return] AND within.x > 1 "
        "WITHIN 1 s RETURN where.x AS select;"
    )
    (query,) = parse(text)
    assert query.name == "query"
    assert query.pattern.parts[2] == s.Atom("within")
    assert len(query.where) == 4


def test_spans() -> None:
    text = "QUERY q\nPATTERN SEQ(A a,\n  B b)\nWHERE a.x <\n  b.y\nWITHIN 5 s;"
    (query,) = parse(text)
    assert query.span == Span(1, 1, 6, 11)
    assert query.name_span == Span(1, 7, 1, 8)
    assert query.pattern.span == Span(2, 9, 3, 7)
    assert query.pattern.parts[1].span == Span(3, 3, 3, 6)
    assert query.where[0].span == Span(4, 7, 5, 6)
    assert query.within.span == Span(6, 8, 6, 11)


PARTIAL = """
CREATE EVENT e AS SELECT * FROM t WHERE x >;
CREATE STREAM broken AS SELECT x + FROM t;
CREATE STREAM after AS SELECT * FROM broken;
QUERY fine PATTERN e a WITHIN 5 s;
QUERY where PATTERN e a WHERE a.x > WITHIN 5 s;
QUERY lost PATTERN e a WITHIN;
QUERY reader PATTERN SEQ(e a, after b) WITHIN 5 s;
"""


def test_partial_keeps_what_can_be_judged() -> None:
    statements, mistakes, unread = parse_partial(PARTIAL)
    assert [statement.name for statement in statements] == ["e", "after", "fine", "where", "reader"]
    assert unread == {"broken", "lost"}
    assert [mistake.at.line for mistake in mistakes] == [2, 3, 6, 7]
