"""Blocks that a join writes rows to: how large, in which memory, and from where their times are counted.

Rows that become matches as they are have 32-bit positions and, where the times of a block are close enough, 32-bit
times: what is written to new memory for a match is most of what it costs.
"""

from collections.abc import Callable, Iterator

import numpy as np

from stretto.engine.memory.first_touch import ask_for_pages
from stretto.pattern.nodes import Window
from stretto.values.rows import I64, Rows

SPAN_US = 1 << 32
"""Times that 32 bits tell apart."""
FEWEST = 1 << 12
"""Rows that a block has room for, however few are expected."""
WORTH = 1 << 12
"""Candidates per half of such a span: with fewer, to cut blocks there costs more than narrow times save."""


def stretches(
    latest: I64, floor: I64, window: Window, candidates: int
) -> Iterator[tuple[int, int, int | None]]:
    """Probing rows begin..end - 1 whose pairs' times are close enough for 32 bits, and what to count them from.

    All together, and None, where times are written as they are. No pair of a probing row begins before its `floor`,
    and none ends after its `latest`. `candidates`: how many may be written; 0: none with narrow times.
    """
    count = len(latest)
    narrow = candidates > 0 and window.unit == "us"
    if narrow and not (rises(latest) and rises(floor)):
        # Bounds that rise, for rows that are in order but for a little.
        latest, floor = np.maximum.accumulate(latest), np.minimum.accumulate(floor[::-1])[::-1]
    # Without a sign: times at both ends of all that there are lie further apart than a signed number can say.
    narrow = narrow and bool(((latest - floor).view(np.uint64) < SPAN_US).all())
    if not narrow or (int(latest[-1]) - int(floor[0])) // (SPAN_US // 2) * WORTH > candidates:
        yield 0, count, None
        return
    begin = 0
    while begin < count:
        since = int(floor[begin])
        end = int(np.searchsorted(latest, since + SPAN_US, side="left"))
        yield begin, end, since
        begin = end


def blocks_for(width: int, room: int, expected: int | None, since: int | None) -> tuple[I64, I64]:
    """Blocks for the times and the columns of so many rows. `expected`: of those that stay; None: they do not."""
    if expected is None:  # their memory is soon free, and used again
        return np.empty((2, room), np.int64), np.empty((width, room), np.int64)
    if expected > 0:
        room = min(room, max(FEWEST, 2 * expected))
    new: Callable[..., I64] = np.empty
    times, out = new((2, room), np.int64 if since is None else np.uint32), new((width, room), np.int32)
    for block in (times, out):
        ask_for_pages(block, min(room, expected))
    return times, out


def written(times: I64, out: I64, n: int, since: int | None) -> Rows:
    """The first `n` rows of a block."""
    # A view keeps its block alive. Memory never touched costs nothing, and a few rows are soon copied.
    if 8 * n < times.shape[1]:
        times, out = times[:, :n].copy(), out[:, :n].copy()
    elif n < times.shape[1]:
        times, out = times[:, :n], out[:, :n]
    return Rows(times[0], times[1], tuple(out), since or 0)


def rises(values: I64) -> bool:
    """Whether no value is less than the one before it."""
    return not (values[1:] < values[:-1]).any()
