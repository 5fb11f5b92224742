"""Deep, long and wild texts: an answer or a QueryError, soon, and nothing else."""

import json as standard_json
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.errors import QueryError
from stretto.text import json
from stretto.text.parser import parse, parse_expression, parse_partial, parse_pattern
from stretto.text.printer import expression_text, pattern_text, to_text
from stretto.text.walk import MAX_DEPTH


@pytest.fixture
def deep_equality():
    """Comparing two deep trees is recursive, as for any nested dataclass; only the tests do it."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    yield
    sys.setrecursionlimit(before)


DEEP_EXPRESSIONS = {
    "parentheses": lambda n: "(" * n + "a.x" + ")" * n,
    "calls": lambda n: "ABS(" * n + "a.x" + ")" * n,
    "not": lambda n: "NOT " * n + "a.x",
    "minus": lambda n: "- " * n + "a.x",
    "sum": lambda n: "a.x" + " + 1" * n,
    "right sum": lambda n: "1 + (" * n + "a.x" + ")" * n,
    "logic": lambda n: "(a.x AND (a.y OR " * (n // 2) + "a.z" + "))" * (n // 2),
}
DEEP_PATTERNS = {
    "groups": lambda n: "SEQ(" * n + "A a" + ")" * n,
    "parentheses": lambda n: "(" * n + "A a" + ")" * n,
    "nested": lambda n: "AND(B, SEQ(" * (n // 2) + "A a" + "))" * (n // 2),
    "not": lambda n: "!" * n + "A a",
    "signs": lambda n: "A a" + "+" * n,
}


@pytest.mark.parametrize("kind", DEEP_EXPRESSIONS)
@pytest.mark.parametrize("levels", [500, 900])
@pytest.mark.usefixtures("deep_equality")
def test_deep_expressions(kind: str, levels: int) -> None:
    expression = parse_expression(DEEP_EXPRESSIONS[kind](levels))
    assert parse_expression(expression_text(expression)) == expression


@pytest.mark.parametrize("kind", DEEP_PATTERNS)
@pytest.mark.usefixtures("deep_equality")
def test_deep_patterns(kind: str) -> None:
    pattern = parse_pattern(DEEP_PATTERNS[kind](900))
    assert parse_pattern(pattern_text(pattern)) == pattern


@pytest.mark.parametrize("kind", DEEP_PATTERNS)
def test_deep_json_needs_no_more_stack_than_python_has(kind: str) -> None:
    statements = parse(f"QUERY q PATTERN {DEEP_PATTERNS[kind](600)} WITHIN 5 s;")
    data = standard_json.loads(standard_json.dumps(json.to_json(statements)))
    assert to_text(json.from_json(data)) == to_text(statements)


@pytest.mark.parametrize(
    "text", [make(20_000) for kind, make in DEEP_EXPRESSIONS.items() if kind != "parentheses"]
)
def test_deeper_than_allowed(text: str) -> None:
    with pytest.raises(QueryError, match="nested more than 1,000 levels deep"):
        parse(f"QUERY q PATTERN A a WHERE {text} WITHIN 5 s;")


def test_deeper_json_than_allowed() -> None:
    node = ["null"]
    for _ in range(MAX_DEPTH):
        node = ["not", node]
    query = {"query": "q", "pattern": ["event", "A", "a"], "within": [5, "us"], "where": [node]}
    with pytest.raises(QueryError, match="nested more than 1,000 levels deep"):
        json.from_json({"version": 1, "statements": [query]})


def test_long_chains() -> None:
    terms = " AND ".join(f"a.x{n} > {n}" for n in range(10_000))
    (query,) = parse(f"QUERY q PATTERN A a WHERE {terms} WITHIN 5 s;")
    assert len(query.where) == 10_000
    assert parse(to_text([query])) == (query,)
    assert json.from_json(json.to_json([query])) == (query,)
    pattern = parse_pattern("SEQ(" + ", ".join(f"A a{n}" for n in range(10_000)) + ")")
    assert len(pattern.parts) == 10_000


def test_a_thousand_queries_parse() -> None:
    text = "".join(
        f"QUERY q{n}\nPATTERN SEQ(A a, B b, C c)\nWHERE a.x < b.x AND b.y = c.y AND c.z > {n}\nWITHIN 10 MINUTES;\n"
        for n in range(1000)
    )
    assert len(parse(text)) == 1000


VALID = [
    "QUERY q PATTERN SEQ(A a, NOT(B b), C c+) WHERE a.x < c[i].x AND c[i-1].y IN (1, 'z') WITHIN 10 MINUTES;",
    (
        "QUERY q PATTERN A a & (B b | !C c){2,3}, KL(D) WHERE [k, m] AND NOT a.x BETWEEN -1 AND 2.5e3 WITHIN 5 EVENTS "
        "SELECT STRICT RETURN LAST(a).x AS y, COUNT(*) GROUP BY k;"
    ),
    "CREATE EVENT e AS SELECT * FROM t WHERE x = 'it''s' OR y IS NOT NULL; -- comment\n",
    (
        'CREATE STREAM "s s" AS SELECT a.x, AVG(b.y) AS z FROM u a JOIN v b ON a.k = b.k WHERE a.t > '
        "TIMESTAMP '2013-10-07 09:30:00' GROUP BY k WITHIN 1.5 h;"
    ),
]
PIECES = [
    "(",
    ")",
    "'",
    '"',
    ";",
    ",",
    ".",
    "[",
    "]",
    "{",
    "}",
    "+",
    "-",
    "--",
    "!",
    "@",
    "\n",
    " ",
    "QUERY",
    "WHERE",
]
PIECES += [
    "WITHIN",
    "AND",
    "NOT",
    "i",
    "5",
    "1e999",
    "99999999999999999999",
    "1e999999999 s",
    "SECONDS",
    "é",
    "\x00",
]
PIECES += [
    "CREATE",
    "EVENT",
    "AS",
    "SELECT",
    "FROM",
    "PATTERN",
    "SEQ(",
    "*",
    "GROUP BY",
    "a",
    "[i]",
    "{2,1}",
    "'x",
]


@st.composite
def damaged(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(VALID))
    for _ in range(draw(st.integers(1, 5))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 12)))
        text = text[:start] + draw(st.sampled_from(PIECES) | st.just("")) + text[end:]
    return text


def answers_soon(text: str) -> None:
    """A second try, because the first one may have to collect the garbage of all others."""
    if answer_seconds(text) > 0.2:
        assert answer_seconds(text) < 0.2


def answer_seconds(text: str) -> float:
    start = time.process_time()
    statements, mistakes, _ = parse_partial(text)
    if not mistakes:
        assert parse(to_text(statements)) == statements
    else:
        with pytest.raises(QueryError) as caught:
            parse(text)
        assert str(caught.value)
    return time.process_time() - start


@given(damaged())
def test_damaged_texts(text: str) -> None:
    answers_soon(text)


@given(st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join))
def test_random_words(text: str) -> None:
    answers_soon(text)


@given(st.text(max_size=80))
def test_random_characters(text: str) -> None:
    answers_soon(text)


@pytest.mark.parametrize(
    "piece", ["'", '"', "(", "[", "{", "-", "--", "\n", " ", "!", ";", "@", "a ", "5 ", "QUERY ", "'' "]
)
def test_long_runs_take_linear_time(piece: str) -> None:
    parse("")
    start = time.process_time()
    try:
        parse(piece * 20_000)
        parse("QUERY q PATTERN " + piece * 20_000)
        parse("QUERY q PATTERN A WHERE " + piece * 20_000)
    except QueryError:
        pass
    assert time.process_time() - start < 3
