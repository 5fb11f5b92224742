"""What each operator computes on one line: its piece, every condition its rows meet, and its window."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stretto.pattern.describe import term_text, window_text
from stretto.pattern.nodes import Window
from stretto.pattern.predicates import Apply, Expr
from stretto.plan.dag import Plan
from stretto.plan.ops import Emit, Filter, Forbid, Join, Next, Op, Repeat, Scan, Union
from stretto.plan.pieces import column_name, in_order


@dataclass(frozen=True, slots=True)
class Name:
    """How a term's column is written: a column of the rows, perhaps inside some text, or a text alone."""

    column: int | None
    text: str = "{}"

    def shown(self) -> str:
        return self.text if self.column is None else self.text.format(column_name(self.column))


Names = tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class Condition:
    """A term, and the name of each of its columns."""

    term: Expr
    names: Names

    def moved(self, to: Sequence[int]) -> "Condition":
        """The same over rows in which column c is column to[c]."""
        names = (n if n.column is None else Name(to[n.column], n.text) for n in self.names)
        return Condition(self.term, tuple(names))

    def shown(self) -> str:
        text = term_text(self.term, [name.shown() for name in self.names])
        return f"({text})" if isinstance(self.term, Apply) and self.term.op == "or" else text


def labels(plan: Plan) -> tuple[str, ...]:
    """`SEQ(A c0, B c1) where c0.x < c1.x within 10s` for every operator; an Emit's is its piece alone."""
    conditions: list[list[Condition]] = []
    windows: list[Window | None] = []
    for op in plan.ops:
        conditions.append(_conditions(op, plan, conditions))
        windows.append(_window(op, windows))
    return tuple(
        plan.pieces[number] if isinstance(op, Emit) else _label(plan.pieces[number], found, window)
        for number, (op, found, window) in enumerate(zip(plan.ops, conditions, windows, strict=True))
    )


def _label(piece: str, conditions: Iterable[Condition], window: Window | None) -> str:
    texts = dict.fromkeys(condition.shown() for condition in conditions if not _trivial(condition.term))
    where = f" where {' AND '.join(texts)}" if texts else ""
    return f"{piece}{where}" + (f" within {window_text(window)}" if window else "")


def _trivial(term: Expr) -> bool:
    """Whether a term says no more than that there is a value."""
    return isinstance(term, Apply) and term.op == "=" and term.arguments[0] == term.arguments[1]


def _window(op: Op, known: Sequence[Window | None]) -> Window | None:
    match op:
        case Join() | Repeat() | Forbid() | Next():
            return op.window
        case Filter():
            return op.window or known[op.input]
    return None


def _conditions(op: Op, plan: Plan, known: Sequence[list[Condition]]) -> list[Condition]:
    """What the rows of an operator meet, its inputs' conditions first; order is part of the piece."""
    match op:
        case Scan():
            return _own(op.stream.where, _plain(1))
        case Join():
            left, right = plan.width(op.left), plan.width(op.right)
            shifted = [condition.moved(range(left, left + right)) for condition in known[op.right]]
            return [*known[op.left], *shifted, *_own(op.terms, _plain(left + right))]
        case Filter():
            return [*known[op.input], *_own(op.terms, _plain(plan.width(op.input)))]
        case Repeat():
            return [*known[op.base], *_repeated(op, plan.width(op.base))]
        case Forbid():
            return [*known[op.input], *_forbidden(op, plan)]
        case Next():
            steps = (c.moved((i,)) for i, step in enumerate(op.steps) for c in known[step])
            return [*steps, *_own(op.terms, _plain(len(op.steps)))]
        case Union():
            parts = zip(op.parts, op.columns, strict=True)
            return [condition.moved(columns) for part, columns in parts for condition in known[part]]
    return []


def _own(terms: Iterable[Expr], names: Names) -> list[Condition]:
    return [Condition(term, names) for term in terms if in_order(term) is None]


def _plain(width: int) -> Names:
    return tuple(Name(column) for column in range(width))


def _repeated(op: Repeat, width: int) -> list[Condition]:
    """A term over every repetition is written as one over its column."""
    base = _plain(width)
    each, previous, current, first = (
        tuple(Name(column, text) for column in op.final) for text in ("{}", "{}[i-1]", "{}[i]", "FIRST({})")
    )
    return [
        *_own(op.terms, (*base, *each)),
        *_own(op.adjacent, (*base, *previous, *current)),
        *_own(op.start, (*base, *first)),
    ]


def _forbidden(op: Forbid, plan: Plan) -> list[Condition]:
    scanned = plan.ops[op.events]
    assert isinstance(scanned, Scan)
    it = (Name(None, scanned.stream.type),)
    return [*_own(scanned.stream.where, it), *_own(op.terms, (*_plain(plan.width(op.input)), *it))]
