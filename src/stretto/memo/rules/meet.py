"""What two pieces have in common, as a piece of its own."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from stretto.memo.containment import Before, Fact, Holds, Lacks, Passes, claims, strongest
from stretto.memo.memo import Memo
from stretto.memo.ways import Way, WayKind
from stretto.memo.weaker_pieces import Alike, Held, alike
from stretto.pattern.nodes import Stream
from stretto.pattern.order import NO_ORDER, Order
from stretto.pattern.piece import Piece, Slot
from stretto.pattern.project import project
from stretto.records import dataclass

EACH: Final = 3  # pieces invented per set of types
COMPARED: Final = 60  # pieces compared per set of types
SHARE: Final = 20  # one piece in so many may be invented, but a few always
FEW: Final = 20


def meet(memo: Memo) -> Iterator[tuple[int, Way]]:
    """P  ≡  σ[P ∖ M](M)  and  Q  ≡  σ[Q ∖ M](M)  for the common part M of both: common facts, the wider window

    M is invented only where it keeps at least half of what either claims and serves pieces of several queries, and
    only a few for each set of types.

    Law: L4. Requires: skip-till-any; equal `[attr]`; a negation is kept only with the order around it.
    Source: ours (MCEP, sec. 5.2, takes the terms that patterns have in common).
    """
    users = _users(memo)
    yield from memo.analysis("meet", len(users), lambda: list(_inventions(memo, users)))


def _inventions(memo: Memo, users: dict[int, set[int]]) -> Iterator[tuple[int, Way]]:
    """The common parts that serve most pieces, and the ways that read them.

    Only what the queries are made of is compared: parts of what was invented are not worth more inventions.
    """
    found = [one for shelf in alike(memo) if not memo.ends() for one in _common(shelf, users)]
    found.sort(key=lambda one: (-len(one.served), one.parent.number, one.mask))
    known = set(users)
    for one in found[: max(FEW, len(users) // SHARE)]:
        yield from one.ways(memo, known)


@dataclass(frozen=True, slots=True)
class _Common:
    """Facts that several pieces claim: (piece, arrangement) of those it serves, with the widest of their windows."""

    shelf: Alike
    parent: Held
    mask: int
    window: int
    served: tuple[tuple[Held, int], ...]

    def ways(self, memo: Memo, known: set[int]) -> Iterator[tuple[int, Way]]:
        """The ways around this part, unless it is one of the pieces `known`, to which it is added."""
        piece = _piece(memo.pieces[self.parent.number], self.parent.slots[0], self.shelf.facts(self.mask))
        piece = replace(piece, window=replace(piece.window, size=self.window))
        parent = memo.pieces[self.parent.number]
        columns = parent.columns_of(self.parent.slots[0])
        number = memo.invent(piece, self.parent.number, columns).piece
        if number in known:
            return  # without a negation that lost its order it was there already
        known.add(number)
        yield number, memo.alone(number)
        for held, arrangement in self.served:
            reader = memo.pieces[held.number]
            to = reader.columns_of(held.slots[arrangement])
            yield held.number, Way(WayKind.FILTER, (memo.input(piece, to),), "meet")


def _common(shelf: Alike, users: dict[int, set[int]]) -> list[_Common]:
    """The best common parts of the pieces with the same types."""
    places = [i for i, held in enumerate(shelf.held) if held.number in users][:COMPARED]
    if len(places) < 2:
        return []
    there = {
        (known, held.window)
        for held, all_known in zip(shelf.held, shelf.known, strict=True)
        if held.number in users
        for known in all_known
    }
    known = shelf.known
    found: dict[tuple[int, int], int] = {}
    for k, i in enumerate(places):
        for j in places[k + 1 :]:
            mask = max((known[i][0] & other for other in known[j]), key=int.bit_count)
            window = max(shelf.held[i].window, shelf.held[j].window)
            most = max(known[i][0].bit_count(), known[j][0].bit_count())
            if mask and 2 * mask.bit_count() >= most and (mask, window) not in there:
                found.setdefault((mask, window), i)
    common = [_served(shelf, places, users, i, mask, window) for (mask, window), i in found.items()]
    several = [one for one in common if one is not None]
    several.sort(key=lambda one: (-len(one.served), -one.mask.bit_count(), one.mask))
    return several[:EACH]


def _served(
    shelf: Alike,
    places: list[int],
    users: dict[int, set[int]],
    parent: int,
    mask: int,
    window: int,
) -> _Common | None:
    served: list[tuple[Held, int]] = []
    queries: set[int] = set()
    for place in places:
        held = shelf.held[place]
        fitting = [a for a, facts in enumerate(shelf.known[place]) if not mask & ~facts]
        if fitting and held.window <= window:
            served.append((held, fitting[0]))
            queries |= users[held.number]
    if len(queries) < 2:
        return None
    return _Common(shelf, shelf.held[parent], mask, window, tuple(served))


def _users(memo: Memo) -> dict[int, set[int]]:
    """For each piece one or two of the cores that queries need and that its rows could help to compute."""
    users: dict[int, set[int]] = {}
    for core in memo.cores():
        pending = [core]
        while pending:
            number = pending.pop()
            mine = users.setdefault(number, set())
            if core in mine or len(mine) > 1:
                continue
            mine.add(core)
            for way in memo.ways[number]:
                if way.kind in (WayKind.JOIN, WayKind.FORBID):
                    pending.extend(way.pieces)
    return users


def _piece(parent: Piece, slots: tuple[int, ...], facts: list[Fact]) -> Piece:
    """The piece over the parent's slots, in this order, that claims these facts; all of them are the parent's."""
    whole = project(parent, slots)
    kept = strongest(facts)
    order = Order.of((fact.first, fact.second) for fact in kept if isinstance(fact, Before))
    absent = {fact for fact in kept if isinstance(fact, Lacks)}
    negations = tuple(
        negation
        for negation in whole.negations
        if claims(replace(whole, order=NO_ORDER, terms=(), negations=(negation,)), range(len(slots))) & absent
        and all((i, j) in order for i in negation.after for j in negation.before)
    )
    return replace(
        whole,
        slots=tuple(_slot(slot, i, kept) for i, slot in enumerate(whole.slots)),
        order=order,
        terms=tuple(fact.term for fact in kept if isinstance(fact, Holds)),
        negations=negations,
    )


def _slot(slot: Slot, place: int, facts: list[Fact]) -> Slot:
    if not isinstance(slot.source, Stream):
        return slot
    where = tuple(fact.term for fact in facts if isinstance(fact, Passes) and fact.slot == place)
    return replace(slot, source=replace(slot.source, where=where))
