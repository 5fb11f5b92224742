"""Python words and text give equal syntax."""

from datetime import UTC, datetime, timedelta

import pytest

from stretto.errors import QueryError
from stretto.text import syntax
from stretto.text.build import AND, ANY, EVERYTHING, NOT, OR, SEQ, E, query
from stretto.text.parser import parse, parse_expression, parse_pattern
from stretto.text.terms import call

a, b, d = E("BigBuy", "a"), E("Sell", "b"), E("Buy", "d")

PATTERNS = {
    "BigBuy a": a,
    "Sell": E("Sell"),
    "SEQ(BigBuy a, Sell b, Buy d+)": SEQ(a, b, d.plus()),
    "AND(BigBuy a, NOT(Sell b))": AND(a, NOT(b)),
    "OR(BigBuy a, Sell b)": OR(a, b),
    "ANY(BigBuy a*, Sell b?)": ANY(a.star(), b.optional()),
    "SEQ(BigBuy a, Sell b){2,5}": SEQ(a, b).times(2, 5),
    "Buy d{3}": d.times(3),
    "Buy d{2,}": d.times(2, None),
    "SEQ(SEQ(BigBuy a)+)": SEQ(SEQ(a).plus()),
}
EXPRESSIONS = {
    "a.price < b.price": a.price < b.price,
    'a."odd name" = 1': a["odd name"] == 1,
    "a.plus != 'x'": a["plus"] != "x",
    "sell.x >= 1.5": E("Sell").x >= 1.5,
    "d[i].price > d[i-1].price": d.i.price > d.prev.price,
    'LAST(d).price - FIRST(d)."x y"': d.last.price - d.first["x y"],
    "COUNT(d) > 3": d.count() > 3,
    "SUM(d.x) + AVG(d.x) * MIN(d.x) / MAX(d.x)": d.sum("x") + d.avg("x") * d.min("x") / d.max("x"),
    "(a.x + 1) % 2 = 0": (a.x + 1) % 2 == 0,
    "1 - a.x <= -3": 1 - a.x <= -3,
    "-a.x * 2 = 2 * a.y": -a.x * 2 == 2 * a.y,
    "a.x > 1 AND a.y > 2 AND a.z > 3": (a.x > 1) & (a.y > 2) & (a.z > 3),
    "a.x > 1 AND (a.y > 2 OR NOT a.z > 3)": (a.x > 1) & ((a.y > 2) | ~(a.z > 3)),
    "a.x IN (1, 2) AND a.s NOT IN ('x')": a.x.is_in(1, 2) & a.s.not_in(["x"]),
    "a.x BETWEEN 1 AND b.x": a.x.between(1, b.x),
    "a.x NOT BETWEEN 1 AND 2": a.x.not_between(1, 2),
    "a.x IS NULL OR b.x IS NOT NULL": a.x.is_null() | b.x.is_not_null(),
    "b.ts - a.ts <= 5 MINUTES": b.ts - a.ts <= timedelta(minutes=5),
    "a.ts > TIMESTAMP '2013-10-07 09:30:00'": a.ts > datetime(2013, 10, 7, 9, 30, tzinfo=UTC),
    "a.flag = TRUE": a.flag == True,  # noqa: E712 - it makes a term
    "ABS(a.x) < SQRT(2)": abs(a.x) < call("sqrt", 2),
    "GEO_DISTANCE(a.lat, a.lon, b.lat, b.lon) < 100": call("GEO_DISTANCE", a.lat, a.lon, b.lat, b.lon) < 100,
    "COUNT(*)": call("COUNT", EVERYTHING),
}


@pytest.mark.parametrize("text", PATTERNS)
def test_pattern(text: str) -> None:
    assert PATTERNS[text].pattern == parse_pattern(text)


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expression(text: str) -> None:
    assert EXPRESSIONS[text].expression == parse_expression(text)


def test_query_equals_its_text() -> None:
    built = (
        query("q1", SEQ(a, b, d.plus()))
        .where(a.price < b.price, (d.i.price > d.prev.price) & (a.x > 1))
        .where("a.y > 2 AND (b.y > 3 OR b.y < 1)")
        .same("symbol")
        .within("10 minutes")
        .select("next")
        .returning(symbol=a.symbol, gain=d.last.price - a.price)
        .build()
    )
    (parsed,) = parse("""
        QUERY q1 PATTERN SEQ(BigBuy a, Sell b, Buy d+)
        WHERE a.price < b.price AND d[i].price > d[i-1].price AND a.x > 1
          AND a.y > 2 AND (b.y > 3 OR b.y < 1) AND [symbol]
        WITHIN 10 MINUTES SELECT NEXT RETURN a.symbol AS symbol, LAST(d).price - a.price AS gain;""")
    assert built == parsed
    assert len(built.where) == 6


def test_trend_query_equals_its_text() -> None:
    built = query("t", d.plus()).within(timedelta(hours=1)).slide("5 min").group_by("k")
    built = built.returning("COUNT(*)", d.sum("x")).build()
    (parsed,) = parse("QUERY t PATTERN Buy d+ WITHIN 1 h SLIDE 5 min GROUP BY k RETURN COUNT(*), SUM(d.x);")
    assert built == parsed


def test_a_builder_is_never_changed() -> None:
    first = query("q", a).within_events(100)
    first.where(a.x > 1).select("STRICT")
    assert first.build() == syntax.Query("q", a.pattern, syntax.Within(100, "events"))


def test_a_repeated_event_still_has_attributes() -> None:
    assert (d.plus().i.x > 1).expression == (d.i.x > 1).expression


@pytest.mark.parametrize(
    "misuse",
    [
        lambda: a.x < b.x < d.x,
        lambda: bool(a.x == 1),
        lambda: (a.x > 1) and (b.x > 1),
        lambda: not a.x,
        lambda: list(a.x),
        lambda: {a.x},
        lambda: a.x + object(),
        lambda: SEQ("A a"),
    ],
)
def test_misuse_is_a_type_error(misuse) -> None:
    with pytest.raises(TypeError):
        misuse()


@pytest.mark.parametrize(
    "mistake",
    [
        query("q", a).build,
        lambda: query("q", a).within("0 s"),
        lambda: query("q", a).within("ten minutes"),
        lambda: query("q", a).within(timedelta(seconds=-1)),
        lambda: query("q", a).within_events(0),
        lambda: query("q", a).select("SOME"),
        lambda: query("q", a).where("a.x >"),
        lambda: query("", a),
        lambda: E(""),
        SEQ,
        lambda: a.times(0),
        lambda: a.times(3, 2),
        lambda: a.x > 2**63,
        lambda: a.x > float("inf"),
        a.x.is_in,
    ],
)
def test_mistakes_are_query_errors(mistake) -> None:
    with pytest.raises(QueryError):
        mistake()
