"""What a way has to check itself: what its piece demands and its inputs do not provide."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from stretto.pattern.canonical import closed_terms
from stretto.pattern.canonical_terms import canonical_conditions, canonical_term, equality, key
from stretto.pattern.columns import moved
from stretto.pattern.nodes import Stream
from stretto.pattern.piece import Negation, Piece
from stretto.pattern.predicates import Expr, Ref

NegationKey = tuple[object, ...]


@dataclass(slots=True)
class Provided:
    """What is known to hold of rows, in the slots and columns of the piece that they are to become.

    `where[slot]` are the terms over one event that hold; slots that are not bound yet are missing.
    """

    order: set[tuple[int, int]] = field(default_factory=set)
    terms: set[Expr] = field(default_factory=set)
    where: dict[int, frozenset[Expr]] = field(default_factory=dict)
    negations: set[NegationKey] = field(default_factory=set)

    def add(self, piece: Piece, slots: Sequence[int], columns: Sequence[int]) -> None:
        """Rows of `piece` are part of the rows: its slot i is slot `slots[i]`, its column i is `columns[i]`."""
        to = dict(enumerate(columns))
        self.order |= {(slots[i], slots[j]) for i, j in piece.order}
        self.terms |= {canonical_term(moved(term, to)) for term in closed_terms(piece)}
        for i, slot in enumerate(piece.slots):
            self.where[slots[i]] = (
                frozenset(slot.source.where) if isinstance(slot.source, Stream) else frozenset()
            )
        to[piece.width] = -1
        self.negations |= {negation_key(n, slots, to) for n in piece.negations}


def negation_key(negation: Negation, slots: Sequence[int], to: dict[int, int]) -> NegationKey:
    """Equal for equal negations; `to` moves the columns of its terms, the forbidden event's to -1."""
    return (
        negation.stream.type,
        frozenset(canonical_conditions(negation.stream.where)),
        negation.place,
        frozenset(slots[i] for i in negation.after),
        frozenset(slots[i] for i in negation.before),
        frozenset(canonical_term(moved(term, to)) for term in negation.terms),
    )


def missing_order(piece: Piece, provided: Provided) -> list[tuple[int, int]]:
    """Pairs of slots, next to each other in the order, whose order is still to be checked."""
    order = frozenset(piece.order)
    slots = range(len(piece.slots))
    return [
        (i, j)
        for i, j in piece.order
        if (i, j) not in provided.order and not any((i, k) in order and (k, j) in order for k in slots)
    ]


def missing_terms(piece: Piece, provided: Provided) -> list[Expr]:
    """Terms still to be checked; of equalities no more than are needed to imply the others."""
    classes = _Classes()
    for term in provided.terms:
        sides = equality(term)
        if sides is not None and _single(piece, sides):
            classes.join(*sides)
    found: list[Expr] = []
    for term in sorted(closed_terms(piece), key=key):
        if term in provided.terms:
            continue
        sides = equality(term)
        if sides is None or not _single(piece, sides) or classes.join(*sides):
            found.append(term)
    return found


def missing_where(piece: Piece, provided: Provided) -> list[tuple[int, Expr]]:
    """(slot, term over its event as column 0) that the slot's own rows do not have checked."""
    return [
        (i, term)
        for i, slot in enumerate(piece.slots)
        if isinstance(slot.source, Stream)
        for term in canonical_conditions(slot.source.where)
        if term not in provided.where.get(i, frozenset(slot.source.where))
    ]


def missing_negations(piece: Piece, negations: Iterable[Negation], provided: Provided) -> list[Negation]:
    """Those of a piece's negations that are still to be checked."""
    slots = range(len(piece.slots))
    to = {column: column for column in range(piece.width)}
    to[piece.width] = -1
    return [n for n in negations if negation_key(n, slots, to) not in provided.negations]


def _single(piece: Piece, sides: tuple[Ref, Ref]) -> bool:
    """Whether both sides are plain events: of repetitions equality is not transitive."""
    single = [not slot.repeats for slot in piece.slots for _ in range(slot.width)]
    return all(single[side.column] for side in sides)


class _Classes:
    """Which references are known to be equal."""

    def __init__(self) -> None:
        self._parent: dict[Ref, Ref] = {}

    def join(self, left: Ref, right: Ref) -> bool:
        """Make two references equal; whether that was new."""
        one, other = self._root(left), self._root(right)
        self._parent[one] = other
        return one != other

    def _root(self, ref: Ref) -> Ref:
        while (above := self._parent.get(ref, ref)) != ref:
            ref = above
        return ref
