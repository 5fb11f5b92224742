"""Short text of terms, streams, windows and pieces, for EXPLAIN and for error messages of plans."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from stretto.pattern.disjunction import streams_of_group
from stretto.pattern.nodes import Stream, Window
from stretto.pattern.order import Order
from stretto.pattern.piece import Group, Negation, Piece, Place, Slot
from stretto.pattern.predicates import Apply, Const, Element, Expr, Param, Reduce, Ref, Which, rewrite
from stretto.schema import Kind

T = TypeVar("T")

_UNITS: Final = (
    (86_400_000_000, "d"),
    (3_600_000_000, "h"),
    (60_000_000, "m"),
    (1_000_000, "s"),
    (1000, "ms"),
)
_TESTS: Final = {
    "like": "LIKE",
    "ilike": "ILIKE",
    "matches": "MATCHES",
    "imatches": "IMATCHES",
    "contains": "CONTAINS",
    "has": "CONTAINS",
}
_NAMES: Final = {"size": "LENGTH", "any_of": "ANY", "all_of": "ALL"}
EXACT: Final = 1e15
"""Doubles below it that are whole numbers are written without `.0`."""
_BINDS: Final = {
    "or": 1,
    "and": 2,
    "not": 3,
    **dict.fromkeys(("=", "!=", "<", "<=", ">", ">=", "in", "is_null", "is_not_null", *_TESTS), 4),
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
    """A term over columns as a user would write it, by the columns' names or else their numbers: `0.x < 1.x`."""
    return _text(rewrite(expr, _as_written), names, 0)


def key_text(expr: Expr, names: Sequence[str] | None = None) -> str:
    """A term in the spelling that files of statistics know it by, which must not change."""
    return _text(expr, names, 0)


def conjunction_text(terms: Iterable[Expr], names: Sequence[str] | None = None) -> str:
    """Terms that must all hold; an OR among several stands in parentheses."""
    found = [rewrite(term, _as_written) for term in terms]
    return " AND ".join(_text(term, names, _BINDS["or"] if len(found) > 1 else 0) for term in found)


def _as_written(node: Expr) -> Expr | None:
    """How a user would write what the binder spells in its own way."""
    match node:
        case Apply("=", (value, other)) if value == other:  # how a key asks for a value
            return Apply("is_not_null", (value,), Kind.BOOL)
        case Apply("not", (Apply("is_null", (value,)),)):
            return Apply("is_not_null", (value,), Kind.BOOL)
        case Const(float(value)) if value.is_integer() and abs(value) < EXACT:
            return Const(int(value), Kind.INT)
    return None


def _text(expr: Expr, names: Sequence[str] | None, around: int) -> str:
    match expr:
        case Ref(column, attribute, _, which):
            return _reference(_name(column, names), attribute, which)
        case Reduce(function, column, attribute, _):
            return f"{function}({_name(column, names)}{'.' * bool(attribute)}{attribute})"
        case Const():
            return _constant(expr)
        case Param(attribute):
            return f"row.{attribute}"
        case Apply("any" | "all" as word, (of, condition), _):
            return _text(_about(condition, Apply(f"{word}_of", (of,), Kind.BOOL)), names, around)
        case Apply(op, arguments, _):
            binds = _BINDS.get(op, 9)
            text = _applied(op, arguments, names, binds)
            return f"({text})" if binds <= around else text
    raise AssertionError(expr)


def _about(condition: Expr, element: Expr) -> Expr:
    """A condition over the elements of a list, with the list in the place of the element."""
    return rewrite(condition, lambda node: element if isinstance(node, Element) else None)


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
    if op == "is_not_null":
        return f"{_text(arguments[0], names, binds)} IS NOT NULL"
    if op == "not":
        return f"NOT {_text(arguments[0], names, binds - 1)}"
    if op == "neg":
        return f"-{_text(arguments[0], names, binds)}"
    if op in _TESTS:
        value, pattern, *escape = (_text(part, names, binds) for part in arguments)
        return f"{value} {_TESTS[op]} {pattern}" + (f" ESCAPE {escape[0]}" if escape else "")
    if op == "case":
        parts = [_text(part, names, 0) for part in arguments]
        whens = [f"WHEN {when} THEN {then}" for when, then in zip(parts[:-1:2], parts[1:-1:2], strict=True)]
        return f"CASE {' '.join(whens)} ELSE {parts[-1]} END"
    if op in ("and", "or"):
        return f" {op.upper()} ".join(_text(part, names, binds) for part in arguments)
    if binds < 9:
        left, right = arguments
        return f"{_text(left, names, binds - 1 if binds > 4 else binds)} {op} {_text(right, names, binds)}"
    name = _NAMES.get(op, op.removeprefix("user:").upper())
    return f"{name}({', '.join(_text(argument, names, 0) for argument in arguments)})"


def stream_text(stream: Stream) -> str:
    """A type with the terms its events pass: `Buy[volume > 1000]`."""
    return f"{stream.type}[{conjunction_text(stream.where, ('',))}]" if stream.where else stream.type


def stream_key(stream: Stream) -> str:
    """The same in the spelling that files of statistics know it by, which must not change."""
    if not stream.where:
        return stream.type
    return f"{stream.type}[{' AND '.join(key_text(term, ('',)) for term in stream.where)}]"


def frame_key(piece: Piece) -> str:
    """A piece without terms in the spelling that files of statistics know it by, which must not change."""
    return f"{_shape(piece, None, stream_key)} within {window_text(piece.window)}"


def piece_text(piece: Piece, names: Sequence[str] | None = None) -> str:
    """A piece on one line: `SEQ(A, B, C+) where 0.x < 1.x within 10s`; with names of its columns `SEQ(A a, B b) ..`."""
    parts = [_shape(piece, names, stream_text)]
    terms = [rewrite(term, _as_written) for term in piece.terms]
    around = _BINDS["or"] if len(terms) + len(piece.same) > 1 else 0
    conditions = [
        *(_text(term, names, around) for term in terms),
        *(f"[{attribute}]" for attribute in piece.same),
    ]
    if conditions:
        parts.append("where " + " AND ".join(conditions))
    if piece.having:
        parts.append("having " + conjunction_text(piece.having, names))
    parts.extend(_negation(negation, piece, names) for negation in piece.negations)
    if piece.window.size:  # one event alone has none
        parts.append(f"within {window_text(piece.window)}")
    if piece.follows:
        parts.append(f"select {piece.policy}")
    return " ".join(parts)


def shape_text(piece: Piece, names: Sequence[str]) -> str:
    """A piece's types, their order and repetitions, and what it forbids: `SEQ(A a, B b+) without C between a and b`."""
    parts = [_shape(piece, names, lambda stream: stream.type)]
    parts.extend(f"without {n.stream.type} {_place(n, piece, names)}" for n in piece.negations)
    return (f"{piece.policy} " if piece.follows else "") + " ".join(parts)


def _shape(piece: Piece, names: Sequence[str] | None, shown: Callable[[Stream], str]) -> str:
    """The slots as nested SEQ and AND where the order allows it, else with the order spelled out."""
    own = [None if names is None else [names[c] for c in piece.columns(i)] for i in range(len(piece.slots))]
    texts = [_slot(slot, called, shown) for slot, called in zip(piece.slots, own, strict=True)]
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


def _slot(slot: Slot, names: Sequence[str] | None, shown: Callable[[Stream], str]) -> str:
    united = streams_of_group(slot.source) if isinstance(slot.source, Group) else None
    if united is not None:
        called = [""] * len(united) if names is None else [f" {name}" for name in names]
        each = (f"{shown(stream)}{name}" for stream, name in zip(united, called, strict=True))
        return f"ANY({', '.join(each)}){repetition_text(slot.low, slot.high)}"
    if isinstance(slot.source, Group):
        inner = []
        for branch in slot.source.branches:
            own = None if names is None else [names[column] for column in branch.columns]
            inner.append(_repetition(branch.piece, own, shown))
        text = inner[0] if len(inner) == 1 and inner[0].endswith(")") else f"({' | '.join(inner)})"
    else:
        text = shown(slot.source) if names is None else f"{shown(slot.source)} {names[0]}"
    marked_once = names is None and isinstance(slot.source, Group) and (slot.low, slot.high) == (1, 1)
    return text + ("{1,1}" if marked_once else repetition_text(slot.low, slot.high))


def _repetition(piece: Piece, names: Sequence[str] | None, shown: Callable[[Stream], str]) -> str:
    """One alternative of a group; its terms read its own columns."""
    terms = conjunction_text(piece.terms, names) if shown is stream_text else ""
    shape = _shape(piece, names, shown)
    return f"({shape} where {terms})" if terms else shape


def repetition_text(low: int, high: int | None) -> str:
    """Bounds as the language writes them; nothing for a single one."""
    known = {(1, 1): "", (1, None): "+", (0, None): "*", (0, 1): "?"}
    return known.get((low, high), f"{{{low},{'' if high is None else high}}}")


def _negation(negation: Negation, piece: Piece, names: Sequence[str] | None) -> str:
    known = [_name(i, names) for i in range(piece.width)] + ["it"]
    terms = conjunction_text(negation.terms, known)
    text = f"without {stream_text(negation.stream)} {_place(negation, piece, names)}"
    return text + (f" where {terms}" if terms else "")


def _place(negation: Negation, piece: Piece, names: Sequence[str] | None) -> str:
    after, before = (_slots(slots, piece, names) for slots in (negation.after, negation.before))
    return place_text(negation.place, after, before)


def place_text(place: Place, after: str, before: str) -> str:
    """Where something is forbidden, given what its interval lies after and before."""
    return {
        Place.BETWEEN: f"between {after} and {before}",
        Place.FIRST: f"before {before}",
        Place.LAST: f"after {after}",
        Place.ANYWHERE: "anywhere",
        Place.OPEN: f"between {after} and {before}, or up to the end of the window where none of these is bound",
    }[place]


def _slots(slots: Sequence[int], piece: Piece, names: Sequence[str] | None) -> str:
    """Slots by their numbers, or by the names of their columns."""
    if names is None:
        return ",".join(str(slot) for slot in slots)
    return ", ".join(names[column] for slot in slots for column in piece.columns(slot))
