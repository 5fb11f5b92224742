"""Writes syntax as query text that parses to the same syntax: one clause per line, no needless parentheses."""

import re
from collections.abc import Iterable, Sequence

from stretto.screen import visible
from stretto.text import syntax
from stretto.text.tokens import IDENTIFIER, KEYWORDS
from stretto.text.values import MAX_INT, duration_text, timestamp_text
from stretto.text.walk import fold_syntax

# How closely an expression binds; an operand that binds less than its place asks for stands in parentheses.
_OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _SIGN, _CLOSED = range(8)
_ARITHMETIC = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "%": _PRODUCT}
_SIGNS = {(1, None): "+", (0, None): "*", (0, 1): "?"}
_BARE = re.compile(IDENTIFIER)

_Bound = tuple[str, int]


def to_text(statements: Iterable[syntax.Statement]) -> str:
    """The statements as text; `parse` gives them back."""
    return "\n\n".join(statement_text(statement) for statement in statements) + "\n"


def statement_text(statement: syntax.Statement) -> str:
    """One statement with its `;`. A table that a program gives has no text but a comment."""
    match statement:
        case syntax.Query():
            lines = _query_lines(statement)
        case syntax.CreateEvent():
            head = f"CREATE EVENT {name_text(statement.name)} AS"
            lines = [
                head,
                "SELECT  *",
                f"FROM    {name_text(statement.source)}",
                *_where("WHERE   ", statement.where),
            ]
        case syntax.CreateStream():
            lines = _stream_lines(statement)
        case syntax.CreatePatternStream():
            lines = [f"CREATE STREAM {name_text(statement.name)} AS", *_query_lines(statement.query)[1:]]
        case syntax.CreateTable(path=None):
            return f"-- CREATE TABLE {visible(statement.name)}: a program gives it"
        case syntax.CreateTable():
            lines = [f"CREATE TABLE {name_text(statement.name)} FROM {literal_text(statement.path)}"]
        case _:
            raise TypeError(f"not a statement: {statement!r}")
    return "\n".join(lines) + ";"


def expression_text(expression: syntax.Expression) -> str:
    """An expression as `parse_expression` reads it."""
    return fold_syntax(expression, _expression)[0]


def pattern_text(pattern: syntax.Pattern) -> str:
    """A pattern as `parse_pattern` reads it."""
    return fold_syntax(pattern, _pattern)


def name_text(name: str) -> str:
    """A name, in double quotes unless it is a plain word and no keyword."""
    if _BARE.fullmatch(name) and name.upper() not in KEYWORDS:
        return name
    return _quoted(name)


def _path_text(name: str) -> str:
    """An attribute behind its variable: the field of a struct is written with dots."""
    parts = name.split(".")
    plain = all(_BARE.fullmatch(part) and part.upper() not in KEYWORDS for part in parts)
    return name if plain else name_text(name)


def _quoted(name: str) -> str:
    if not name:
        raise ValueError("a name cannot be empty")
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _query_lines(query: syntax.Query) -> list[str]:
    each = "" if query.for_each is None else f" FOR EACH {_for_each(query.for_each)}"
    lines = [f"QUERY {name_text(query.name)}{each}", f"PATTERN {pattern_text(query.pattern)}"]
    lines += _where("WHERE   ", query.where) + _where("HAVING  ", query.having)
    slide = f" SLIDE {duration_text(query.slide.us)}" if query.slide is not None else ""
    lines.append(f"WITHIN  {_within(query.within)}{slide}")
    if query.select is not None:
        lines.append(f"SELECT  {query.select}")
    if query.returning:
        lines.append(f"{'AGGREGATE' if query.aggregating else 'RETURN '} {_items(query.returning)}")
    if query.keep is not None:
        lines.append(f"KEEP    {_keep(query.keep)}")
    if query.limit is not None:
        lines.append(f"LIMIT   {query.limit.count} PER {duration_text(query.limit.per.us)}")
    return lines + _group_by(query.group_by)


def _keep(keep: syntax.Keep) -> str:
    per = f" PER {', '.join(map(expression_text, keep.per))}" if keep.per else ""
    lasting = "" if keep.lasting is None else f" FOR {duration_text(keep.lasting.us)}"
    return f"{keep.word}{per}{lasting}"


def _stream_lines(stream: syntax.CreateStream) -> list[str]:
    first, *joined = [" ".join(map(name_text, filter(None, (s.stream, s.alias)))) for s in stream.sources]
    lines = [
        f"CREATE STREAM {name_text(stream.name)} AS",
        f"SELECT  {_items(stream.items)}",
        f"FROM    {first}",
    ]
    lines += [f"JOIN    {source}" for source in joined]
    lines += _where("ON      ", stream.on) + _where("WHERE   ", stream.where) + _group_by(stream.group_by)
    return [*lines, f"WITHIN  {_within(stream.within)}"] if stream.within is not None else lines


def _for_each(each: syntax.ForEach) -> str:
    names = [name_text(each.table), *([] if each.variable is None else [name_text(each.variable)])]
    return " ".join(names) + ("" if each.key is None else f" KEY {_column(each.key)}")


def _column(name: syntax.Name) -> str:
    """A column of a table's row; it is one name, whatever dots it has."""
    return (
        name_text(name.name)
        if name.variable is None
        else f"{name_text(name.variable)}.{name_text(name.name)}"
    )


def _where(head: str, terms: Sequence[syntax.Expression]) -> list[str]:
    if not terms:
        return []
    bound = [fold_syntax(term, _expression) for term in terms]
    return [head + " AND ".join(_at_least(_NOT, term) for term in bound)]


def _within(within: syntax.Within) -> str:
    if within.row is not None:
        return _column(within.row)
    return f"{within.size} EVENTS" if within.unit == "events" else duration_text(within.size)


def _items(items: Sequence[syntax.Item]) -> str:
    return ", ".join(
        expression_text(item.value) + (f" AS {name_text(item.name)}" if item.name is not None else "")
        for item in items
    )


def _group_by(names: Sequence[syntax.Name]) -> list[str]:
    return ["GROUP BY " + ", ".join(map(expression_text, names))] if names else []


# ---- patterns


def _pattern(node: syntax.Node, parts: list[str]) -> str:
    match node:
        case syntax.Atom():
            variable = f" {name_text(node.variable)}" if node.variable is not None else ""
            return name_text(node.type) + variable
        case syntax.Combine():
            return f"{node.word}({', '.join(parts)})"
        case syntax.Not():
            return f"NOT({parts[0]})"
        case syntax.Repeat():
            return parts[0] + (_SIGNS.get((node.low, node.high)) or _bounds(node.low, node.high))
        case _:
            raise TypeError(f"not a pattern: {node!r}")


def _bounds(low: int, high: int | None) -> str:
    if high is None:
        return f"{{{low},}}"
    return f"{{{low}}}" if low == high else f"{{{low},{high}}}"


# ---- expressions


def _at_least(binding: int, part: _Bound) -> str:
    return part[0] if part[1] >= binding else f"({part[0]})"


def _expression(node: syntax.Node, parts: list[_Bound]) -> _Bound:
    match node:
        case syntax.Logic():
            binding = _AND if node.word == "AND" else _OR
            return f" {node.word} ".join(_at_least(binding + 1, part) for part in parts), binding
        case syntax.Unary(op="NOT"):
            return f"NOT {_at_least(_NOT, parts[0])}", _NOT
        case syntax.Unary():
            # A sign right before digits would be read as part of the number, and two signs as a comment.
            operand = _at_least(_SIGN, parts[0])
            return f"-({operand})" if operand[0] in "-.0123456789" else f"-{operand}", _SIGN
        case syntax.Binary():
            return _binary(node, *parts)
        case syntax.In() | syntax.Between() | syntax.IsNull() | syntax.TextTest():
            return _test(node, parts), _COMPARE
        case _:
            return _closed(node, [part[0] for part in parts]), _CLOSED


def _binary(node: syntax.Binary, left: _Bound, right: _Bound) -> _Bound:
    binding = _ARITHMETIC.get(node.op, _COMPARE)
    lowest = _SUM if binding == _COMPARE else binding
    text = f"{_at_least(lowest, left)} {node.op} {_at_least(max(lowest, binding + 1), right)}"
    return text, binding


def _test(node: syntax.In | syntax.Between | syntax.IsNull | syntax.TextTest, parts: list[_Bound]) -> str:
    value = _at_least(_SUM, parts[0])
    negated = "NOT " if node.negated else ""
    match node:
        case syntax.In():
            return f"{value} {negated}IN ({', '.join(part[0] for part in parts[1:])})"
        case syntax.Between():
            return f"{value} {negated}BETWEEN {_at_least(_SUM, parts[1])} AND {_at_least(_SUM, parts[2])}"
        case syntax.TextTest():
            escape = f" ESCAPE {_at_least(_SUM, parts[2])}" if node.escape is not None else ""
            return f"{value} {negated}{node.word} {_at_least(_SUM, parts[1])}{escape}"
        case _:
            return f"{value} IS {negated}NULL"


def _closed(node: syntax.Node, parts: list[str]) -> str:
    """An expression that binds as closely as a name."""
    match node:
        case syntax.Literal():
            return literal_text(node.value)
        case syntax.Duration():
            return duration_text(node.us)
        case syntax.Timestamp():
            return f"TIMESTAMP '{timestamp_text(node.us)}'"
        case syntax.Name():
            index = f"[{node.index}]" if node.index else ""
            return (
                f"{name_text(node.variable)}{index}.{_path_text(node.name)}"
                if node.variable
                else name_text(node.name)
            )
        case syntax.Star():
            return "*" if node.variable is None else f"{name_text(node.variable)}.*"
        case syntax.Call():
            attribute = f".{_path_text(node.attribute)}" if node.attribute is not None else ""
            return f"{name_text(node.function)}({', '.join(parts)}){attribute}"
        case syntax.Case():
            whens = zip(parts[0::2], parts[1::2], strict=False)
            lines = [f"WHEN {when} THEN {then}" for when, then in whens]
            last = "" if node.otherwise is None else f" ELSE {parts[-1]}"
            return f"CASE {' '.join(lines)}{last} END"
        case syntax.Same():
            return f"[{_path_text(node.attribute)}]"
        case _:
            raise TypeError(f"not an expression: {node!r}")


def literal_text(value: float | str | bool | None) -> str:
    """A constant as the language writes it."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        doubled = value.replace("'", "''")
        return f"'{doubled}'"
    if isinstance(value, int):
        if not -MAX_INT - 1 <= value <= MAX_INT:
            raise ValueError(f"the integer {value} does not fit into 64 bits and cannot be written")
        return str(value)
    if value - value != 0:
        raise ValueError(f"{value} is not a number and cannot be written")
    return repr(value)
