"""What a partial order between slots says of their events: how many total orders it allows, and how a join uses it."""

from collections.abc import Iterator
from functools import lru_cache

from stretto.pattern.linear_extensions import count_linear_extensions
from stretto.pattern.order import Order, mask_of, members
from stretto.records import dataclass


@dataclass(frozen=True, slots=True)
class JoinLook:
    """One side of a join looks for rows of the other, which are stored; both are sets of slots.

    `share`: the part of a window, before the end of the row that looks, in which stored rows have to end. `terms`: how
    many pairs in order are still to be compared; `times`: of how many events the time has to be looked up to bound the
    range. `floor`: the first event of stored rows has to be compared with the window. `sorts`: any of several events
    may be the last of a stored row, so that rows come in no order. `mixed`: where rows that look have to stop comes in
    no order.
    """

    stored: int
    probing: int
    share: float
    terms: int
    times: int
    floor: bool
    sorts: bool
    mixed: bool


class Orders:
    """What is asked of one partial order again and again. Sets of slots are bit masks."""

    def __init__(self, order: Order, count: int) -> None:
        self.order = order
        self.count = count
        self.after = [order.behind(slot) for slot in range(count)]
        self._before = order.before(count)
        self._looks: dict[tuple[int, int], tuple[JoinLook, ...]] = {}

    # ---- counting --------------------------------------------------------------------------------------------------

    def _gap(self, slots: int, after: int, before: int) -> float:
        """The mean share of a window in which an event lies that comes after some slots, before others, and not last.

        Events are Poisson and k slots in one window: inserting the event into one of their orders gives k + 1 gaps,
        which are alike; the last of them does not count.
        """
        found = members(slots)
        size = len(found)
        place = {slot: i for i, slot in enumerate(found)}
        own = self.order.part(found)
        ends = ([place[slot] for slot in members(some & slots)] for some in (after, before))
        orders = count_linear_extensions(size, own)
        inserted = count_linear_extensions(size + 1, own.with_between(size, *ends))
        return (inserted - (0 if before & slots else orders)) / (size * orders)

    # ---- joins -----------------------------------------------------------------------------------------------------

    def looks(self, one: int, other: int) -> tuple[JoinLook, ...]:
        """Which sides of a join look for the other, and where."""
        known = self._looks.get((one, other))
        if known is None:
            known = self._looks[one, other] = tuple(self._found(one, other))
        return known

    def _found(self, one: int, other: int) -> Iterator[JoinLook]:
        if all(not other & ~self.after[i] for i in members(one)):
            sorts = len(self.order.latest(members(one))) > 1
            floor, mixed = one.bit_count() > 1, other.bit_count() > 1
            yield JoinLook(one, other, self._gap(other, 0, other), 0, 0, floor, sorts, mixed)
            return
        if not self.order.never_last(members(other), one):
            yield self._look(one, other)
        if not self.order.never_last(members(one), other):
            yield self._look(other, one)

    def _look(self, stored: int, probing: int) -> JoinLook:
        """Stored rows are found by their last event."""
        last = self.order.latest(members(stored))
        after = mask_of(p for p in members(probing) if self.after[p] & stored)
        before = probing
        for i in last:
            before &= self.after[i]
        pairs = [*self._covers(stored, probing), *self._covers(probing, stored)]
        left = pairs if len(last) > 1 else [pair for pair in pairs if last[0] not in pair]
        inside = self.order.never_first(members(stored), members(probing))
        # The probing row has the times of its first and last event with it, where it is known which these are.
        bounds = {i for pair in pairs if pair not in left for i in pair if probing >> i & 1}
        for ends in (self.order.latest(members(probing)), self.order.earliest(members(probing))):
            bounds -= set(ends) if len(ends) == 1 else set()
        floor = stored.bit_count() > 1 and not inside
        share = self._gap(probing, after, before)
        several = len(self.order.latest(members(probing))) > 1
        mixed = probing.bit_count() > 1 and bool(before or several)
        return JoinLook(stored, probing, share, len(left), len(bounds), floor, len(last) > 1, mixed)

    def _covers(self, one: int, other: int) -> list[tuple[int, int]]:
        """Pairs of a slot of one side and one of the other that comes right after it."""
        both = one | other
        return [
            (i, j)
            for i in members(one)
            for j in members(self.after[i] & other)
            if not self.after[i] & self._before[j] & both
        ]


@lru_cache(maxsize=1 << 14)
def orders_of(order: Order, count: int) -> Orders:
    """One object for each partial order, so that what is found is shared by all pieces that have it."""
    return Orders(order, count)
