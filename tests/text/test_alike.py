"""Alike statements that are matched, not parsed, give what the parser gives: the same trees, places and mistakes."""

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.errors import QueryError
from stretto.pattern.workload import Workload, check
from stretto.schema import Kind, Schema
from stretto.text.alike import statements as alike_statements
from stretto.text.alike.statements import Statements
from stretto.text.parser import parse_partial
from stretto.text.printer import to_text

SCHEMA = Schema({"x": Kind.INT, "y": Kind.FLOAT, "s": Kind.STRING})


@contextmanager
def tried_from(like: int, fewest: int) -> Iterator[None]:
    with patch.multiple(alike_statements, _LIKE_TO_TRY=like, FEWEST=fewest):
        yield


def with_places(node: Any) -> Any:
    """A tree with everything in it, spans included."""
    if isinstance(node, tuple):
        return tuple(map(with_places, node))
    if is_dataclass(node):
        return type(node), tuple(with_places(getattr(node, one.name)) for one in fields(node))
    return node


PLAIN_NUMBERS = ["0", "7", "12", "-3", "- 4", "5.5", "-0.0", ".5", "1e3", "00012", "1.", "5s", "5x"]
LARGE_NUMBERS = ["1e999", "9223372036854775807", "9223372036854775808"]
DURATIONS = ["3 MINUTES", "-2 ms", "1.5 SECONDS", "0.0000001 s"]
NUMBERS = st.sampled_from([*PLAIN_NUMBERS, *LARGE_NUMBERS, *DURATIONS])
STRINGS = st.sampled_from(["'a'", "''", "'it''s'", "'; -- no'", "'two\nlines'", "'1e5'", "'open"])
WINDOWS = st.sampled_from(
    [
        "10 SECONDS",
        "5 min",
        "0 SECONDS",
        "-1 s",
        "3 EVENTS",
        "7 EVENTS",
        "0.5 EVENTS",
        "99999999999 DAYS",
        "2 PARSECS",
    ]
)
NAMES = st.sampled_from(["a", "b2", "q", "Where", "PATTERN", "select", '"odd ""name"', "été", "in", "\u0131"])
SPACES = st.sampled_from([" ", "\n", " -- why\n", "\t", "\ufeff ", "  "])
SHAPES = st.sampled_from(
    [
        "QUERY{w}{name} PATTERN SEQ(A a, B b){w}WHERE a.x = {n} AND b.x < {n} WITHIN {d} SELECT NEXT;",
        "QUERY {name}{w}PATTERN A a WHERE a.s = {s} OR a.y - {n} > {n} WITHIN {d};",
        "QUERY {name} PATTERN B b+ WHERE b[i].x > b[i-1].x{w}AND b.x IN ({n}, {n}) WITHIN 5 MINUTES;",
        "QUERY {name} PATTERN B b{{2,3}} HAVING b[i].y > b[i-1].y + {n} WITHIN{w}{d} SELECT NEXT RETURN b.x+1;",
        "QUERY {name} PATTERN SEQ(A a, B b) WHERE b.ts - a.ts < {n} AND a.x<={n}{w}WITHIN 1 HOUR;",
        "CREATE EVENT E{name} AS SELECT * FROM A WHERE x = {n};",
        "QUERY {name} PATTERN A a WHERE a.x --{n} = 2\n WITHIN {d};",
        "QUERY {name} PATTERN A a WHERE a.x = -{n} AND NOT a.y BETWEEN {n} AND {n} WITHIN 1 MINUTES{end}",
        "QUERY {name} PATTERN A b+ GROUP BY x WITHIN {d} SLIDE 1 MINUTE RETURN COUNT(*);",
    ]
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Statements of a few shapes, most of them many times, some with things that no statement may hold."""
    out = []
    for _ in range(draw(st.integers(1, 3))):
        shape = draw(SHAPES)
        usual = {
            "{n}": draw(st.sampled_from(["7", "5.5", "3 MINUTES"])),
            "{s}": "'a'",
            "{d}": "9 SECONDS",
            "{end}": ";",
            "{name}": "q",
        }
        drawn = {
            "{n}": NUMBERS,
            "{s}": STRINGS,
            "{d}": WINDOWS,
            "{end}": st.sampled_from(["", ";"]),
            "{name}": NAMES,
        }
        for _ in range(draw(st.integers(1, 6))):
            text = shape.replace("{{", "{").replace("}}", "}")
            for field, usually in usual.items():
                while field in text:
                    odd = draw(st.integers(0, 4)) == 0
                    text = text.replace(field, draw(drawn[field]) if odd else usually, 1)
            while "{w}" in text:
                text = text.replace("{w}", draw(SPACES), 1)
            out.append(text + draw(SPACES))
    return "".join(out)


@given(texts(), st.integers(1, 3), st.integers(1, 3))
def test_the_same_trees_places_and_mistakes(text: str, like: int, fewest: int) -> None:
    with tried_from(like=10**9, fewest=10**9):
        plain, mistakes, _ = parse_partial(text)
        known = check(text, schema=SCHEMA)
    with tried_from(like, fewest):
        found, others, _ = parse_partial(text)
        assert Workload(found).to_text() == to_text(plain)
        assert with_places(tuple(found)) == with_places(plain)
        assert others == mistakes
        assert check(text, schema=SCHEMA) == known


@given(
    st.lists(
        st.tuples(st.integers(-5, 5), st.sampled_from([0.5, -0.0, 2.25]), st.sampled_from(["a", "it's"]))
    )
)
def test_the_same_bound_queries(rows: list[tuple[int, float, str]]) -> None:
    text = "\n".join(
        f"QUERY q{n} PATTERN SEQ(A a, B b+) WHERE a.x = {x} AND a.x = b.x AND b.y >= {x} AND a.y < {y} "
        f"AND a.s != '{s.replace(chr(39), chr(39) * 2)}' AND a.x IN (1, {x}) WITHIN {abs(x) + 1} s;"
        for n, (x, y, s) in enumerate(rows)
    )
    with tried_from(like=10**9, fewest=10**9):
        plain = Workload.parse(text).bind(SCHEMA).detections
    with tried_from(like=2, fewest=2):
        bound = Workload.parse(text).bind(SCHEMA)
        found = [*bound.detections, *(query for family in bound.templates for query in family.queries())]
    assert {query.name: (query, query.span) for query in found} == {
        query.name: (query, query.span) for query in plain
    }


def many(count: int) -> str:
    return "\n".join(
        f"QUERY q{n} PATTERN SEQ(A a, B b) WHERE a.x = {n} AND b.x = {n % 7} WITHIN {n % 5 + 1} SECONDS;"
        for n in range(count)
    )


def test_many_are_held_as_constants_and_no_tree_is_made() -> None:
    workload = Workload.parse("CREATE EVENT C AS SELECT * FROM A;\n" + many(200))
    statements = workload.statements
    assert isinstance(statements, Statements)
    assert [len(run) for run in statements.alike] == [200]
    bound = workload.bind(SCHEMA)
    (family,) = bound.families
    assert family.names == tuple(f"q{n}" for n in range(200))
    assert family.table.values("c0")[:3] == [0, 1, 2]
    assert family.windows is not None
    assert max(family.windows) == max(within.size for within in workload.windows) == 5_000_000
    assert (len(workload), len(statements)) == (200, 201)
    assert not statements._whole


def test_what_a_workload_can_do_it_can_with_many() -> None:
    text = many(100)
    with tried_from(like=10**9, fewest=10**9):
        plain = Workload.parse(text)
    workload = Workload.parse(text)
    more = "QUERY other PATTERN A a WITHIN 1 SECOND;"
    assert workload.remove("q7").add(more).statements == plain.remove("q7").add(more).statements
    assert (
        workload.add(many(100).replace("q", "p")).statements
        == plain.add(many(100).replace("q", "p")).statements
    )
    assert pickle.loads(pickle.dumps(workload)) == plain
    assert (workload.to_text(), workload.to_json()) == (plain.to_text(), plain.to_json())
    assert hash(workload) == hash(plain)
    with pytest.raises(QueryError, match="no query `q100` to remove"):
        workload.remove("q100")
    with pytest.raises(QueryError, match="no query `q7` to remove"):
        workload.remove("q7", "q7")


def test_a_mistake_in_one_of_many_has_its_own_place() -> None:
    lines = many(100).split("\n")
    lines[70] = lines[70].replace("q70", "q3")
    with pytest.raises(QueryError, match=r"w\.cep:71:7: duplicate query `q3`"):
        Workload.parse("\n".join(lines), "w.cep").bind(SCHEMA)
    lines = many(100).split("\n")
    lines[70] = lines[70].replace("WITHIN 1", "WITHIN 0")
    with pytest.raises(QueryError, match=r"w\.cep:71:\d+: the window must be longer than zero"):
        Workload.parse("\n".join(lines), "w.cep")
    lines = many(100).split("\n")
    lines[70] = lines[70].replace("a.x = 70", "a.x = 'text'")
    with pytest.raises(QueryError, match=r"w\.cep:71:\d+: type clash"):
        Workload.parse("\n".join(lines), "w.cep").bind(SCHEMA)
