"""How often two streams meet in a window, against independent streams of their rates: counted on the sample.

Where all pairs of a piece meet as often as independent streams do, their rates say all, and nothing else is counted.
"""

from itertools import combinations, pairwise
from math import prod, sqrt
from typing import Any, Final

import numpy as np

from stretto.pattern.describe import window_text
from stretto.pattern.nodes import Stream, Window
from stretto.pattern.order import NO_ORDER, Order
from stretto.stats.drawn_tuples import TupleFrame, starts
from stretto.stats.remembered import remembered
from stretto.stats.sample import Sample
from stretto.stats.selectivity import Selectivities, Selectivity
from stretto.stats.term_clusters import frame_words
from stretto.values.rows import F64, I64

ONE_BY_ONE: Final = Order.total(2)
MEETINGS: Final = "meetings"
BURST: Final = "burst"
NEAR: Final = 0.1  # a departure from independent streams that is none
SURE: Final = 3.0  # standard errors that chance may make
FEW: Final = 24  # meetings that are too few to tell
MOST_COUNTED: Final = (
    8  # slots of a piece up to which its tuples are counted; of wider ones a sample has none
)
LOOKED_AT: Final = 1 << 12  # events of the first stream that are looked at


class Meetings:
    """Factors by pair of streams, kept with the selectivities and in a file of statistics."""

    def __init__(self, selectivities: Selectivities) -> None:
        self._known = selectivities
        self._remembered: dict[tuple[Any, ...], Any] = {}

    @remembered
    def rate(self, stream: Stream) -> float:
        """Events per second of a stream, when the sample was taken."""
        found = self._known.rates.get(stream.type, 0.0)
        return found * self._known.of_stream(stream).value if stream.where else found

    def are_even(self, frame: TupleFrame) -> bool:
        """Whether each two streams of a frame meet in its window as often as independent ones.

        Of many streams neighbours alone are asked, so that wide queries are not looked at by all their pairs.
        """
        slots = range(len(frame.streams))
        pairs = combinations(slots, 2) if len(slots) <= MOST_COUNTED else pairwise(slots)
        return all(self._of_slots(frame, i, j) == 1.0 for i, j in pairs)

    def crowd(self, frame: TupleFrame) -> float:
        """How many more tuples a window holds than with independent streams, as far as neighbours tell."""
        return prod(self._of_slots(frame, i, j) for i, j in pairwise(range(len(frame.streams))))

    def _of_slots(self, frame: TupleFrame, i: int, j: int) -> float:
        assert frame.window is not None
        if (j, i) in frame.order:
            i, j = j, i
        order = ONE_BY_ONE if (i, j) in frame.order else NO_ORDER
        return self.of_pair(frame.streams[i], frame.streams[j], order, frame.window)

    @remembered
    def of_pair(self, one: Stream, other: Stream, order: Order, window: Window) -> float:
        """How many more pairs of two streams a window holds than with independent ones; 1 for a small difference."""
        frame = TupleFrame((one, other), order, (), window)
        key = MEETINGS, frame_words(frame)
        found = self._known.counts.get(key)
        if found is None:
            sample, rates = self._known.sample, self._known.rates
            if sample is None or not rates:
                return 1.0
            found = _measured(sample, frame, self.rate(other), sum(rates.values()))
            if found is None:
                # Too few events pass the terms: those of their types tell more, and those of all types still more.
                plain = Stream(one.type), Stream(other.type)
                again = self.of_pair(*plain, order, window) if plain != (one, other) else self.burst(window)
                found = Selectivity(again)
            self._known.counts[key] = found
        return found.value

    def burst(self, window: Window) -> float:
        """How many more events a window holds behind an event than the mean rate of all events gives."""
        key = BURST, f"all events within {window_text(window)}"
        found = self._known.counts.get(key)
        if found is None:
            sample, total = self._known.sample, sum(self._known.rates.values())
            if sample is None or not sample.inside or window.unit == "events":
                return 1.0
            here = _some(np.arange(sample.inside, dtype=np.int64))
            seen = float((sample.reach(window).high[here] - here - 1).sum())
            expected = total * float(sample.seen_behind(window, here).sum()) / 1e6
            found = Selectivity(_factor(seen, expected, sample.inside, len(here)))
            self._known.counts[key] = found
        return found.value


def _measured(sample: Sample, frame: TupleFrame, rate: float, total: float) -> Selectivity | None:
    """The factor of a pair; None where too few meet, and too few would."""
    window = frame.window
    assert window is not None
    one, other = frame.streams
    here = _some(starts(sample, frame).positions)
    if not len(here):
        return None
    reach, ranks = sample.reach(window), sample.ranks(other)
    ordered = (0, 1) in frame.order
    low = sample.after[here] if ordered else reach.low[here]
    seen = float((ranks[reach.high[here]].astype(np.int64) - ranks[low]).sum())
    room: F64 = sample.seen_behind(window, here)
    if not ordered:
        room = room + sample.seen_before(window, here)
        own = ranks[here + 1].astype(np.int64) - ranks[here]
        seen -= float(own.sum()) if one.type == other.type else 0.0
    per_unit = rate / 1e6 if window.unit == "us" else rate / total if total else 0.0
    expected = per_unit * float(room.sum())
    if max(seen, expected) < FEW:
        return None
    return Selectivity(_factor(seen, expected, sample.members(other).inside, len(here)))


def _factor(seen: float, expected: float, others: int, looked_at: int) -> float:
    """What was seen by what was expected; 1 where chance may have made the difference."""
    if expected <= 0.0:
        return 1.0
    noise = SURE * sqrt(1.0 / expected + 1.0 / max(others, 1) + 1.0 / looked_at)
    found = seen / expected
    return 1.0 if abs(found - 1.0) <= NEAR + noise else max(found, 0.5 / (expected + 1.0))


def _some(positions: I64) -> I64:
    """So many of them, evenly spread, as are looked at."""
    step = len(positions) / LOOKED_AT
    return positions if step <= 1 else positions[(np.arange(LOOKED_AT) * step).astype(np.int64)]
