"""The buffer in front of the engine: events go out in time order, as far as the watermark lets them."""

from collections.abc import Callable
from dataclasses import field

import numpy as np

from stretto.engine.stream.arena import Block, concat_blocks
from stretto.records import dataclass
from stretto.values.rows import I64, Bool
from stretto.values.times import END_OF_TIME, START_OF_TIME


def late_mask(ts: I64, greatest: int, lateness_us: int) -> tuple[Bool | None, int]:
    """Which events come later than the lateness allows (None: no event), and the greatest time seen after them.

    Judged event by event in the order of arrival, so that it does not matter how the input is cut into batches.
    """
    if not len(ts):
        return None, greatest
    if ts[0] >= greatest and (ts[1:] >= ts[:-1]).all():  # in order, as most batches are
        return None, int(ts[-1])
    seen = np.maximum.accumulate(ts)
    top = max(greatest, int(seen[-1]))
    before = np.empty_like(ts)
    before[0] = greatest
    np.maximum(seen[:-1], greatest, out=before[1:])
    late = before - ts > lateness_us  # in this form it fits into 64 bits, from one end of time to the other
    return (late if late.any() else None), top


Ranks = Callable[[I64], I64]


@dataclass(slots=True)
class Reorder:
    """Holds events until no earlier one can come. Those of one time go out together, in the order of their ids."""

    lateness_us: int
    greatest: int = START_OF_TIME
    pending: list[Block] = field(default_factory=list)
    ranks: Ranks | None = None
    """Numbers that order as ids do, where those are codes of texts."""

    @property
    def watermark(self) -> int:
        """No event that is still accepted lies before this."""
        return max(self.greatest - self.lateness_us, START_OF_TIME)

    def push(self, block: Block) -> list[Block]:
        """Take events that are not late, in order of arrival; give those that lie before the watermark, in time order.

        Called after `greatest` has been moved on.
        """
        if len(block):
            self.pending.append(block)
        return self.release(self.watermark)

    def hold(self, block: Block) -> None:
        """Take events that are not late, in order of arrival, and keep them all."""
        if len(block):
            self.pending.append(block.own())

    def flush(self) -> list[Block]:
        return self.release(END_OF_TIME)

    def release(self, before: int) -> list[Block]:
        """The events that lie before a time, in time order."""
        if not self.pending:
            return []
        if not _in_order(self.pending, texts=self.ranks is not None):
            merged = concat_blocks(self.pending)
            self.pending = [merged.take(order_of(merged.ts, np.asarray(merged.ids), self.ranks))]
        released: list[Block] = []
        kept: list[Block] = []
        for block in self.pending:
            cut = int(np.searchsorted(block.ts, before, side="left"))
            if cut:
                released.append(block.take(slice(0, cut)))
            if cut < len(block):
                kept.append(block.take(slice(cut, None)).own())
        self.pending = kept
        return released


def _in_order(blocks: list[Block], *, texts: bool) -> bool:
    """Whether all events are in order; where ids are codes of texts, those of one time are not looked into."""
    if texts:
        times = np.concatenate([block.ts for block in blocks])
        return bool((times[1:] > times[:-1]).all())
    last = START_OF_TIME, 0
    for block in blocks:
        first = int(block.ts[0]), int(block.ids[0])
        if first < last or not is_in_order(block.ts, block.ids):
            return False
        last = int(block.ts[-1]), int(block.ids[-1])
    return True


def is_in_order(ts: I64, ids: I64 | range) -> bool:
    """Whether events are in order of time, and those of one time in the order of their ids."""
    if isinstance(ids, range):  # numbers of arrival
        return not (ts[1:] < ts[:-1]).any()
    good = ts[1:] > ts[:-1]
    if not good.all():
        good |= (ts[1:] == ts[:-1]) & (ids[1:] >= ids[:-1])
    return bool(good.all())


def order_of(ts: I64, ids: I64, ranks: Ranks | None = None) -> I64:
    """The order of events by time, of those of one time by id, and of those of one id as they stand.

    `ranks`: numbers that order as the ids do, where these are codes of texts.
    """
    order: I64 = np.argsort(ts, kind="stable")
    tied = with_equals(ts[order])
    if tied.any():
        among = order[tied]
        keys = ids[among] if ranks is None else ranks(ids[among])
        order[tied] = among[np.lexsort((keys, ts[among]))]
    return order


def with_equals(ordered: I64) -> Bool:
    """Which of some values in order another one is equal to."""
    same = ordered[1:] == ordered[:-1]
    tied = np.zeros(len(ordered), np.bool_)
    tied[1:] |= same
    tied[:-1] |= same
    return tied
