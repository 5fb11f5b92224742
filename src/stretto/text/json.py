"""Syntax as JSON and back, without loss (only the places in the text are not kept).

The form is `{"version": 1, "statements": [...]}`. A statement is an object; a pattern or an expression is an array
that begins with its word, so that a tree nests one array per node:

    ["event", "Buy", "d"]  ["SEQ", part, ...]  ["NOT", part]  ["repeat", part, 1, null]
    ["int", 5]  ["float", 0.5]  ["string", "x"]  ["bool", true]  ["null"]  ["duration", us]  ["timestamp", us]
    ["name", "price", "d", "i-1"]  ["all"]  ["call", "LAST", "price", argument, ...]  ["same", "driver"]
    ["<", left, right]  ["neg", x]  ["not", x]  ["and", x, ...]  ["or", x, ...]  ["is null", x]  ["is not null", x]
    ["in", x, option, ...]  ["not in", x, option, ...]  ["between", x, low, high]  ["not between", x, low, high]
"""

from collections.abc import Callable, Iterable, Sequence
from sys import float_info
from typing import Any, Final, NoReturn

from stretto.errors import Mistake, QueryError
from stretto.text import syntax
from stretto.text.values import MAX_INT, size_problem
from stretto.text.walk import MAX_DEPTH, fold, fold_syntax

VERSION: Final = 1

_COMBINE = ("SEQ", "AND", "OR", "ANY")
_BINARY = ("+", "-", "*", "/", "%", "=", "!=", "<", "<=", ">", ">=")
_LITERALS: dict[str, type] = {"int": int, "float": float, "string": str, "bool": bool}
_LITERAL_WORDS = {kind.__name__: word for word, kind in _LITERALS.items()}
# How many leading entries behind the word are plain values and not nodes; words left out here have nodes only.
_PLAIN = {"event": 2, "int": 1, "float": 1, "string": 1, "bool": 1, "duration": 1, "timestamp": 1, "name": 3}
_PLAIN |= {"same": 1, "call": 2}


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
            [Mistake(f"unknown version {_shown(data.get('version'))} of the JSON form", note=note)]
        )
    statements: list[syntax.Statement] = []
    mistakes: list[Mistake] = []
    for at, entry in enumerate(data["statements"]):
        try:
            statements.append(_read_statement(entry))
        except ValueError as error:
            mistakes.append(Mistake(f"statement {at + 1} of the JSON form: {error}"))
    if mistakes:
        raise QueryError(mistakes)
    return tuple(statements)


# ---- writing


def _statement(statement: syntax.Statement) -> dict[str, Any]:
    match statement:
        case syntax.Query():
            return {
                "query": statement.name,
                **({} if statement.for_each is None else {"for_each": _for_each(statement.for_each)}),
                "pattern": _node(statement.pattern),
                "where": _nodes(statement.where),
                **({"having": _nodes(statement.having)} if statement.having else {}),
                "within": _within(statement.within),
                "slide": None if statement.slide is None else statement.slide.us,
                "select": statement.select,
                "return": _items(statement.returning),
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
    return [_node(within.row), "row"]


def _for_each(each: syntax.ForEach) -> list[Any]:
    return [each.table, each.variable, None if each.key is None else _node(each.key)]


def _items(items: Sequence[syntax.Item]) -> list[list[Any]]:
    return [[_node(item.value), item.name] for item in items]


def _nodes(nodes: Sequence[syntax.Node]) -> list[Any]:
    return [_node(node) for node in nodes]


def _node(node: syntax.Node) -> list[Any]:
    def array(node: syntax.Node, below: list[list[Any]]) -> list[Any]:
        if isinstance(node, syntax.Repeat):
            return ["repeat", *below, node.low, node.high]
        return [*_head(node), *below]

    return fold_syntax(node, array)


def _head(node: syntax.Node) -> list[Any]:
    """The word of a node and its plain values."""
    match node:
        case syntax.Atom():
            return ["event", node.type, node.variable]
        case syntax.Combine():
            return [node.word]
        case syntax.Not():
            return ["NOT"]
        case syntax.Literal(value=None):
            return ["null"]
        case syntax.Literal():
            return [_LITERAL_WORDS[node.kind], node.value]
        case syntax.Duration():
            return ["duration", node.us]
        case syntax.Timestamp():
            return ["timestamp", node.us]
        case syntax.Name():
            return ["name", node.name, node.variable, node.index]
        case syntax.Star():
            return ["all"]
        case syntax.Call():
            return ["call", node.function, node.attribute]
        case syntax.Same():
            return ["same", node.attribute]
        case syntax.Unary():
            return ["not" if node.op == "NOT" else "neg"]
        case syntax.Binary():
            return [node.op]
        case syntax.Logic():
            return [node.word.lower()]
        case syntax.In():
            return ["not in" if node.negated else "in"]
        case syntax.Between():
            return ["not between" if node.negated else "between"]
        case syntax.IsNull():
            return ["is not null" if node.negated else "is null"]
        case _:
            raise TypeError(f"not a pattern or expression: {node!r}")


# ---- reading: every check raises ValueError with what was expected


def _read_statement(entry: Any) -> syntax.Statement:
    match entry:
        case {"query": name, "pattern": _, "within": _}:
            return _query(name, entry)
        case {"stream": name, "pattern": _, "within": _}:
            _expect("for_each" not in entry, "a stream is not for each row of a table")
            query = _query(name, entry)
            return syntax.CreatePatternStream(query.name, query)
        case {"table": name, "from": path}:
            return syntax.CreateTable(_name(name), _optional(path))
        case {"event": name, "from": source}:
            return syntax.CreateEvent(_name(name), _name(source), _terms(entry, "where"))
        case {"stream": name, "items": items, "from": sources}:
            within = entry.get("within")
            _expect(1 <= len(_list(sources)) <= 2, "expected one stream or two")
            _expect(bool(_list(items)), "expected at least one item")
            return syntax.CreateStream(
                _name(name),
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
    _expect(select in (None, "ANY", "NEXT", "STRICT"), f"unknown policy {_shown(select)}")
    return syntax.Query(
        _name(name),
        _pattern(entry["pattern"]),
        _read_within(entry["within"]),
        _terms(entry, "where"),
        select,
        tuple(_read_item(item) for item in _list(entry.get("return", []))),
        _names(entry),
        None if slide is None else syntax.Duration(_size(slide, "SLIDE")),
        _terms(entry, "having"),
        None if each is None else _read_for_each(each),
    )


def _read_for_each(data: Any) -> syntax.ForEach:
    match data:
        case [table, variable, key]:
            return syntax.ForEach(_name(table), _optional(variable), None if key is None else _column(key))
        case _:
            raise ValueError("expected [table, variable, key]")


def _column(data: Any) -> syntax.Name:
    """`r.id`: a column of a row."""
    node = _expression(data)
    if isinstance(node, syntax.Name) and node.variable is not None and not node.index:
        return node
    raise ValueError("expected a column of a row")


def _pattern(data: Any) -> syntax.Pattern:
    node = _read_node(data)
    return node if isinstance(node, syntax.Pattern) else _fail("expected a pattern")


def _expression(data: Any) -> syntax.Expression:
    node = _read_node(data)
    if isinstance(node, syntax.Expression) and not isinstance(node, syntax.Star):
        return node
    raise ValueError("expected an expression")


def _terms(entry: dict[str, Any], key: str) -> tuple[syntax.Expression, ...]:
    terms = tuple(_expression(term) for term in _list(entry.get(key, [])))
    _expect(
        not any(isinstance(t, syntax.Logic) and t.word == "AND" for t in terms),
        f'"{key}" lists its terms one by one',
    )
    return terms


def _names(entry: dict[str, Any]) -> tuple[syntax.Name, ...]:
    names = [_expression(name) for name in _list(entry.get("group_by", []))]
    return tuple(
        name if isinstance(name, syntax.Name) else _fail("expected names in group_by") for name in names
    )


def _read_item(data: Any, *, star: bool = False) -> syntax.Item:
    match data:
        case [["all"], None] if star:
            return syntax.Item(syntax.Star())
        case [value, name]:
            return syntax.Item(_expression(value), _optional(name))
        case _:
            raise ValueError("expected an item as [expression, name]")


def _source(data: Any) -> syntax.Source:
    match data:
        case [stream, alias]:
            return syntax.Source(_name(stream), _optional(alias))
        case _:
            raise ValueError("expected a source as [stream, alias]")


def _read_within(data: Any) -> syntax.Within:
    match data:
        case [size, ("us" | "events") as unit]:
            return syntax.Within(_size(size, "window"), "us" if unit == "us" else "events")
        case [row, "row"]:
            return syntax.Within(0, row=_column(row))
        case _:
            raise ValueError('expected a window as [size, "us"] or [size, "events"]')


def _read_node(data: Any) -> syntax.Node:
    depth = fold(data, _below, lambda _, below: 1 + max(below, default=0))
    _expect(depth <= MAX_DEPTH, f"nested more than {MAX_DEPTH:,} levels deep")
    node: syntax.Node = fold(data, _below, _build)
    return node


def _below(data: Any) -> Sequence[Any]:
    """The nodes inside an array."""
    if not isinstance(data, list) or not data or not isinstance(data[0], str):
        raise ValueError(f"expected a pattern or expression as an array, not {_shown(data)}")
    return data[1:2] if data[0] == "repeat" else data[1 + _PLAIN.get(data[0], 0) :]


def _build(data: list[Any], below: list[Any]) -> syntax.Node:
    word = data[0]
    count = _PLAIN.get(word, 0)
    plain = data[2:] if word == "repeat" else data[1 : 1 + count]
    _expect(word in _MAKE, f"unknown word {word[:40]!r}")
    _expect(word == "repeat" or len(plain) == count, f"too few entries behind {word!r}")
    kind = syntax.Pattern if word in _PATTERN_WORDS else syntax.Expression
    _expect(all(isinstance(node, kind) for node in below), f"wrong kind of part in {word!r}")
    starred = any(isinstance(node, syntax.Star) for node in below)
    _expect(
        not starred or (word == "call" and len(below) == 1),
        "'all' stands alone in a call or in a stream's items",
    )
    return _MAKE[word](word, plain, below)


def _repeat(_: str, plain: list[Any], below: list[Any]) -> syntax.Node:
    low, high = plain if len(plain) == 2 else _fail("expected two bounds in 'repeat'")
    least = _int(low, 0, MAX_INT)
    return syntax.Repeat(_one(below), least, None if high is None else _int(high, max(least, 1), MAX_INT))


def _literal(word: str, plain: list[Any], below: list[Any]) -> syntax.Node:
    value = _none(plain[0], below)
    if word == "float" and type(value) is int:  # other programs write 1.0 as 1
        _expect(abs(value) <= float_info.max, "expected a finite number")
        value = float(value)
    _expect(type(value) is _LITERALS[word], f"expected a value of the kind {word}")
    _expect(word != "float" or value - value == 0, "expected a finite number")
    return syntax.Literal(_int(value, -MAX_INT - 1, MAX_INT) if word == "int" else value)


def _name_node(_: str, plain: list[Any], below: list[Any]) -> syntax.Node:
    name, variable, index = _none(plain, below)
    _expect(
        index in ("", "i", "i-1") and (not index or variable is not None),
        "expected an index of '', 'i' or 'i-1'",
    )
    return syntax.Name(_name(name), _optional(variable), index)


def _call(_: str, plain: list[Any], below: list[Any]) -> syntax.Node:
    function, attribute = plain
    _expect(_name(function) == function.upper(), "expected the function's name in upper case")
    return syntax.Call(function, tuple(below), _optional(attribute))


def _logic(word: str, _: list[Any], below: list[Any]) -> syntax.Node:
    upper: Any = word.upper()
    _expect(len(below) >= 2, f"expected two or more parts in {word!r}")
    _expect(
        not any(isinstance(part, syntax.Logic) and part.word == upper for part in below),
        f"{word!r} inside itself",
    )
    return syntax.Logic(upper, tuple(below))


def _combine(word: Any, _: list[Any], below: list[Any]) -> syntax.Node:
    _expect(bool(below), f"expected a part in {word!r}")
    return syntax.Combine(word, tuple(below))


def _in(word: str, _: list[Any], below: list[Any]) -> syntax.Node:
    _expect(len(below) >= 2, f"expected an option in {word!r}")
    return syntax.In(below[0], tuple(below[1:]), negated=word == "not in")


def _between(word: str, _: list[Any], below: list[Any]) -> syntax.Node:
    value, low, high = below if len(below) == 3 else _fail(f"expected three parts in {word!r}")
    return syntax.Between(value, low, high, negated=word == "not between")


def _binary(word: str, _: list[Any], below: list[Any]) -> syntax.Node:
    left, right = below if len(below) == 2 else _fail(f"expected two parts in {word!r}")
    return syntax.Binary(word, left, right)


def _one(below: list[Any]) -> Any:
    return below[0] if len(below) == 1 else _fail("expected one part")


def _none(node: Any, below: list[Any]) -> Any:
    return node if not below else _fail("expected no parts")


def _name(value: Any) -> str:
    return value if isinstance(value, str) and value else _fail(f"expected a name, not {_shown(value)}")


def _optional(value: Any) -> str | None:
    return None if value is None else _name(value)


def _int(value: Any, low: int, high: int) -> int:
    if type(value) is int and low <= value <= high:
        return value
    raise ValueError(f"expected a whole number from {low} to {high}, not {_shown(value)}")


def _size(value: Any, what: str) -> int:
    size = _int(value, -MAX_INT - 1, MAX_INT)
    wrong = size_problem(size, what)
    _expect(wrong is None, wrong[0] if wrong else "")
    return size


def _shown(value: Any) -> str:
    """A wrong value for a message: short, and safe for values of any depth."""
    if isinstance(value, str | float | bool | None) or (isinstance(value, int) and abs(value) < 10**40):
        return repr(value)[:40]
    return f"a value of the kind {type(value).__name__}"


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else _fail("expected a list")


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        _fail(otherwise)


def _fail(why: str) -> NoReturn:
    raise ValueError(why)


_Make = Callable[[str, list[Any], list[Any]], syntax.Node]
_PATTERN_WORDS = frozenset({"event", "NOT", "repeat", *_COMBINE})
_MAKE: Final[dict[str, _Make]] = {
    "event": lambda _, plain, below: _none(syntax.Atom(_name(plain[0]), _optional(plain[1])), below),
    "NOT": lambda _, __, below: syntax.Not(_one(below)),
    "repeat": _repeat,
    **dict.fromkeys(_COMBINE, _combine),
    **dict.fromkeys(_BINARY, _binary),
    **dict.fromkeys(_LITERALS, _literal),
    "null": lambda _, __, below: _none(syntax.Literal(None), below),
    "duration": lambda _, plain, below: _none(syntax.Duration(_int(plain[0], -MAX_INT, MAX_INT)), below),
    "timestamp": lambda _, plain, below: _none(syntax.Timestamp(_int(plain[0], -MAX_INT, MAX_INT)), below),
    "name": _name_node,
    "all": lambda _, __, below: _none(syntax.Star(), below),
    "call": _call,
    "same": lambda _, plain, below: _none(syntax.Same(_name(plain[0])), below),
    "neg": lambda _, __, below: syntax.Unary("-", _one(below)),
    "not": lambda _, __, below: syntax.Unary("NOT", _one(below)),
    "and": _logic,
    "or": _logic,
    "in": _in,
    "not in": _in,
    "between": _between,
    "not between": _between,
    "is null": lambda _, __, below: syntax.IsNull(_one(below)),
    "is not null": lambda _, __, below: syntax.IsNull(_one(below), negated=True),
}
