"""Patterns and expressions as JSON arrays and back; `json.py` has the form of both."""

from collections.abc import Callable, Sequence
from sys import float_info
from typing import Any, Final, NoReturn

from stretto.text import syntax
from stretto.text.terminals import TESTS
from stretto.text.values import MAX_INT, size_problem
from stretto.text.walk import MAX_DEPTH, fold, fold_syntax

_COMBINE = ("SEQ", "AND", "OR", "ANY")
_BINARY = ("+", "-", "*", "/", "%", "=", "!=", "<", "<=", ">", ">=")
_LITERALS: dict[str, type] = {"int": int, "float": float, "string": str, "bool": bool}
_LITERAL_WORDS = {kind.__name__: word for word, kind in _LITERALS.items()}
# How many leading entries behind the word are plain values and not nodes; words left out here have nodes only.
_PLAIN = {"event": 2, "int": 1, "float": 1, "string": 1, "bool": 1, "duration": 1, "timestamp": 1, "name": 3}
_PLAIN |= {"same": 1, "call": 2}


def node_json(node: syntax.Node) -> list[Any]:
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
            return ["all"] if node.variable is None else ["all", node.variable]
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
        case syntax.TextTest():
            return [("not " if node.negated else "") + node.word.lower()]
        case syntax.Case():
            return ["case"]
        case _:
            raise TypeError(f"not a pattern or expression: {node!r}")


# ---- reading: every check raises ValueError with what was expected


def read_node(data: Any) -> syntax.Node:
    depth = fold(data, _below, lambda _, below: 1 + max(below, default=0))
    expect(depth <= MAX_DEPTH, f"nested more than {MAX_DEPTH:,} levels deep")
    node: syntax.Node = fold(data, _below, _build)
    return node


def _below(data: Any) -> Sequence[Any]:
    """The nodes inside an array."""
    if not isinstance(data, list) or not data or not isinstance(data[0], str):
        raise ValueError(f"expected a pattern or expression as an array, not {shown(data)}")
    return data[1:2] if data[0] == "repeat" else data[1 + _PLAIN.get(data[0], 0) :]


def _build(data: list[Any], below: list[Any]) -> syntax.Node:
    word = data[0]
    count = _PLAIN.get(word, 0)
    plain = data[2:] if word == "repeat" else data[1 : 1 + count]
    expect(word in _MAKE, f"unknown word {word[:40]!r}")
    expect(word == "repeat" or len(plain) == count, f"too few entries behind {word!r}")
    kind = syntax.Pattern if word in _PATTERN_WORDS else syntax.Expression
    expect(all(isinstance(node, kind) for node in below), f"wrong kind of part in {word!r}")
    starred = any(isinstance(node, syntax.Star) for node in below)
    expect(
        not starred or (word == "call" and len(below) == 1),
        "'all' stands alone in a call or in a stream's items",
    )
    return _MAKE[word](word, plain, below)


def _repeat(_: str, plain: list[Any], below: list[Any]) -> syntax.Node:
    low, high = plain if len(plain) == 2 else fail("expected two bounds in 'repeat'")
    least = integer(low, 0, MAX_INT)
    return syntax.Repeat(_one(below), least, None if high is None else integer(high, max(least, 1), MAX_INT))


def _literal(word: str, plain: list[Any], below: list[Any]) -> syntax.Node:
    value = _none(plain[0], below)
    if word == "float" and type(value) is int:  # other programs write 1.0 as 1
        expect(abs(value) <= float_info.max, "expected a finite number")
        value = float(value)
    expect(type(value) is _LITERALS[word], f"expected a value of the kind {word}")
    expect(word != "float" or value - value == 0, "expected a finite number")
    return syntax.Literal(integer(value, -MAX_INT - 1, MAX_INT) if word == "int" else value)


def _name_node(_: str, plain: list[Any], below: list[Any]) -> syntax.Node:
    name, variable, index = _none(plain, below)
    expect(
        index in ("", "i", "i-1") and (not index or variable is not None),
        "expected an index of '', 'i' or 'i-1'",
    )
    return syntax.Name(name_of(name), optional_name(variable), index)


def _call(_: str, plain: list[Any], below: list[Any]) -> syntax.Node:
    function, attribute = plain
    expect(name_of(function) == function.upper(), "expected the function's name in upper case")
    return syntax.Call(function, tuple(below), optional_name(attribute))


def _logic(word: str, _: list[Any], below: list[Any]) -> syntax.Node:
    upper: Any = word.upper()
    expect(len(below) >= 2, f"expected two or more parts in {word!r}")
    expect(
        not any(isinstance(part, syntax.Logic) and part.word == upper for part in below),
        f"{word!r} inside itself",
    )
    return syntax.Logic(upper, tuple(below))


def _combine(word: Any, _: list[Any], below: list[Any]) -> syntax.Node:
    expect(bool(below), f"expected a part in {word!r}")
    return syntax.Combine(word, tuple(below))


def _in(word: str, _: list[Any], below: list[Any]) -> syntax.Node:
    expect(len(below) >= 2, f"expected an option in {word!r}")
    return syntax.In(below[0], tuple(below[1:]), negated=word == "not in")


def _text_test(word: str, _: list[Any], below: list[Any]) -> syntax.Node:
    upper: Any = word.removeprefix("not ").upper()
    most = 3 if upper in ("LIKE", "ILIKE") else 2
    expect(2 <= len(below) <= most, f"expected a value and a pattern in {word!r}")
    return syntax.TextTest(upper, below[0], below[1], (*below, None)[2], negated=word.startswith("not "))


def _case(_: str, __: list[Any], below: list[Any]) -> syntax.Node:
    expect(len(below) >= 2, "expected a condition and a value in 'case'")
    whens = tuple(zip(below[0::2], below[1::2], strict=False))
    return syntax.Case(whens, below[-1] if len(below) % 2 else None)


def _between(word: str, _: list[Any], below: list[Any]) -> syntax.Node:
    value, low, high = below if len(below) == 3 else fail(f"expected three parts in {word!r}")
    return syntax.Between(value, low, high, negated=word == "not between")


def _binary(word: str, _: list[Any], below: list[Any]) -> syntax.Node:
    left, right = below if len(below) == 2 else fail(f"expected two parts in {word!r}")
    return syntax.Binary(word, left, right)


def _one(below: list[Any]) -> Any:
    return below[0] if len(below) == 1 else fail("expected one part")


def _none(node: Any, below: list[Any]) -> Any:
    return node if not below else fail("expected no parts")


def name_of(value: Any) -> str:
    return value if isinstance(value, str) and value else fail(f"expected a name, not {shown(value)}")


def optional_name(value: Any) -> str | None:
    return None if value is None else name_of(value)


def integer(value: Any, low: int, high: int) -> int:
    if type(value) is int and low <= value <= high:
        return value
    raise ValueError(f"expected a whole number from {low} to {high}, not {shown(value)}")


def size_of(value: Any, what: str) -> int:
    size = integer(value, -MAX_INT - 1, MAX_INT)
    wrong = size_problem(size, what)
    expect(wrong is None, wrong[0] if wrong else "")
    return size


def shown(value: Any) -> str:
    """A wrong value for a message: short, and safe for values of any depth."""
    if isinstance(value, str | float | bool | None) or (isinstance(value, int) and abs(value) < 10**40):
        return repr(value)[:40]
    return f"a value of the kind {type(value).__name__}"


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else fail("expected a list")


def expect(holds: bool, otherwise: str) -> None:
    if not holds:
        fail(otherwise)


def fail(why: str) -> NoReturn:
    raise ValueError(why)


_Make = Callable[[str, list[Any], list[Any]], syntax.Node]
_PATTERN_WORDS = frozenset({"event", "NOT", "repeat", *_COMBINE})
_MAKE: Final[dict[str, _Make]] = {
    "event": lambda _, plain, below: _none(syntax.Atom(name_of(plain[0]), optional_name(plain[1])), below),
    "NOT": lambda _, __, below: syntax.Not(_one(below)),
    "repeat": _repeat,
    **dict.fromkeys(_COMBINE, _combine),
    **dict.fromkeys(_BINARY, _binary),
    **dict.fromkeys(_LITERALS, _literal),
    "null": lambda _, __, below: _none(syntax.Literal(None), below),
    "duration": lambda _, plain, below: _none(syntax.Duration(integer(plain[0], -MAX_INT, MAX_INT)), below),
    "timestamp": lambda _, plain, below: _none(syntax.Timestamp(integer(plain[0], -MAX_INT, MAX_INT)), below),
    "name": _name_node,
    "all": lambda _, __, below: _none(syntax.Star(), below),
    "call": _call,
    "same": lambda _, plain, below: _none(syntax.Same(name_of(plain[0])), below),
    "neg": lambda _, __, below: syntax.Unary("-", _one(below)),
    "not": lambda _, __, below: syntax.Unary("NOT", _one(below)),
    "and": _logic,
    "or": _logic,
    "in": _in,
    "not in": _in,
    "between": _between,
    "not between": _between,
    **{negated + word.lower(): _text_test for word in TESTS for negated in ("", "not ")},
    "case": _case,
    "is null": lambda _, __, below: syntax.IsNull(_one(below)),
    "is not null": lambda _, __, below: syntax.IsNull(_one(below), negated=True),
}
