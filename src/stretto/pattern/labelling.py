"""An order of a piece's slots that depends on what they are, not on how the query was written.

Slots get colours that any way of writing the piece gives them: first what they are and how many slots precede
them, then again and again what stands around them. Slots that stay alike are told apart by trying each in turn.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from stretto.pattern.canonical_terms import canonical_term, key
from stretto.pattern.piece import Negation
from stretto.pattern.predicates import Expr, columns_of, move_columns

MAX_TRIES: Final = 256
_FORBIDDEN: Final = 99_999  # the column of a forbidden event in a signature


@dataclass(frozen=True, slots=True)
class Labelled:
    """What a labelling sees: a key per slot, the order, terms and negations over the piece's columns.

    `places[c]` is the slot of column c and its part inside the slot, alike for parts that can change places.
    """

    keys: tuple[str, ...]
    order: frozenset[tuple[int, int]]
    terms: frozenset[Expr]
    negations: tuple[Negation, ...]
    places: tuple[tuple[int, int], ...]


def orders(seen: Labelled, *, every: bool) -> Iterator[tuple[int, ...]]:
    """Orders of the slots among which the canonical one is; each is a tuple of slot numbers.

    Isomorphic pieces give corresponding orders, unless more than MAX_TRIES are alike. Without `every` one of two
    slots that can simply change places is tried.
    """
    precede = [0] * len(seen.keys)
    for _, later in seen.order:
        precede[later] += 1
    ranks = _ranked(list(zip(precede, seen.keys, strict=True)))
    if len(set(ranks)) < len(ranks):
        budget = [MAX_TRIES]
        yield from _split(seen, _refined(seen, ranks), budget, every=every)
    else:
        yield tuple(sorted(range(len(ranks)), key=ranks.__getitem__))


def _ranked(colours: Sequence[object]) -> list[int]:
    """Colours as small numbers in their own order."""
    number = {colour: i for i, colour in enumerate(sorted(set(colours)))}  # type: ignore[type-var]  # all alike
    return [number[colour] for colour in colours]


def _split(seen: Labelled, ranks: list[int], budget: list[int], *, every: bool) -> Iterator[tuple[int, ...]]:
    """Tell apart the first slots that are still alike, each of them first in turn."""
    counts = [ranks.count(rank) for rank in ranks]
    tied = min((rank for rank, count in zip(ranks, counts, strict=True) if count > 1), default=None)
    if tied is None:
        budget[0] -= 1
        yield tuple(sorted(range(len(ranks)), key=ranks.__getitem__))
        return
    alike = [slot for slot, rank in enumerate(ranks) if rank == tied]
    tried: list[int] = []
    for slot in alike:
        if tried and (budget[0] <= 0 or (not every and any(_twins(seen, slot, other) for other in tried))):
            continue
        tried.append(slot)
        chosen = [2 * rank + (rank == tied and other != slot) for other, rank in enumerate(ranks)]
        yield from _split(seen, _refined(seen, _ranked(chosen)), budget, every=every)


def _refined(seen: Labelled, ranks: list[int]) -> list[int]:
    """Colours after looking at the neighbours until nothing new is told apart."""
    while len(set(ranks)) < len(ranks):
        found = _ranked([(rank, _around(seen, ranks, slot)) for slot, rank in enumerate(ranks)])
        if len(set(found)) == len(set(ranks)):
            return found
        ranks = found
    return ranks


def _around(seen: Labelled, ranks: Sequence[int], slot: int) -> tuple[object, ...]:
    """What stands around a slot, in terms of the colours so far."""

    def code(column: int) -> int:
        if column >= len(seen.places):
            return _FORBIDDEN
        other, part = seen.places[column]
        return (2 * ranks[other] + (other == slot)) * 1000 + part

    before = sorted(ranks[i] for i, j in seen.order if j == slot)
    after = sorted(ranks[j] for i, j in seen.order if i == slot)
    mine = {column for column, (other, _) in enumerate(seen.places) if other == slot}
    terms = sorted(_coded(term, code) for term in seen.terms if columns_of(term) & mine)
    negations = sorted(
        (
            negation.stream.type,
            tuple(key(term) for term in negation.stream.where),
            str(negation.place),
            tuple(sorted((ranks[i], i == slot) for i in negation.after)),
            tuple(sorted((ranks[i], i == slot) for i in negation.before)),
            tuple(sorted(_coded(term, code) for term in negation.terms)),
        )
        for negation in seen.negations
    )
    return tuple(before), tuple(after), tuple(terms), tuple(negations)


def _coded(term: Expr, code: Callable[[int], int]) -> str:
    return key(canonical_term(move_columns(term, code)))


def _twins(seen: Labelled, one: int, other: int) -> bool:
    """Whether two slots of one column each can change places and leave the piece as it is."""
    columns = [column for column, (slot, _) in enumerate(seen.places) if slot in (one, other)]
    if len(columns) != 2:
        return False
    swap_slot = {one: other, other: one}
    swap_column = {columns[0]: columns[1], columns[1]: columns[0]}

    def moved(expr: Expr) -> Expr:
        return canonical_term(move_columns(expr, lambda column: swap_column.get(column, column)))

    def swapped(slots: tuple[int, ...]) -> frozenset[int]:
        return frozenset(swap_slot.get(slot, slot) for slot in slots)

    def facts(negation: Negation) -> tuple[object, ...]:
        same = frozenset(negation.after), frozenset(negation.before), frozenset(negation.terms)
        return negation.stream, negation.place, *same

    def swapped_facts(negation: Negation) -> tuple[object, ...]:
        terms = frozenset(moved(term) for term in negation.terms)
        return negation.stream, negation.place, swapped(negation.after), swapped(negation.before), terms

    return (
        seen.order == {(swap_slot.get(i, i), swap_slot.get(j, j)) for i, j in seen.order}
        and seen.terms == {moved(term) for term in seen.terms}
        and {facts(n) for n in seen.negations} == {swapped_facts(n) for n in seen.negations}
    )
