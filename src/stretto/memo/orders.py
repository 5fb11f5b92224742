"""What a partial order between slots says of their events: how many total orders it allows, and how a join uses it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

MOST_SLOTS: Final = 12
"""Of larger sets the orders are not counted."""


@dataclass(frozen=True, slots=True)
class Look:
    """One side of a join looks for rows of the other, which are stored; both are sets of slots.

    `share`: the part of a window, before the end of the row that looks, in which stored rows have to end. `terms`: how
    many pairs in order are still to be compared; `times`: of how many events the time has to be looked up to bound the
    range. `floor`: the first event of stored rows has to be compared with the window. `sorts`: any of several events
    may be the last of a stored row, so that rows come in no order.
    """

    stored: int
    probing: int
    share: float
    terms: int
    times: int
    floor: bool
    sorts: bool


class Orders:
    """A partial order: `after[i]` are the slots that come after slot i. Sets of slots are bit masks."""

    def __init__(self, after: Sequence[int]) -> None:
        self.after = tuple(after)
        self._counts: dict[int, int] = {0: 1}
        self._looks: dict[tuple[int, int], tuple[Look, ...]] = {}

    # ---- counting --------------------------------------------------------------------------------------------------

    def count(self, slots: int) -> int:
        """In how many orders the slots may come."""
        known = self._counts.get(slots)
        if known is None:
            known = self._counts[slots] = self.ending_in(slots, slots)
        return known

    def ending_in(self, slots: int, last: int) -> int:
        """In how many of these orders one of the `last` slots comes last."""
        return sum(self.count(slots & ~(1 << i)) for i in members(slots & last) if not self.after[i] & slots)

    def _gap(self, slots: int, after: int, before: int) -> float:
        """The mean share of a window in which an event lies that comes after some slots, before others, and not last.

        Events are Poisson and k slots in one window: inserting the event into one of their orders gives k + 1 gaps,
        which are alike; the last of them does not count.
        """
        size = slots.bit_count()
        if size >= MOST_SLOTS:
            return 1.0 / size if before else 1.0
        number = len(self.after)
        new = 1 << number
        wider = orders_of((*(a | (new if after >> i & 1 else 0) for i, a in enumerate(self.after)), before))
        return wider.ending_in(slots | new, slots) / (size * self.count(slots))

    # ---- joins -----------------------------------------------------------------------------------------------------

    def looks(self, one: int, other: int) -> tuple[Look, ...]:
        """Which sides of a join look for the other, and where."""
        known = self._looks.get((one, other))
        if known is None:
            known = self._looks[one, other] = tuple(self._found(one, other))
        return known

    def _found(self, one: int, other: int) -> Iterator[Look]:
        if all(not other & ~self.after[i] for i in members(one)):
            sorts = len(self._latest(one)) > 1
            yield Look(one, other, self._gap(other, 0, other), 0, 0, one.bit_count() > 1, sorts)
            return
        if not self._never_last(other, one):
            yield self._look(one, other)
        if not self._never_last(one, other):
            yield self._look(other, one)

    def _never_last(self, one: int, other: int) -> bool:
        """Whether every slot of one side comes before some slot of the other."""
        return all(self.after[i] & other for i in members(one))

    def _look(self, stored: int, probing: int) -> Look:
        """Stored rows are found by their last event."""
        last = self._latest(stored)
        after = sum(1 << p for p in members(probing) if self.after[p] & stored)
        before = probing
        for i in last:
            before &= self.after[i]
        pairs = [
            pair for pair in self._covers(stored | probing) if (stored >> pair[0] ^ stored >> pair[1]) & 1
        ]
        left = pairs if len(last) > 1 else [pair for pair in pairs if last[0] not in pair]
        first = self._earliest(stored)
        inside = all(any(self.after[p] >> i & 1 for p in members(probing)) for i in first)
        # The probing row has the times of its first and last event with it, where it is known which these are.
        bounds = {i for pair in pairs if pair not in left for i in pair if probing >> i & 1}
        for ends in (self._latest(probing), self._earliest(probing)):
            bounds -= set(ends) if len(ends) == 1 else set()
        floor = stored.bit_count() > 1 and not inside
        share = self._gap(probing, after, before)
        return Look(stored, probing, share, len(left), len(bounds), floor, len(last) > 1)

    def _latest(self, slots: int) -> list[int]:
        """The slots that none of the others comes after."""
        return [i for i in members(slots) if not self.after[i] & slots]

    def _earliest(self, slots: int) -> list[int]:
        """The slots that none of the others comes before."""
        return [i for i in members(slots) if not any(self.after[k] >> i & 1 for k in members(slots))]

    def _covers(self, slots: int) -> list[tuple[int, int]]:
        """Pairs of slots that are next to each other in the order."""
        found = []
        for i in members(slots):
            for j in members(self.after[i] & slots):
                if not any(self.after[k] >> j & 1 for k in members(self.after[i] & slots)):
                    found.append((i, j))
        return found


@lru_cache(maxsize=1 << 14)
def orders_of(after: tuple[int, ...]) -> Orders:
    """One object for each partial order, so that counts are shared by all pieces that have it."""
    return Orders(after)


def members(slots: int) -> tuple[int, ...]:
    """The numbers of the slots in a mask."""
    return tuple(i for i in range(slots.bit_length()) if slots >> i & 1)
