"""What each operator computes, as the text of a pattern over its columns; an Emit names its variables."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from stretto.pattern.piece import Place
from stretto.plan.ops import Emit, Filter, Forbid, Join, Next, Op, Repeat, Scan, Union


def column_name(column: int) -> str:
    return f"c{column}"


@dataclass(frozen=True, slots=True)
class Absence:
    """A forbidden type and the columns that bound its interval."""

    type: str
    place: Place
    after: tuple[int, ...]
    before: tuple[int, ...]

    def text(self, names: Callable[[int], str] = column_name) -> str:
        after, before = (", ".join(map(names, columns)) for columns in (self.after, self.before))
        where = {
            Place.BETWEEN: f"between {after} and {before}",
            Place.FIRST: f"before {before}",
            Place.LAST: f"after {after}",
            Place.ANYWHERE: "anywhere",
        }
        return f"{self.type} {where[self.place]}"


@dataclass(frozen=True, slots=True)
class Shape:
    """A type at a column, or SEQ, AND or OR of parts; `mark` is its repetition, `without` what it forbids."""

    word: str
    parts: tuple["Shape", ...] = ()
    column: int = -1
    mark: str = ""
    without: tuple[Absence, ...] = ()

    def columns(self) -> frozenset[int]:
        own = frozenset(() if self.parts else (self.column,))
        return own.union(*(part.columns() for part in self.parts))

    def moved(self, to: Callable[[int], int]) -> "Shape":
        """The same over renumbered columns."""
        without = tuple(
            replace(a, after=tuple(map(to, a.after)), before=tuple(map(to, a.before))) for a in self.without
        )
        if not self.parts:
            return replace(self, column=to(self.column), without=without)
        return replace(self, parts=tuple(part.moved(to) for part in self.parts), without=without)

    def marked(self, columns: frozenset[int], mark: str) -> "Shape":
        """The smallest part that holds all these columns gets the mark."""
        for number, part in enumerate(self.parts):
            if columns <= part.columns():
                changed = part.marked(columns, mark)
                return replace(self, parts=(*self.parts[:number], changed, *self.parts[number + 1 :]))
        return replace(self, mark=mark)

    def text(self, names: Callable[[int], str] = column_name) -> str:
        if self.parts:
            own = f"{self.word}({', '.join(part.text(names) for part in self.parts)}){self.mark}"
        else:
            own = f"{self.word} {names(self.column)}{self.mark}"
        return own + "".join(f" without {absence.text(names)}" for absence in self.without)


def piece_texts(ops: Sequence[Op]) -> tuple[str, ...]:
    """The texts of all operators, which stand in topological order."""
    shapes: list[Shape] = []
    texts: list[str] = []
    for op in ops:
        shape = _shape(op, shapes)
        shapes.append(shape)
        texts.append(shape.text(op.variables.__getitem__) if isinstance(op, Emit) else shape.text())
    return tuple(texts)


def _shape(op: Op, known: list[Shape]) -> Shape:
    match op:
        case Scan():
            return Shape(op.stream.type, column=0)
        case Join():
            return _joined(op, known)
        case Filter():
            return known[op.input]
        case Repeat():
            return known[op.base].marked(frozenset(op.final), repetition(op.low, op.high))
        case Forbid():
            absence = Absence(known[op.events].word, op.place, op.after, op.before)
            return replace(known[op.input], without=(*known[op.input].without, absence))
        case Next():
            steps = zip(op.steps, op.bounds, strict=True)
            parts = (replace(known[s], column=i, mark=repetition(*b)) for i, (s, b) in enumerate(steps))
            return Shape("NEXT SEQ", tuple(parts))
        case Union() | Emit():
            return _united(op, known)
    raise TypeError(f"not an operator: {type(op).__name__}")


def _joined(op: Join, known: list[Shape]) -> Shape:
    word = "SEQ" if op.order == "before" else "AND"
    left, right = known[op.left], known[op.right]
    shift = max(left.columns()) + 1
    opened = left.word == word and not left.mark and not left.without
    parts = left.parts if opened else (left,)
    return Shape(word, (*parts, right.moved(lambda column: column + shift)))


def _united(op: Union | Emit, known: list[Shape]) -> Shape:
    parts = []
    for part, columns in zip(op.parts, op.columns, strict=True):
        parts.append(known[part].moved(columns.__getitem__))
    return parts[0] if len(parts) == 1 else Shape("OR", tuple(parts))


def repetition(low: int, high: int | None) -> str:
    """Bounds as the language writes them."""
    short = {(1, 1): "", (1, None): "+", (0, None): "*", (0, 1): "?"}
    return short.get((low, high), f"{{{low},{'' if high is None else high}}}")
