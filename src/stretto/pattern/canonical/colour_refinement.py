"""An order of a piece's slots that depends on what they are, not on how the query was written.

Slots get colours that any way of writing the piece gives them: first what they are and how many slots precede
them, then again and again what stands around them. Slots that stay alike are told apart by trying each in turn.

Source: colour refinement (1-dimensional Weisfeiler-Leman, 1968), with individualization as in McKay, "Practical Graph
Isomorphism" (1981). Invariant: a colour depends on the piece alone, never on the numbers of its slots.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from stretto.pattern.canonical.terms import canonical_negation, canonical_term, key
from stretto.pattern.order import Order, members
from stretto.pattern.piece import Negation
from stretto.pattern.predicates import Changed, Expr, Ref, columns_of
from stretto.records import dataclass

MAX_TRIES: Final = 256
MAX_LOOKS: Final = 1 << 16  # at what stands around slots; a piece of few slots has had all its tries by then
_FORBIDDEN: Final = 99_999  # the column of a forbidden event in a signature


@dataclass(frozen=True, slots=True)
class LabelledPiece:
    """What a labelling sees: a key per slot, the order, terms, classes of what is equal, and negations over columns.

    `places[c]` is the slot of column c and its part inside the slot, alike for parts that can change places.
    """

    keys: tuple[str, ...]
    order: Order
    terms: tuple[Expr, ...]
    equal: tuple[tuple[Ref, ...], ...]
    negations: tuple[Negation, ...]
    places: tuple[tuple[int, int], ...]


def orders(seen: LabelledPiece, *, every: bool) -> Iterator[tuple[int, ...]]:
    """Orders of the slots among which the canonical one is; each is a tuple of slot numbers.

    Isomorphic pieces give corresponding orders, unless more are alike than are tried. Without `every` one of two
    slots that can simply change places is tried.
    """
    precede = [some.bit_count() for some in seen.order.before(len(seen.keys))]
    ranks = _ranked(list(zip(precede, seen.keys, strict=True)))
    if len(set(ranks)) < len(ranks):
        search = _Refinement(seen, every=every)
        yield from search.split(search.refined(ranks))
    else:
        yield _by(ranks)


def _by(ranks: list[int]) -> tuple[int, ...]:
    return tuple(sorted(range(len(ranks)), key=ranks.__getitem__))


def _ranked(colours: Sequence[object]) -> list[int]:
    """Colours as small numbers in their own order."""
    number = {colour: i for i, colour in enumerate(sorted(set(colours)))}  # type: ignore[type-var]  # all alike
    return [number[colour] for colour in colours]


class _Refinement:
    """The tries to tell slots apart; for each slot, what stands around it."""

    def __init__(self, seen: LabelledPiece, *, every: bool) -> None:
        self.seen, self.every = seen, every
        self.tries, self.looks = MAX_TRIES, MAX_LOOKS
        count = len(seen.keys)
        self.before = seen.order.before(count)
        self.columns: list[list[int]] = [[] for _ in range(count)]
        for column, (slot, _) in enumerate(seen.places):
            self.columns[slot].append(column)
        self.terms: list[list[Expr]] = [[] for _ in range(count)]
        self.equal: list[list[tuple[Ref, ...]]] = [[] for _ in range(count)]
        self.negations: list[list[Negation]] = [[] for _ in range(count)]
        for term in seen.terms:
            for slot in self._slots(columns_of(term)):
                self.terms[slot].append(term)
        for refs in seen.equal:
            for slot in self._slots(frozenset(ref.column for ref in refs)):
                self.equal[slot].append(refs)
        for negation in seen.negations:
            read = frozenset(column for term in negation.terms for column in columns_of(term))
            for slot in {*negation.after, *negation.before, *self._slots(read)}:
                self.negations[slot].append(negation)

    def _slots(self, columns: frozenset[int]) -> set[int]:
        return {self.seen.places[column][0] for column in columns if column < len(self.seen.places)}

    def split(self, ranks: list[int]) -> Iterator[tuple[int, ...]]:
        """Tell apart the first slots that are still alike, each of them first in turn."""
        alike = _first_alike(ranks)
        if not alike:
            self.tries -= 1
            yield _by(ranks)
            return
        tied = ranks[alike[0]]
        if not self.every and all(self._twins(alike[0], other) for other in alike[1:]):
            # Any two can change places, also when some of them are told apart: one order of them stands for all.
            place = {slot: i for i, slot in enumerate(alike)}
            chosen = _ranked([(rank, place.get(slot, 0)) for slot, rank in enumerate(ranks)])
            yield from self.split(self.refined(chosen))
            return
        tried: list[int] = []
        for slot in alike:
            if tried and (self._tired() or (not self.every and any(self._twins(slot, t) for t in tried))):
                continue
            tried.append(slot)
            chosen = [2 * rank + (rank == tied and other != slot) for other, rank in enumerate(ranks)]
            yield from self.split(self.refined(_ranked(chosen)))

    def _tired(self) -> bool:
        return self.tries <= 0 or self.looks <= 0

    def refined(self, ranks: list[int]) -> list[int]:
        """Colours after looking at the neighbours until nothing new is told apart."""
        number = len(set(ranks))
        while number < len(ranks):
            self.looks -= len(ranks)
            ranks = _ranked([(rank, self._around(ranks, slot)) for slot, rank in enumerate(ranks)])
            found = len(set(ranks))
            if found == number:
                break
            number = found
        return ranks

    def _around(self, ranks: Sequence[int], slot: int) -> tuple[object, ...]:
        """What stands around a slot, in terms of the colours so far."""
        code = _Codes(self.seen.places, ranks, slot)
        before = sorted([ranks[i] for i in members(self.before[slot])])
        after = sorted([ranks[j] for j in members(self.seen.order.behind(slot))])
        terms = sorted(_coded(term, code) for term in self.terms[slot])
        equal = sorted(
            tuple(sorted((code[ref.column], ref.attribute) for ref in refs)) for refs in self.equal[slot]
        )
        negations = sorted(
            (
                negation.stream.type,
                tuple(key(term) for term in negation.stream.where),
                str(negation.place),
                tuple(sorted((ranks[i], i == slot) for i in negation.after)),
                tuple(sorted((ranks[i], i == slot) for i in negation.before)),
                tuple(sorted(_coded(term, code) for term in negation.terms)),
            )
            for negation in self.negations[slot]
        )
        return tuple(before), tuple(after), tuple(terms), tuple(equal), tuple(negations)

    def _twins(self, one: int, other: int) -> bool:
        """Whether two slots of one column each can change places and leave the piece as it is."""
        if len(self.columns[one]) != 1 or len(self.columns[other]) != 1:
            return False
        (column,), (twin,) = self.columns[one], self.columns[other]
        swapped, slots = Changed({column: twin, twin: column}), Changed({one: other, other: one})
        both = (1 << one) | (1 << other)
        before, behind = self.before, self.seen.order.behind
        if before[one] & ~both != before[other] & ~both or behind(one) & ~both != behind(other) & ~both:
            return False
        if (before[one] | behind(one)) & both:
            return False
        terms = {*self.terms[one], *self.terms[other]}
        equal = {frozenset(refs) for refs in (*self.equal[one], *self.equal[other])}
        negations = {*self.negations[one], *self.negations[other]}
        return (
            terms == {canonical_term(term.moved(swapped)) for term in terms}
            and equal == {frozenset([ref.moved(swapped) for ref in refs]) for refs in equal}
            and negations == {canonical_negation(n.moved(slots, swapped)) for n in negations}
        )


def _first_alike(ranks: list[int]) -> list[int]:
    """The slots of the least colour that several have; none if all are told apart."""
    by_rank: dict[int, list[int]] = {}
    for slot, rank in enumerate(ranks):
        by_rank.setdefault(rank, []).append(slot)
    several = [rank for rank, slots in by_rank.items() if len(slots) > 1]
    return by_rank[min(several)] if several else []


class _Codes:
    """Columns numbered by the colours of their slots, so that a term reads alike from slots that are alike so far."""

    def __init__(self, places: Sequence[tuple[int, int]], ranks: Sequence[int], slot: int) -> None:
        self._places, self._ranks, self._slot = places, ranks, slot

    def __getitem__(self, column: int) -> int:
        if column >= len(self._places):
            return _FORBIDDEN
        other, part = self._places[column]
        return (2 * self._ranks[other] + (other == self._slot)) * 1000 + part


def _coded(term: Expr, code: _Codes) -> str:
    return key(canonical_term(term.moved(code)))
