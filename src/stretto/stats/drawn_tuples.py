"""Tuples of events that one window holds, drawn from a sample: every such tuple with the same expectation.

Slots are bound one after another in an order that agrees with theirs. A bound event leaves the next slot a range of
positions; one event is drawn from it and the tuple's weight grows by the number there were to choose from. So the mean
weight is the number of tuples per event of the first slot, and weighted means are means over all tuples. Where
weights become uneven the tuples are drawn again by weight, which lets rare conjunctions be followed to their end.
"""

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from stretto.pattern.linear_extensions import linear_extensions
from stretto.pattern.nodes import Stream, Window
from stretto.pattern.order import Order
from stretto.pattern.predicates import Expr, columns_of
from stretto.records import dataclass
from stretto.stats.sample import NULL, Sample, Starts
from stretto.values.evaluate import holds
from stretto.values.rows import F64, I64, Bool

SPREAD = 0.5  # tuples are drawn again when their weights are worth less than this share of their number


class Link(NamedTuple):
    """Two slots whose attributes are equal."""

    left: int
    left_attribute: str
    right: int
    right_attribute: str


class TupleFrame(NamedTuple):
    """Which tuples: a stream per slot, the order between slots, what is equal, and the window (None: any)."""

    streams: tuple[Stream, ...]
    order: Order
    given: tuple[Link, ...]
    window: Window | None


@dataclass(frozen=True, slots=True)
class Tuples:
    """Positions per slot, weights, the number of tuples per event of the first slot, and its relative error.

    Where there are none, `unseen` may still be there: half of the one that would have been seen.
    """

    columns: tuple[I64, ...]
    weights: F64
    size: float
    error: float
    unseen: float = 0.0

    @property
    def worth(self) -> float:
        """How many equally weighted tuples these are worth."""
        total = float(self.weights.sum())
        return total * total / float((self.weights**2).sum()) if total else 0.0


def draw(
    sample: Sample,
    frame: TupleFrame,
    count: int,
    seed: int,
    terms: Sequence[Expr] = (),
    *,
    around: bool = False,
) -> Tuples:
    """About `count` tuples that satisfy the terms; the same ones for the same seed.

    `around`: only tuples around which the sample has all that one window holds, before and behind.
    """
    return _Walk(sample, frame, count, np.random.default_rng(seed), around=around).run(list(terms))


def starts(sample: Sample, frame: TupleFrame, *, around: bool = False) -> Starts:
    """The events of the first slot that a drawing begins with."""
    slot = first_slot(frame)
    ahead = all(other == slot or (slot, other) in frame.order for other in range(len(frame.streams)))
    return sample.starts(frame.streams[slot], frame.window, around or not ahead)


class _Walk:
    def __init__(
        self,
        sample: Sample,
        frame: TupleFrame,
        count: int,
        random: np.random.Generator,
        *,
        around: bool = False,
    ) -> None:
        self.sample = sample
        self.frame = frame
        self.count = count
        self.around = around
        self.chances = random.random((len(frame.streams), count))
        self.fresh = random.random(len(frame.streams))
        self.reach = sample.reach(frame.window)
        self.columns: list[I64] = [np.zeros(0, np.int64)] * len(frame.streams)
        self.bound: list[int] = []
        self.weights: F64 = np.ones(count)
        self.size = 1.0
        self.variance = 0.0

    def run(self, terms: list[Expr]) -> Tuples:
        steps = _steps(self.frame)
        for step, slot in enumerate(steps):
            seen = self.size * float(self.weights.mean())
            alive = self._bind(slot)
            if alive and self.weights.any():
                seen = self.size * float(self.weights.mean())
                self.bound.append(slot)
                ready = [term for term in terms if columns_of(term) <= set(self.bound)]
                terms = [term for term in terms if term not in ready]
                if ready:
                    self.weights *= holds(ready, self.columns, self.count, self.sample)
            if not alive or not self.weights.any():
                return Tuples((), np.zeros(0), 0.0, 1.0, 0.5 * seen / self._different())
            if step + 1 < len(steps):
                self._even_out(self.fresh[step])
        self._count_in()
        return Tuples(tuple(self.columns), self.weights, self.size, self.variance**0.5)

    def _different(self) -> int:
        """How many of the tuples tell something of their own about the stream."""
        number = len(starts(self.sample, self.frame, around=self.around).positions)
        return self.count if self.sample.whole else max(min(self.count, number), 1)

    def _bind(self, slot: int) -> bool:
        """Draw an event for a slot; False if there is none for any tuple."""
        chance = self.chances[len(self.bound)]
        if not self.bound:
            first = starts(self.sample, self.frame, around=self.around).positions
            number = len(first)
            if not number:
                return False
            # Stratified: one event from each of as many equal parts of the stream, so that no time of day is missed by
            # chance.
            spread = (np.arange(self.count) + chance) * (number / self.count)
            self.columns[slot] = first[np.minimum(spread.astype(np.int64), number - 1)]
            return True
        start, end, positions, links = self.choices(slot, *self.range(slot))
        choices = np.maximum(end - start, 0)
        if not len(positions):
            return False
        at = np.minimum(start + (chance * choices).astype(np.int64), len(positions) - 1)
        # A tuple without a choice has no weight any more; any event of a stretch will do for it.
        self.columns[slot] = np.where(choices > 0, positions[at], self.columns[self.bound[0]])
        self.weights = self.weights * choices
        for link in links[1:]:
            self.weights *= self._agree(slot, link)
        self._keep_distinct(slot)
        return True

    def choices(self, slot: int, low: I64, high: I64) -> tuple[I64, I64, I64, list[Link]]:
        """Which of the stream's events lie in a range of positions, and are equal to what the first link says.

        Half-open ranges of some positions, those positions, and all links between the slot and bound ones.
        """
        links = [
            link for given in self.frame.given for link in _toward(slot, given) if link.left in self.bound
        ]
        if links:
            return *self._among_equals(slot, links[0], low, high), links
        rank = self.sample.ranks(self.frame.streams[slot])
        positions = self.sample.members(self.frame.streams[slot]).positions
        return rank[low].astype(np.int64), rank[high].astype(np.int64), positions, links

    def range(self, slot: int) -> tuple[I64, I64]:
        """The positions that the window and the order leave for a slot."""
        low: list[I64] = []
        high: list[I64] = []
        for other in self.bound:
            if (other, slot) in self.frame.order:
                low.append(self.sample.after[self.columns[other]])
            elif (slot, other) in self.frame.order:
                high.append(self.sample.before[self.columns[other]])
        # Behind all of them, or before all, only the other end of the window says more.
        bound = [self.columns[other] for other in self.bound]
        if len(low) < len(bound):
            low.append(self.reach.low[reduce(np.maximum, bound)])
        if len(high) < len(bound):
            high.append(self.reach.high[reduce(np.minimum, bound)])
        return reduce(np.maximum, low), reduce(np.minimum, high)

    def _among_equals(self, slot: int, link: Link, low: I64, high: I64) -> tuple[I64, I64, I64]:
        """The range of a slot's events by value, for the value that the bound side has."""
        keys, positions = self.sample.index(
            self.frame.streams[slot], link.left_attribute, link.right_attribute
        )
        codes = self.sample.codes(link.left_attribute, link.right_attribute)[0][self.columns[link.left]]
        base = codes * len(self.sample)
        start, end = np.searchsorted(keys, base + low), np.searchsorted(keys, base + high)
        return start, np.where(codes == NULL, start, end), positions

    def _agree(self, slot: int, link: Link) -> Bool:
        left, right = self.sample.codes(link.left_attribute, link.right_attribute)
        one, other = left[self.columns[link.left]], right[self.columns[slot]]
        agree: Bool = (one == other) & (one != NULL)
        return agree

    def _keep_distinct(self, slot: int) -> None:
        """No event is bound twice."""
        kind = self.frame.streams[slot].type
        for other in self.bound:
            if self.frame.streams[other].type == kind:
                self.weights = self.weights * (self.columns[other] != self.columns[slot])

    def _even_out(self, chance: float) -> None:
        """Draw the tuples again by weight where the weights have become uneven."""
        # Systematic resampling of a particle filter (Gordon, Salmond and Smith, IEE Proceedings F 140, 1993), when the
        # effective sample size (sum w)^2 / sum w^2 has fallen. The mean weight goes into `size`, so that expectations
        # stay what they are.
        total = float(self.weights.sum())
        if total * total >= SPREAD * self.count * float((self.weights**2).sum()):
            return
        self._count_in()
        marks = (np.arange(self.count) + chance) * (total / self.count)
        chosen = np.minimum(np.searchsorted(np.cumsum(self.weights), marks), self.count - 1)
        for other in self.bound:
            self.columns[other] = self.columns[other][chosen]
        self.weights = np.ones(self.count)

    def _count_in(self) -> None:
        mean = float(self.weights.mean())
        self.size *= mean
        # Relative variances of independent factors add up, as long as they are small.
        self.variance += float(self.weights.var()) / (mean * mean * self.count)


def first_slot(frame: TupleFrame) -> int:
    """The slot whose events a drawing begins with."""
    return _steps(frame)[0]


def room_for(
    sample: Sample, frame: TupleFrame, columns: Sequence[I64], *, anywhere: bool
) -> tuple[I64, I64, I64]:
    """For tuples that bind all slots but the last, which events may stand in that one.

    Half-open ranges of some positions, and those positions. Where two equalities are given, the first is kept to.
    `anywhere`: from the first event of the tuple on, within the window.
    """
    last = len(columns)
    walk = _Walk(sample, frame, len(columns[0]), np.random.default_rng(0))
    walk.columns[:last] = columns
    walk.bound = list(range(last))
    low, high = walk.range(last)
    if anywhere:
        low = np.maximum(low, sample.before[np.minimum.reduce(columns)])
    start, end, positions, _ = walk.choices(last, low, high)
    return start, end, positions


def _toward(slot: int, link: Link) -> Iterator[Link]:
    """A link of the slot with the slot on its right."""
    if link.right == slot:
        yield link
    elif link.left == slot:
        yield Link(link.right, link.right_attribute, link.left, link.left_attribute)


def _steps(frame: TupleFrame) -> tuple[int, ...]:
    """The slots in an order that agrees with theirs; where that contradicts itself in any, as no tuple is in order."""
    slots = tuple(range(len(frame.streams)))
    return next(linear_extensions(frame.order, slots), slots)
