"""What each operator computes, as the text of a pattern over its columns; an Emit names its variables."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from stretto.pattern.describe import series_parallel
from stretto.pattern.order import Order
from stretto.pattern.piece import Place
from stretto.pattern.predicates import Apply, Expr, Ref, Which
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
        """The smallest part that holds all these columns gets the mark; of alternatives, all together do."""
        inside = [part for part in self.parts if part.columns() <= columns]
        if self.word == "OR" or len(inside) == len(self.parts):
            return replace(self, mark=mark)
        for number, part in enumerate(self.parts):
            if columns <= part.columns():
                changed = part.marked(columns, mark)
                return replace(self, parts=(*self.parts[:number], changed, *self.parts[number + 1 :]))
        at = self.parts.index(inside[0])
        rest = [part for part in self.parts if part not in inside]
        return replace(self, parts=(*rest[:at], Shape(self.word, tuple(inside), mark=mark), *rest[at:]))

    def opened(self, word: str) -> tuple["Shape", ...]:
        """Its parts, if it is no more than a SEQ or AND inside another; else itself."""
        plain = self.word == word and not self.mark and not self.without
        return self.parts if plain else (self,)

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
            return _arranged([known[op.input]], op.terms) or known[op.input]
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
    right = right.moved(lambda column: column + shift)
    if op.order == "any" and (found := _arranged([left, right], op.terms)):
        return found
    return Shape(word, (*left.opened(word), *right.opened(word)))


def in_order(term: Expr) -> tuple[int, int] | None:
    """The two columns of a term that says no more than that one event is earlier than another."""
    if not isinstance(term, Apply) or term.op not in ("<", ">"):
        return None
    left, right = term.arguments if term.op == "<" else term.arguments[::-1]
    if not (isinstance(left, Ref) and isinstance(right, Ref)):
        return None
    plain = left.attribute == right.attribute == "ts" and left.which is right.which is Which.EACH
    return (left.column, right.column) if plain and left.column != right.column else None


def _arranged(shapes: Iterable[Shape], terms: Iterable[Expr]) -> Shape | None:
    """The shapes as one, with the order that terms over times add; None if they add none or it nests in no way."""
    pairs = [pair for term in terms if (pair := in_order(term))]
    if not pairs:
        return None
    atoms: list[Shape] = []
    after: list[int] = []
    without: list[Absence] = []
    for shape in shapes:
        _open(shape, atoms, after, without)
    owner = {column: number for number, atom in enumerate(atoms) for column in atom.columns()}
    more = ((owner[one], owner[other]) for one, other in pairs if owner[one] != owner[other])
    nested = series_parallel(
        range(len(atoms)),
        Order.of_masks(after).with_pairs(more),
        atoms.__getitem__,
        lambda word, parts: Shape(word, tuple(parts)),
    )
    return None if nested is None else replace(nested, without=(*nested.without, *without))


def _open(shape: Shape, atoms: list[Shape], after: list[int], without: list[Absence]) -> None:
    """Take a shape apart: what SEQ and AND hold, for each of that what comes after it, and what they forbid."""
    if shape.word not in ("SEQ", "AND") or not shape.parts or shape.mark:
        atoms.append(shape)
        after.append(0)
        return
    without.extend(shape.without)
    ranges: list[range] = []
    for part in shape.parts:
        start = len(atoms)
        _open(part, atoms, after, without)
        ranges.append(range(start, len(atoms)))
    if shape.word == "SEQ":
        everything = (1 << len(atoms)) - 1
        for own in ranges:
            later = everything >> own.stop << own.stop
            for i in own:
                after[i] |= later


def _united(op: Union | Emit, known: list[Shape]) -> Shape:
    parts = []
    for part, columns in zip(op.parts, op.columns, strict=True):
        parts.append(known[part].moved(columns.__getitem__))
    return parts[0] if len(parts) == 1 else Shape("OR", tuple(parts))


def repetition(low: int, high: int | None) -> str:
    """Bounds as the language writes them."""
    short = {(1, 1): "", (1, None): "+", (0, None): "*", (0, 1): "?"}
    return short.get((low, high), f"{{{low},{'' if high is None else high}}}")
