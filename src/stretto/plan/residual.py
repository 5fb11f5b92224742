"""What a way has to check itself: what its piece demands and its inputs do not provide."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from stretto.pattern.canonical.pieces import parted_terms
from stretto.pattern.canonical.terms import (
    canonical_conditions,
    canonical_negation,
    canonical_term,
    equality_terms,
    key,
)
from stretto.pattern.core import comparable
from stretto.pattern.disjoint_sets import DisjointSets
from stretto.pattern.nodes import Stream
from stretto.pattern.order import Order
from stretto.pattern.piece import FORBIDDEN, Negation, Piece
from stretto.pattern.predicates import Expr, Ref, numbered
from stretto.records import dataclass


@dataclass(slots=True)
class Provided:
    """What is known to hold of rows, in the slots and columns of the piece that they are to become.

    `orders` are those of its parts, with the numbers that the slots have there. `where[slot]` are the terms over one
    event that hold; slots that are not bound yet are missing. `equal` are classes of what is equal. All is known of
    the first `slots` slots and `columns` columns, as far as it concerns no others.
    """

    slots: int = 0
    columns: int = 0
    orders: list[tuple[Order, dict[int, int]]] = field(default_factory=list)
    terms: set[Expr] = field(default_factory=set)
    equal: list[list[Ref]] = field(default_factory=list)
    where: dict[int, frozenset[Expr]] = field(default_factory=dict)
    negations: set[Negation] = field(default_factory=set)

    def in_order(self, i: int, j: int) -> bool:
        """Whether slot i is known to come before slot j."""
        return any(i in at and j in at and (at[i], at[j]) in order for order, at in self.orders)

    def add(self, piece: Piece, slots: Sequence[int], columns: Sequence[int]) -> None:
        """Rows of `piece` are part of the rows: its slot i is slot `slots[i]`, its column i is `columns[i]`."""
        to = [*columns, FORBIDDEN]
        self.orders.append((piece.order, numbered(slots)))
        terms, classes = parted_terms(piece)
        self.terms |= {canonical_term(term.moved(to)) for term in terms}
        self.equal += [[ref.moved(to) for ref in refs] for refs in classes]
        for i, slot in enumerate(piece.slots):
            self.where[slots[i]] = (
                frozenset(slot.source.where) if isinstance(slot.source, Stream) else frozenset()
            )
        self.negations |= {canonical_negation(n.moved(slots, to)) for n in piece.negations}


def missing_order(
    order: Order, before: Sequence[int], slots: range, provided: Provided
) -> list[tuple[int, int]]:
    """Pairs of slots, next to each other in the order, whose order is still to be checked; `before` is that of each."""
    among = (1 << slots.stop) - 1
    found: set[tuple[int, int]] = set()
    for new in slots[provided.slots :]:
        found.update((i, new) for i in order.latest_in(before[new] & among, before))
        found.update((new, j) for j in order.earliest_in(order.behind(new) & among, before))
    return sorted(pair for pair in found if not provided.in_order(*pair))


def missing_terms(piece: Piece, provided: Provided) -> list[Expr]:
    """Terms still to be checked; of equalities no more than are needed to imply the others."""
    terms, classes = parted_terms(piece)
    found = [term for term in terms if term not in provided.terms]
    equal = Classes(provided)
    for refs in classes:
        found += equal.missing(refs)
    return sorted(found, key=key)


def missing_where(piece: Piece, slots: Iterable[int], provided: Provided) -> Iterator[tuple[int, Expr]]:
    """(slot, term over its event as column 0) that the slot's own rows do not have checked."""
    for i in slots:
        source = piece.slots[i].source
        checked = provided.where.get(i)
        if isinstance(source, Stream) and checked is not None:
            yield from ((i, term) for term in canonical_conditions(source.where) if term not in checked)


def missing_negations(piece: Piece, negations: Iterable[Negation], provided: Provided) -> list[Negation]:
    """Those of a piece's negations that are still to be checked."""
    asked = list(negations)
    if not asked:
        return []
    return [n for n in asked if comparable(n, piece) not in provided.negations]


class Classes:
    """Which references are known to be equal."""

    def __init__(self, provided: Provided) -> None:
        self._columns = provided.columns
        self._known = DisjointSets(provided.equal)

    def missing(self, refs: Sequence[Ref]) -> Iterator[Expr]:
        """As many equalities as make some references equal, which are so in the piece; those become known."""
        known = [ref for ref in refs if ref.column < self._columns]
        if len({ref.column for ref in known}) > 1:
            self._known.join(*known)
        parts = len({self._known.find(ref) for ref in refs})
        for place, left in enumerate(refs):
            for right in refs[place + 1 :]:
                if parts == 1:
                    return
                if left.column != right.column and self._known.join(left, right):
                    parts -= 1
                    yield equality_terms([left, right])[0]
