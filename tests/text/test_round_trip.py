"""Printed text and JSON give back the syntax they were made of."""

import json as standard_json

import pytest
from hypothesis import given
from tests.text import syntax_trees

from stretto.errors import QueryError
from stretto.text import json, syntax
from stretto.text.parser import parse, parse_expression, parse_pattern
from stretto.text.printer import expression_text, pattern_text, to_text


@given(syntax_trees.workloads)
def test_text_gives_back_the_workload(statements) -> None:
    assert parse(to_text(statements)) == statements


@given(syntax_trees.expressions)
def test_text_gives_back_the_expression(expression) -> None:
    assert parse_expression(expression_text(expression)) == expression


@given(syntax_trees.patterns)
def test_text_gives_back_the_pattern(pattern) -> None:
    assert parse_pattern(pattern_text(pattern)) == pattern


@given(syntax_trees.workloads)
def test_json_gives_back_the_workload(statements) -> None:
    data = json.to_json(statements)
    assert json.from_json(standard_json.loads(standard_json.dumps(data))) == statements


WORKLOAD = """
CREATE EVENT big AS SELECT * FROM trade WHERE volume > 1000;
CREATE STREAM hot AS SELECT a.pid, b.temp AS t FROM cpu a JOIN sensor b ON a.host = b.host WITHIN 5 SECONDS;
QUERY q PATTERN SEQ(big a, NOT(Halt h), Buy d{2,5}) WHERE [sym] AND (a.x < 1 OR -(-a.x) > 2) AND d[i].p > d[i-1].p
WITHIN 90 SECONDS SLIDE 1 MINUTE SELECT next RETURN COUNT(*), LAST(d).p - a.p AS gain GROUP BY sym;
"""
PRINTED = """\
CREATE EVENT big AS
SELECT  *
FROM    trade
WHERE   volume > 1000;

CREATE STREAM hot AS
SELECT  a.pid, b.temp AS t
FROM    cpu a
JOIN    sensor b
ON      a.host = b.host
WITHIN  5 SECONDS;

QUERY q
PATTERN SEQ(big a, NOT(Halt h), Buy d{2,5})
WHERE   [sym] AND (a.x < 1 OR -(-a.x) > 2) AND d[i].p > d[i-1].p
WITHIN  90 SECONDS SLIDE 1 MINUTE
SELECT  NEXT
RETURN  COUNT(*), LAST(d).p - a.p AS gain
GROUP BY sym;
"""


def test_layout() -> None:
    assert to_text(parse(WORKLOAD)) == PRINTED


@pytest.mark.parametrize(
    "text",
    [
        "a.x + b.x * 2",
        "(a.x + b.x) * 2",
        "a.x - (b.x - 1)",
        "NOT a.x = 1",
        "NOT (a.x = 1 OR b.x = 1)",
        "-a.x % 3",
        "a.x IN (1, 2)",
        "a.x NOT BETWEEN 1 AND 2",
        "a.x IS NOT NULL",
        "(a.x < 1) = TRUE",
        "a.x - -1",
        "a.x = 1 AND (b.x = 2 OR c.x = 3)",
        "TIMESTAMP '2013-10-07 09:30:00' < a.ts",
        "1 DAY",
        "a.\"where\" = 'it''s'",
    ],
)
def test_no_more_parentheses_than_needed(text: str) -> None:
    assert expression_text(parse_expression(text)) == text


@pytest.mark.parametrize(
    "node",
    [
        syntax.Literal(float("inf")),
        syntax.Literal(float("nan")),
        syntax.Literal(2**63),
        syntax.Name(""),
        syntax.Timestamp(2**62),
    ],
)
def test_what_cannot_be_written_says_so(node: syntax.Expression) -> None:
    with pytest.raises(ValueError):
        expression_text(node)


@pytest.mark.parametrize(
    ("data", "part"),
    [
        ({"version": 2, "statements": []}, "unknown version 2"),
        ({"statements": []}, "unknown version None"),
        ([], "not a workload"),
        ({"version": 1, "statements": [{}]}, "statement 1 of the JSON form: expected a query"),
        ({"version": 1, "statements": [{"event": "", "from": "t"}]}, "expected a name"),
    ],
)
def test_foreign_json_is_refused(data, part: str) -> None:
    with pytest.raises(QueryError, match=part):
        json.from_json(data)


@pytest.mark.parametrize(
    ("node", "part"),
    [
        (["same"], "too few entries"),
        (["same", "a", ["null"]], "no parts"),
        (["<", ["null"]], "two parts"),
        (["frob"], "unknown word"),
        (["int", 1.5], "of the kind int"),
        (["int", 2**63], "whole number"),
        (["float", float("inf")], "finite"),
        (["name", "x", None, "i"], "index"),
        (["and", ["null"], ["and", ["null"], ["null"]]], "inside itself"),
        (["or", ["null"]], "two or more"),
        (["not", ["event", "A", "a"]], "wrong kind of part"),
        (["<", ["all"], ["null"]], "'all' stands alone"),
        (["all"], "expected an expression"),
        (5, "as an array"),
        ([[[]]], "as an array"),
    ],
)
def test_wrong_nodes_are_refused(node, part: str) -> None:
    query = {"query": "q", "pattern": ["event", "A", "a"], "within": [5, "us"], "where": [node]}
    with pytest.raises(QueryError, match=part):
        json.from_json({"version": 1, "statements": [query]})
