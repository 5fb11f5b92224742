"""Short text of terms, streams, windows and pieces, for EXPLAIN and for error messages of plans."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from stretto.pattern.nodes import Policy, Stream, Window
from stretto.pattern.order import Order
from stretto.pattern.piece import Group, Negation, Piece, Place, Slot
from stretto.pattern.predicates import Apply, Const, Expr, Reduce, Ref, Which
from stretto.schema import Kind

T = TypeVar("T")

_UNITS: Final = (
    (86_400_000_000, "d"),
    (3_600_000_000, "h"),
    (60_000_000, "m"),
    (1_000_000, "s"),
    (1000, "ms"),
)
_BINDS: Final = {
    "or": 1,
    "and": 2,
    "not": 3,
    **dict.fromkeys(("=", "!=", "<", "<=", ">", ">=", "in", "is_null"), 4),
    **dict.fromkeys(("+", "-"), 5),
    **dict.fromkeys(("*", "/", "%"), 6),
    "neg": 7,
}


def duration_text(us: int) -> str:
    """A duration in the largest unit that holds it exactly."""
    for size, unit in _UNITS:
        if us and us % size == 0:
            return f"{us // size}{unit}"
    return f"{us}us"


def window_text(window: Window) -> str:
    return duration_text(window.size) if window.unit == "us" else f"{window.size} events"


def term_text(expr: Expr, names: Sequence[str] | None = None) -> str:
    """A term over columns, by their names or else their numbers: `0.x < 1.x`."""
    return _text(expr, names, 0)


def _text(expr: Expr, names: Sequence[str] | None, around: int) -> str:
    match expr:
        case Ref(column, attribute, _, which):
            return _reference(_name(column, names), attribute, which)
        case Reduce(function, column, attribute, _):
            return f"{function}({_name(column, names)}{'.' * bool(attribute)}{attribute})"
        case Const():
            return _constant(expr)
        case Apply(op, arguments, _):
            binds = _BINDS.get(op, 9)
            text = _applied(op, arguments, names, binds)
            return f"({text})" if binds <= around else text
    raise AssertionError(expr)


def _name(column: int, names: Sequence[str] | None) -> str:
    return str(column) if names is None or column >= len(names) else names[column]


def _reference(name: str, attribute: str, which: Which) -> str:
    if which in (Which.FIRST, Which.LAST):
        name = f"{which.name}({name})"
    elif which is not Which.EACH:
        name = f"{name}[{which.value}]"
    return f"{name}.{attribute}" if name else attribute


def _constant(const: Const) -> str:
    if const.value is None:
        return "NULL"
    if const.kind is Kind.STRING:
        return "'" + str(const.value).replace("'", "''") + "'"
    if const.kind is Kind.DURATION and isinstance(const.value, int):
        return duration_text(const.value)
    return str(const.value).upper() if const.kind is Kind.BOOL else repr(const.value)


def _applied(op: str, arguments: tuple[Expr, ...], names: Sequence[str] | None, binds: int) -> str:
    if op == "to_float":  # a conversion that no reader needs to see
        return _text(arguments[0], names, binds - 1 if binds < 9 else 0)
    if op == "in":
        options = ", ".join(_text(option, names, 0) for option in arguments[1:])
        return f"{_text(arguments[0], names, binds)} IN ({options})"
    if op == "is_null":
        return f"{_text(arguments[0], names, binds)} IS NULL"
    if op == "not":
        return f"NOT {_text(arguments[0], names, binds - 1)}"
    if op == "neg":
        return f"-{_text(arguments[0], names, binds)}"
    if op in ("and", "or"):
        return f" {op.upper()} ".join(_text(part, names, binds) for part in arguments)
    if binds < 9:
        left, right = arguments
        return f"{_text(left, names, binds - 1 if binds > 4 else binds)} {op} {_text(right, names, binds)}"
    name = op.removeprefix("user:").upper()
    return f"{name}({', '.join(_text(argument, names, 0) for argument in arguments)})"


def stream_text(stream: Stream) -> str:
    """A type with the terms its events pass: `Buy[volume > 1000]`."""
    if not stream.where:
        return stream.type
    return f"{stream.type}[{' AND '.join(term_text(term, ('',)) for term in stream.where)}]"


def piece_text(piece: Piece, names: Sequence[str] | None = None) -> str:
    """A piece on one line: `SEQ(A, B, C+) where 0.x < 1.x within 10s`."""
    parts = [_shape(piece)]
    terms = [term_text(term, names) for term in piece.terms]
    conditions = [*terms, *(f"[{attribute}]" for attribute in piece.same)]
    if conditions:
        parts.append("where " + " AND ".join(conditions))
    parts.extend(_negation(negation, piece, names) for negation in piece.negations)
    parts.append(f"within {window_text(piece.window)}")
    if piece.policy is not Policy.ANY:
        parts.append(f"select {piece.policy}")
    return " ".join(parts)


def _shape(piece: Piece) -> str:
    """The slots as nested SEQ and AND where the order allows it, else with the order spelled out."""
    texts = [_slot(slot) for slot in piece.slots]
    if len(texts) == 1:
        return texts[0]
    nested = series_parallel(
        range(len(texts)),
        piece.order,
        texts.__getitem__,
        lambda word, parts: f"{word}({', '.join(parts)})",
    )
    if nested is not None:
        return nested
    order = ", ".join(f"{i}<{j}" for i, j in piece.order)
    return f"AND({', '.join(texts)}) ordered {order}"


def series_parallel(
    numbers: Sequence[int],
    order: Order,
    one: Callable[[int], T],
    many: Callable[[str, list[T]], T],
) -> T | None:
    """Numbers as SEQs of ANDs of SEQs ..: cut where all before a point precede all after it; None if that fails.

    `one` gives a number's own form, `many` that of SEQ or AND of several.
    """
    if len(numbers) == 1:
        return one(numbers[0])
    word, parts = "SEQ", order.in_series(numbers)
    if len(parts) == 1:
        word, parts = "AND", order.unrelated(numbers)
    if len(parts) == 1:
        return None
    found: list[T] = []
    for part in parts:
        inner = series_parallel(part, order, one, many)
        if inner is None:
            return None
        found.append(inner)
    return many(word, found)


def _slot(slot: Slot) -> str:
    if isinstance(slot.source, Group):
        inner = [_repetition(branch.piece) for branch in slot.source.branches]
        text = inner[0] if len(inner) == 1 and inner[0].endswith(")") else f"({' | '.join(inner)})"
    else:
        text = stream_text(slot.source)
    return text + _bounds(slot)


def _repetition(piece: Piece) -> str:
    """One alternative of a group; its terms read its own columns."""
    terms = " AND ".join(term_text(term) for term in piece.terms)
    return f"({_shape(piece)} where {terms})" if terms else _shape(piece)


def _bounds(slot: Slot) -> str:
    if not slot.repeats:
        return ""
    known = {(1, None): "+", (0, None): "*", (0, 1): "?"}
    high = "" if slot.high is None else slot.high
    return known.get((slot.low, slot.high), f"{{{slot.low},{high}}}")


def _negation(negation: Negation, piece: Piece, names: Sequence[str] | None) -> str:
    width = piece.width
    known = [_name(i, names) for i in range(width)] + ["it"]
    where = {
        Place.BETWEEN: f"between {_numbers(negation.after)} and {_numbers(negation.before)}",
        Place.FIRST: f"before {_numbers(negation.before)}",
        Place.LAST: f"after {_numbers(negation.after)}",
        Place.ANYWHERE: "anywhere",
    }[negation.place]
    terms = " AND ".join(term_text(term, known) for term in negation.terms)
    return f"without {stream_text(negation.stream)} {where}" + (f" where {terms}" if terms else "")


def _numbers(slots: tuple[int, ...]) -> str:
    return ",".join(str(slot) for slot in slots)
