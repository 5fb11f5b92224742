"""What a trial would have counted if the windows had been full when it began.

A stretch of events begins with nothing behind it, so it lacks the rows that events before it would have been part of:
the more, the longer the window and the more events a row has. Rows of few events would look dear beside those of many.
"""

from typing import Final

from stretto.plan.dag import Plan
from stretto.plan.trials.counted_work import Counted

LEAST_SEEN: Final = 0.1
"""Of fewer rows than this part of them nobody can say how many there are."""


def share_seen(events: int, windows: float) -> float:
    """The share of the rows of so many events that a stretch has which is so many windows long.

    Of independent events: what of k times within a window of each other lies in the stretch, by what it would be if
    each time of it had a full window before it.
    """
    if events <= 1:
        return 1.0
    if windows < 1:
        return max(windows ** (events - 1) / events, LEAST_SEEN)
    return max(1 - (events - 1) / (events * windows), LEAST_SEEN)


class FullWindows:
    """Turns what the operators of a plan did in stretches of `length` events into what they do with full windows."""

    def __init__(self, plan: Plan, length: int, rate: float) -> None:
        """`rate`: events per second of the stream."""
        self._length = length
        self._sizes = _sizes(plan, rate)

    def filled(self, counted: Counted, until: int) -> Counted:
        """The counts of a trial that ends after `until` events, by shares of that length."""
        stretch = until / max(-(-until // self._length), 1)
        seen = [share_seen(events, stretch / max(window, 1.0)) for events, window in self._sizes]
        rows = [round(count / part) for count, part in zip(counted.rows, seen, strict=True)]
        candidates = [round(count / part) for count, part in zip(counted.candidates, seen, strict=True)]
        return Counted(counted.events, rows, candidates)


def _sizes(plan: Plan, rate: float) -> list[tuple[int, float]]:
    """By operator, how many events its rows have, and how many a window of them holds.

    An operator of which that is not known is like the largest that it reads.
    """
    found: list[tuple[int, float]] = []
    for op, record in zip(plan.ops, plan.records, strict=True):
        computed = record.computed
        if computed is None:
            found.append(max((found[i] for i in op.inputs), default=(1, 1.0)))
        else:
            window = computed.piece.window
            held = window.size * rate / 1e6 if window.unit == "us" else float(window.size)
            found.append((len(computed.slots), held))
    return found
