"""Syntax as JSON and back, without loss (only the places in the text are not kept).

The form is `{"version": 1, "statements": [...]}`. A statement is an object; a pattern or an expression is an array
that begins with its word, so that a tree nests one array per node:

    ["event", "Buy", "d"]  ["SEQ", part, ...]  ["NOT", part]  ["repeat", part, 1, null]
    ["int", 5]  ["float", 0.5]  ["string", "x"]  ["bool", true]  ["null"]  ["duration", us]  ["timestamp", us]
    ["name", "price", "d", "i-1"]  ["all"]  ["call", "LAST", "price", argument, ...]  ["same", "driver"]
    ["<", left, right]  ["neg", x]  ["not", x]  ["and", x, ...]  ["or", x, ...]  ["is null", x]  ["is not null", x]
    ["like", x, pattern]  ["not ilike", x, pattern, escape]  ["case", condition, value, ..., otherwise]
    ["in", x, option, ...]  ["not in", x, option, ...]  ["between", x, low, high]  ["not between", x, low, high]
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from stretto.errors import Mistake, QueryError
from stretto.json_depth import HALF_PAIR
from stretto.text import syntax
from stretto.text.json_nodes import (
    expect,
    fail,
    integer,
    listed,
    name_of,
    node_json,
    optional_name,
    read_node,
    shown,
    size_of,
)
from stretto.text.keeping import keep_problem
from stretto.text.values import MAX_INT

VERSION: Final = 1


def to_json(statements: Iterable[syntax.Statement]) -> dict[str, Any]:
    """The statements as values that `json.dumps` takes."""
    return {"version": VERSION, "statements": [_statement(statement) for statement in statements]}


def from_json(data: Any) -> tuple[syntax.Statement, ...]:
    """The statements that `to_json` was given; QueryError for anything that it does not write."""
    if not isinstance(data, dict) or not isinstance(data.get("statements"), list):
        raise QueryError(
            [Mistake("this is not a workload in JSON", note='expected {"version": 1, "statements": [...]}')]
        )
    if data.get("version") != VERSION:
        note = f"known is version {VERSION}"
        raise QueryError(
            [Mistake(f"unknown version {shown(data.get('version'))} of the JSON form", note=note)]
        )
    statements: list[syntax.Statement] = []
    mistakes: list[Mistake] = []
    for at, entry in enumerate(data["statements"]):
        try:
            _need_text(entry)
            statements.append(_read_statement(entry))
        except ValueError as error:
            mistakes.append(Mistake(f"statement {at + 1} of the JSON form: {error}"))
    if mistakes:
        raise QueryError(mistakes)
    return tuple(statements)


def _need_text(entry: Any) -> None:
    """Raise ValueError where a text of a statement holds half of a surrogate pair."""
    try:
        json.dumps(entry, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError(f"it holds {HALF_PAIR}, which is not Unicode text") from None
    except (TypeError, RecursionError):
        return  # no JSON, or too deep: told by those who read it


# ---- writing


def _statement(statement: syntax.Statement) -> dict[str, Any]:
    match statement:
        case syntax.Query():
            return {
                "query": statement.name,
                **({} if statement.for_each is None else {"for_each": _for_each(statement.for_each)}),
                "pattern": node_json(statement.pattern),
                "where": _nodes(statement.where),
                **({"having": _nodes(statement.having)} if statement.having else {}),
                "within": _within(statement.within),
                "slide": None if statement.slide is None else statement.slide.us,
                "select": statement.select,
                "aggregate" if statement.aggregating else "return": _items(statement.returning),
                **_thinned(statement),
                "group_by": _nodes(statement.group_by),
            }
        case syntax.CreateEvent():
            return {"event": statement.name, "from": statement.source, "where": _nodes(statement.where)}
        case syntax.CreateStream():
            return {
                "stream": statement.name,
                "items": _items(statement.items),
                "from": [[source.stream, source.alias] for source in statement.sources],
                "on": _nodes(statement.on),
                "where": _nodes(statement.where),
                "group_by": _nodes(statement.group_by),
                "within": _within(statement.within),
            }
        case syntax.CreatePatternStream():
            matched = _statement(statement.query)
            return {"stream": statement.name, **{key: matched[key] for key in matched if key != "query"}}
        case syntax.CreateTable():
            return {"table": statement.name, "from": statement.path}
        case _:
            raise TypeError(f"not a statement: {statement!r}")


def _within(within: syntax.Within | None) -> list[Any] | None:
    if within is None or within.row is None:
        return None if within is None else [within.size, within.unit]
    return [node_json(within.row), "row"]


def _thinned(query: syntax.Query) -> dict[str, Any]:
    keep, limit = query.keep, query.limit
    found: dict[str, Any] = {}
    if keep is not None:
        found["keep"] = [keep.word, _nodes(keep.per), None if keep.lasting is None else keep.lasting.us]
    if limit is not None:
        found["limit"] = [limit.count, limit.per.us]
    return found


def _for_each(each: syntax.ForEach) -> list[Any]:
    return [each.table, each.variable, None if each.key is None else node_json(each.key)]


def _items(items: Sequence[syntax.Item]) -> list[list[Any]]:
    return [[node_json(item.value), item.name] for item in items]


def _nodes(nodes: Sequence[syntax.Node]) -> list[Any]:
    return [node_json(node) for node in nodes]


# ---- reading: every check raises ValueError with what was expected


def _read_statement(entry: Any) -> syntax.Statement:
    match entry:
        case {"query": name, "pattern": _, "within": _}:
            return _query(name, entry)
        case {"stream": name, "pattern": _, "within": _}:
            expect("for_each" not in entry, "a stream is not for each row of a table")
            query = _query(name, entry)
            return syntax.CreatePatternStream(query.name, query)
        case {"table": name, "from": path}:
            return syntax.CreateTable(name_of(name), optional_name(path))
        case {"event": name, "from": source}:
            return syntax.CreateEvent(name_of(name), name_of(source), _terms(entry, "where"))
        case {"stream": name, "items": items, "from": sources}:
            within = entry.get("within")
            expect(1 <= len(listed(sources)) <= 2, "expected one stream or two")
            expect(bool(listed(items)), "expected at least one item")
            return syntax.CreateStream(
                name_of(name),
                tuple(_read_item(item, star=True) for item in items),
                tuple(_source(source) for source in sources),
                _terms(entry, "on"),
                _terms(entry, "where"),
                _names(entry),
                None if within is None else _read_within(within),
            )
        case _:
            raise ValueError("expected a query, an event, a stream or a table")


def _query(name: Any, entry: dict[str, Any]) -> syntax.Query:
    slide, select, each = entry.get("slide"), entry.get("select"), entry.get("for_each")
    expect(select in (None, "ANY", "NEXT", "LAST", "STRICT"), f"unknown policy {shown(select)}")
    items = tuple(
        _read_item(item, star=True) for item in listed(entry.get("return", entry.get("aggregate", [])))
    )
    return syntax.Query(
        name_of(name),
        _pattern(entry["pattern"]),
        _read_within(entry["within"]),
        _terms(entry, "where"),
        select,
        items,
        _names(entry),
        None if slide is None else syntax.Duration(size_of(slide, "SLIDE")),
        _terms(entry, "having"),
        None if each is None else _read_for_each(each),
        _read_keep(entry.get("keep")),
        _read_limit(entry.get("limit")),
        bool(items) and "return" not in entry,
    )


def _read_keep(data: Any) -> syntax.Keep | None:
    match data:
        case None:
            return None
        case [("ALL" | "FIRST" | "APART" | "LONGEST") as word, list() as per, lasting]:
            time = None if lasting is None else syntax.Duration(size_of(lasting, "duration"))
            keep = syntax.Keep(word, tuple(_expression(one) for one in per), time)
            wrong = keep_problem(keep)
            expect(wrong is None, wrong[0] if wrong else "")
            return keep
        case _:
            raise ValueError("expected [word, expressions, microseconds] in keep")


def _read_limit(data: Any) -> syntax.Limit | None:
    match data:
        case None:
            return None
        case [count, per]:
            return syntax.Limit(integer(count, 1, MAX_INT), syntax.Duration(size_of(per, "duration")))
        case _:
            raise ValueError("expected [count, microseconds] in limit")


def _read_for_each(data: Any) -> syntax.ForEach:
    match data:
        case [table, variable, key]:
            return syntax.ForEach(
                name_of(table), optional_name(variable), None if key is None else _column(key)
            )
        case _:
            raise ValueError("expected [table, variable, key]")


def _column(data: Any) -> syntax.Name:
    """`r.id`: a column of a row."""
    node = _expression(data)
    if isinstance(node, syntax.Name) and node.variable is not None and not node.index:
        return node
    raise ValueError("expected a column of a row")


def _pattern(data: Any) -> syntax.Pattern:
    node = read_node(data)
    return node if isinstance(node, syntax.Pattern) else fail("expected a pattern")


def _expression(data: Any) -> syntax.Expression:
    node = read_node(data)
    if isinstance(node, syntax.Expression) and not isinstance(node, syntax.Star):
        return node
    raise ValueError("expected an expression")


def _terms(entry: dict[str, Any], key: str) -> tuple[syntax.Expression, ...]:
    terms = tuple(_expression(term) for term in listed(entry.get(key, [])))
    expect(
        not any(isinstance(t, syntax.Logic) and t.word == "AND" for t in terms),
        f'"{key}" lists its terms one by one',
    )
    return terms


def _names(entry: dict[str, Any]) -> tuple[syntax.Name, ...]:
    names = [_expression(name) for name in listed(entry.get("group_by", []))]
    return tuple(
        name if isinstance(name, syntax.Name) else fail("expected names in group_by") for name in names
    )


def _read_item(data: Any, *, star: bool = False) -> syntax.Item:
    match data:
        case [["all"], None] if star:
            return syntax.Item(syntax.Star())
        case [["all", variable], name] if star:
            return syntax.Item(syntax.Star(name_of(variable)), optional_name(name))
        case [value, name]:
            return syntax.Item(_expression(value), optional_name(name))
        case _:
            raise ValueError("expected an item as [expression, name]")


def _source(data: Any) -> syntax.Source:
    match data:
        case [stream, alias]:
            return syntax.Source(name_of(stream), optional_name(alias))
        case _:
            raise ValueError("expected a source as [stream, alias]")


def _read_within(data: Any) -> syntax.Within:
    match data:
        case [size, ("us" | "events") as unit]:
            return syntax.Within(size_of(size, "window"), "us" if unit == "us" else "events")
        case [row, "row"]:
            return syntax.Within(0, row=_column(row))
        case _:
            raise ValueError('expected a window as [size, "us"] or [size, "events"]')
