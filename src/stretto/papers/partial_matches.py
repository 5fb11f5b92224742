"""The papers' own cost: how many partial matches are alive at a time."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from stretto.memo.join_work import one_event
from stretto.memo.memo import Memo
from stretto.memo.pricing import DEAREST, MOST_INPUTS, RowEstimates
from stretto.memo.slot_masks import Facts
from stretto.memo.ways import Way, WayKind
from stretto.pattern.disjunction import all_sets, streams_of
from stretto.pattern.nodes import Stream, Window
from stretto.pattern.order import NO_ORDER
from stretto.pattern.piece import Group, Piece, Slot
from stretto.stats.estimate import seconds_of
from stretto.stats.safe_estimates import otherwise

FILTERED = 0.05
"""What it costs to look at a partial match and let it pass or not, as a part of making it."""


class PaperCost:
    """The expected number of partial matches, which MCEP sums over the nodes of a plan (sec. 3.3 and appendix C).

    A leaf costs W * r; an inner node the product of its children's costs and the selectivity of the conditions between
    them, so that a node over events 1..k costs W^k * r1 * .. * rk * sel. The events of a sequence cost as much as those
    of a conjunction: the formula has no share for the order, and neither have we here. A join of several inputs is the
    paper's order-based plan and costs the sum over its prefixes (Cost_ord). Leaves that several queries share are one
    node; its window is the widest of theirs. What the formula says nothing of (negations, repetitions) costs as much as
    the partial matches it reads; a filter, whose cost MOTTO calls negligible (sec. IV-D), a small part of that. MOTTO
    leaves the function to the engine (sec. VI) and gets the same one.
    """

    def __init__(self, estimator: RowEstimates) -> None:
        self.estimator = estimator
        self._forget(None)

    def _forget(self, memo: Memo | None) -> None:
        self._memo = memo
        self._alive: dict[int, float] = {}
        self._prefixes: dict[tuple[int, int], float] = {}
        self._facts: dict[int, Facts] = {}
        self._windows: dict[Stream, float] = {}
        self._roots = 0

    def rows(self, memo: Memo, number: int) -> float:
        """Rows per second of a piece, estimated."""
        return self.estimator.rows(memo.pieces[number])

    @otherwise(lambda *_: DEAREST)
    def cost(self, memo: Memo, number: int, way: Way) -> float:
        """Partial matches alive in the nodes that a way adds."""
        if memo is not self._memo:
            self._forget(memo)
        match way.kind:
            case WayKind.JOIN:
                return self._join(memo, number, way)
            case WayKind.SCAN:
                return self._leaf(memo, memo.pieces[number])
            case WayKind.NEXT:
                return self.alive(memo, number)
            case WayKind.FILTER | WayKind.COMPLETE:
                return FILTERED * self.alive(memo, way.pieces[0])
            case WayKind.UNITE if streams_of(memo.pieces[number]):
                return 0.0  # a DISJ hands its parts' matches on
            case _:
                return sum(self.alive(memo, part) for part in way.pieces)

    def alive(self, memo: Memo, number: int) -> float:
        """Partial matches of a piece at a time, whatever its order and negations."""
        if number not in self._alive:
            self._alive[number] = self._instances(memo.pieces[number])
        return self._alive[number]

    def _join(self, memo: Memo, number: int, way: Way) -> float:
        """Every prefix of the inputs but the first, which is a node of its own. Of very many each costs as the last."""
        if len(way.inputs) == 2:
            return self.alive(memo, number)
        if number not in self._facts:
            self._facts[number] = Facts.of(memo.pieces[number])
        facts, total = self._facts[number], 0.0
        joined = facts.slots(way.inputs[0].columns)
        for part in way.inputs[1:MOST_INPUTS]:
            joined |= facts.slots(part.columns)
            key = (number, joined)
            if key not in self._prefixes:
                self._prefixes[key] = self._instances(facts.part(joined))
            total += self._prefixes[key]
        return total + max(len(way.inputs) - MOST_INPUTS, 0) * self._prefixes[key]

    def _leaf(self, memo: Memo, piece: Piece) -> float:
        if self._roots != len(memo.roots):
            self._roots = len(memo.roots)
            self._windows = self._widest(memo)
        (slot,) = piece.slots
        assert isinstance(slot.source, Stream)
        return self.estimator.rows(piece) * self._windows.get(slot.source, 0.0)

    def _widest(self, memo: Memo) -> dict[Stream, float]:
        """The widest window, in seconds, of the queries that read a stream."""
        found: dict[Stream, float] = {}
        for number in memo.needed():
            piece = memo.pieces[number]
            window = self._seconds(piece.window)
            for slot in piece.slots:
                for stream in _streams(slot):
                    found[stream] = max(found.get(stream, 0.0), window)
        return found

    def _instances(self, piece: Piece) -> float:
        """W^k * rates * selectivities, from the rows k * W^(k - 1) * rates * selectivities of the unordered piece."""
        if piece.follows:
            return self.estimator.rows(piece) * self._seconds(piece.window)
        sets = None if piece.is_plain else all_sets(piece)
        if sets is not None:
            return self._of_sets(*sets, self._seconds(piece.window))
        count = len(piece.slots)
        free = replace(piece, order=NO_ORDER, negations=()) if count > 1 else piece
        return self.estimator.rows(free) * self._seconds(piece.window) / count

    def _of_sets(self, others: Sequence[Stream], always: Sequence[Stream], seconds: float) -> float:
        """The same of sets of events: W^k * rates of each, those that hold an event of `always`."""
        held = [[seconds * self.estimator.rows(one_event(s, ())) for s in some] for some in (others, always)]
        return (prod(1.0 + count for count in held[0]) - 1.0) * prod(held[1])

    def _seconds(self, window: Window) -> float:
        return seconds_of(window, self.estimator.total_rate)


def _streams(slot: Slot) -> list[Stream]:
    if isinstance(slot.source, Group):
        return [
            found
            for branch in slot.source.branches
            for part in branch.piece.slots
            for found in _streams(part)
        ]
    return [slot.source]
