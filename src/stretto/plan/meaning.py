"""What an operator computes, whatever its number, its inputs and the order of its columns.

Joins, filters and early negations are read back into a piece, whose canonical form is the same for every order of
joining. What no piece says (grown repetitions, a part with a narrower window of its own) is named by a digest of all
that it is made of, and is one slot of the pieces above it. So equal keys mean equal computations; equal computations
have equal keys as far as canonical forms tell.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Final

from stretto.memo.memo import WIDE
from stretto.pattern.canonical import canonical, parted_terms, piece_key
from stretto.pattern.canonical_terms import canonical_terms, key
from stretto.pattern.comparisons import equal, equality
from stretto.pattern.nodes import Policy, Stream, Window
from stretto.pattern.order import NO_ORDER, Order
from stretto.pattern.piece import Branch, Group, Negation, Piece, Place, Slot
from stretto.pattern.predicates import Expr, Ref, columns_of
from stretto.plan.dag import Plan
from stretto.plan.ops import Emit, Filter, Forbid, Join, Next, Op, Repeat, Scan, Union
from stretto.plan.pieces import in_order

ANY_WINDOW: Final = Window(0)
"""The window of what has no extent of its own: one event, or one repetition of a group."""
NAMED: Final = "@"
"""What the types of slots begin with that stand for what no piece says."""


def computed(ops: Sequence[Op]) -> tuple[Piece | None, ...]:
    """The canonical piece that each operator computes; None for an Emit. Operators stand in topological order."""
    return _computed(ops, frozenset(number for number, op in enumerate(ops) if isinstance(op, Emit)))


def _computed(ops: Sequence[Op], but: AbstractSet[int]) -> tuple[Piece | None, ...]:
    """The same, but for some operators that no others read."""
    read = _Reading(ops, but)
    return tuple(None if number in but else read.form(number)[0] for number in range(len(ops)))


def with_all_rows(plan: Plan, rows: Callable[[Piece], float]) -> Plan:
    """The plan with the rows per second of those operators too that the optimizer did not look at one by one.

    Such are the steps of a join of many inputs. What no piece says stays unknown, and what is wider than `WIDE`.
    """
    known = plan.estimate
    if known is None or None not in known.rows:
        return plan
    numbers = range(len(plan.ops))
    wide = {number for number in numbers if plan.width(number) > WIDE or isinstance(plan.ops[number], Emit)}
    pieces = _computed(plan.ops, wide)
    found = tuple(
        rows(piece) if rate is None and piece is not None and _is_whole(piece) else rate
        for rate, piece in zip(known.rows, pieces, strict=True)
    )
    return replace(plan, estimate=replace(known, rows=found))


def _is_whole(piece: Piece) -> bool:
    """Whether nothing in a piece stands for what no piece says."""
    sources = [slot.source for slot in piece.slots]
    streams = all(not isinstance(one, Stream) or not one.type.startswith(NAMED) for one in sources)
    groups = [branch.piece for one in sources if isinstance(one, Group) for branch in one.branches]
    return streams and all(map(_is_whole, groups))


@dataclass(slots=True)
class _Reading:
    """Pieces by operator, column i of each being column i of its rows."""

    ops: Sequence[Op]
    pieces: list[Piece]
    forms: dict[Piece, tuple[Piece, tuple[int, ...]]]

    def __init__(self, ops: Sequence[Op], but: AbstractSet[int]) -> None:
        self.ops, self.pieces, self.forms = ops, [], {}
        for number, op in enumerate(ops):
            self.pieces.append(NOTHING if number in but else self._piece(op))

    def form(self, number: int) -> tuple[Piece, tuple[int, ...]]:
        """The canonical form of an operator's piece, and the operator's column for each of the form's."""
        return self._form(self.pieces[number])

    def _form(self, piece: Piece) -> tuple[Piece, tuple[int, ...]]:
        if piece not in self.forms:
            self.forms[piece] = canonical(_complete(piece))
        return self.forms[piece]

    def _piece(self, op: Op) -> Piece:
        match op:
            case Scan():
                return _single(Slot(op.stream))
            case Join():
                return self._joined(op)
            case Filter():
                source = self.pieces[op.input]
                return _narrowed(_with_terms(self._open(source, op.window), op.terms), op.window)
            case Forbid():
                return self._without(op)
            case Repeat():
                return self._grown(op)
            case Next():
                return self._followed(op)
            case Union():
                parts = zip(op.parts, op.columns, strict=True)
                branches = tuple(Branch(self.pieces[part], columns) for part, columns in parts)
                united = _single(Slot(Group(op.width, branches)))
                return self._sealed(united) if op.width == 1 else united
        raise TypeError(f"not an operator: {type(op).__name__}")

    # ---- pieces that go on ---------------------------------------------------------------------------------

    def _open(self, piece: Piece, window: Window | None) -> Piece:
        """A piece to which slots, terms or a window may be added; if its meaning would change, as one slot."""
        narrower = window is not None and _is_narrower(piece.window, window)
        settled = piece.policy is Policy.ANY and all(n.place is Place.BETWEEN for n in piece.negations)
        return piece if settled and not narrower else self._sealed(piece)

    def _joined(self, op: Join) -> Piece:
        left, right = (self._open(self.pieces[part], op.window) for part in op.inputs)
        count, shift, width = len(left.slots), left.width, left.width + right.width
        slots = (*left.slots, *right.slots)
        everything = ((1 << count) - 1, (1 << len(right.slots)) - 1) if op.order == "before" else (0, 0)
        order = left.order.followed(count, right.order, *everything)
        to = {column: column + shift for column in range(right.width + 1)}
        negations = (
            *(_moved_negation(n, 0, {**_same(shift), shift: width}) for n in left.negations),
            *(_moved_negation(n, count, to) for n in right.negations),
        )
        terms = (*left.terms, *(term.moved(to) for term in right.terms))
        both = Piece(slots, order, terms, (), negations, op.window)
        return _with_terms(both, op.terms)

    def _without(self, op: Forbid) -> Piece:
        """The input with one more negation, if that names its slots one by one."""
        source, scanned = self.pieces[op.input], self.ops[op.events]
        single = {piece_column: slot for slot, piece_column in _single_columns(source)}
        if not isinstance(scanned, Scan) or not single.keys() >= {*op.after, *op.before}:
            return self._forbidden(op)
        late = op.place is not Place.BETWEEN
        if late and source.window not in (ANY_WINDOW, op.window):
            source = self._sealed(source)
            if source.width > 1:
                return self._forbidden(op)
            single = dict.fromkeys(single, 0)
        after, before = (tuple(sorted(single[c] for c in columns)) for columns in (op.after, op.before))
        negation = Negation(scanned.stream, op.place, after, before, op.terms)
        window = op.window if late else source.window
        return replace(source, negations=(*source.negations, negation), window=window)

    def _followed(self, op: Next) -> Piece:
        streams = [slot for step in op.steps for slot in self.pieces[step].slots]
        slots = tuple(
            replace(slot, low=low, high=high) for slot, (low, high) in zip(streams, op.bounds, strict=True)
        )
        return Piece(slots, Order.total(len(slots)), op.terms, (), (), op.window, Policy.NEXT)

    # ---- what no piece says --------------------------------------------------------------------------------

    def _sealed(self, piece: Piece) -> Piece:
        """A piece as one slot."""
        form, columns = self._form(piece)
        return _named(piece_key(form), columns)

    def _grown(self, op: Repeat) -> Piece:
        base, columns = self.form(op.base)
        element, own = self.form(op.element)
        width, more = len(columns), len(own)
        place = {column: i for i, column in enumerate(columns)}
        inner = {column: i for i, column in enumerate(own)}
        to = {
            **place,
            **{width + column: width + i for column, i in inner.items()},
            **{width + more + column: width + more + i for column, i in inner.items()},
        }
        final = sorted((place[column], inner[i]) for i, column in enumerate(op.final))
        parts = (
            f"repeat {piece_key(base)} by {piece_key(element)} at {final} {op.low},{op.high}",
            f"{op.window.size}{op.window.unit}",
            *(_terms_key(terms, to) for terms in (op.terms, op.adjacent, op.start)),
        )
        return _named(" ".join(parts), columns)

    def _forbidden(self, op: Forbid) -> Piece:
        source, columns = self.form(op.input)
        place = {column: i for i, column in enumerate(columns)}
        after, before = (sorted(place[c] for c in found) for found in (op.after, op.before))
        parts = (
            f"forbid {piece_key(self.form(op.events)[0])} in {piece_key(source)} {op.place}",
            f"{after} {before} {op.window.size}{op.window.unit}",
            _terms_key(op.terms, {**place, len(columns): len(columns)}),
        )
        return _named(" ".join(parts), columns)


def _single(slot: Slot) -> Piece:
    return Piece((slot,), NO_ORDER, (), (), (), ANY_WINDOW)


NOTHING: Final = _single(Slot(Stream("")))
"""In the place of a piece that is never read."""


def _named(text: str, columns: Sequence[int]) -> Piece:
    """One slot for what this text describes; the column i that the text speaks of is column `columns[i]`."""
    name = blake2b(text.encode(), digest_size=16).hexdigest()
    if len(columns) == 1:
        return _single(Slot(Stream(f"{NAMED}{name}")))
    slots = tuple(Slot(Stream(f"{NAMED}{name}.{i}")) for i in range(len(columns)))
    inner = Piece(slots, Order.total(len(slots)), (), (), (), ANY_WINDOW)
    return _single(Slot(Group(len(columns), (Branch(inner, tuple(columns)),))))


def _with_terms(piece: Piece, terms: Iterable[Expr]) -> Piece:
    """A piece with more terms: those over two times become its order, those over one event stand in its stream."""
    slot_of = {column: slot for slot, column in _single_columns(piece)}
    pairs: list[tuple[int, int]] = []
    kept, slots = list(piece.terms), list(piece.slots)
    for term in terms:
        read, pair = columns_of(term), in_order(term)
        if pair is not None and slot_of.keys() >= read:
            pairs.append((slot_of[pair[0]], slot_of[pair[1]]))
        elif len(read) == 1 and slot_of.keys() >= read:
            (column,) = read
            slots[slot_of[column]] = _where(slots[slot_of[column]], term.moved({column: 0}))
        else:
            kept.append(term)
    return replace(
        piece, slots=tuple(slots), order=piece.order.with_pairs(pairs), terms=tuple(dict.fromkeys(kept))
    )


def _where(slot: Slot, term: Expr) -> Slot:
    assert isinstance(slot.source, Stream)
    return replace(slot, source=replace(slot.source, where=(*slot.source.where, term)))


def _narrowed(piece: Piece, window: Window | None) -> Piece:
    return piece if window is None or _is_event(piece) else replace(piece, window=window)


def _is_narrower(own: Window, around: Window) -> bool:
    return own != ANY_WINDOW and (own.unit != around.unit or own.size < around.size)


def _is_event(piece: Piece) -> bool:
    """Whether a piece is one event, which no window matters to."""
    source = piece.slots[0].source
    return len(piece.slots) == 1 and isinstance(source, Stream) and not source.type.startswith(NAMED)


def _complete(piece: Piece) -> Piece:
    """The same piece with every equality of a forbidden event that follows from those of the others."""
    if not any(negation.terms for negation in piece.negations):
        return piece
    members: dict[Ref, list[Ref]] = {}
    for found in parted_terms(piece)[1]:
        members.update(dict.fromkeys(found, found))
    negations = tuple(
        replace(n, terms=tuple(more for term in n.terms for more in _equal_terms(term, members, piece.width)))
        for n in piece.negations
    )
    return replace(piece, negations=negations)


def _equal_terms(term: Expr, members: Mapping[Ref, list[Ref]], forbidden: int) -> list[Expr]:
    sides = equality(term)
    if sides is None or forbidden not in (sides[0].column, sides[1].column):
        return [term]
    other, own = sides if sides[1].column == forbidden else sides[::-1]
    return [equal(member, own) for member in members.get(other, [other])]


def _single_columns(piece: Piece) -> Iterable[tuple[int, int]]:
    """(slot, column) of the slots that are one event or a name for what is one column wide."""
    column = 0
    for number, slot in enumerate(piece.slots):
        if slot.width == 1 and isinstance(slot.source, Stream):
            yield number, column
        column += slot.width


def _same(width: int) -> dict[int, int]:
    return {column: column for column in range(width)}


def _moved_negation(negation: Negation, slots: int, to: dict[int, int]) -> Negation:
    return replace(
        negation,
        after=tuple(slot + slots for slot in negation.after),
        before=tuple(slot + slots for slot in negation.before),
        terms=tuple(term.moved(to) for term in negation.terms),
    )


def _terms_key(terms: Iterable[Expr], to: dict[int, int]) -> str:
    return "&".join(key(term) for term in canonical_terms(term.moved(to) for term in terms))
