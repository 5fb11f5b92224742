"""Counting the total orders of a piece's slots that its partial order allows."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

MOST_SLOTS: Final = 12
"""Of larger sets the orders are not counted."""


class Orders:
    """The linear extensions of a partial order and of its restrictions to some slots, given as bit masks.

    `after[i]` are the slots that come after slot i.
    """

    def __init__(self, after: Sequence[int]) -> None:
        self._after = tuple(after)
        self._counts: dict[int, int] = {0: 1}

    def count(self, slots: int) -> int:
        """In how many orders the slots may come."""
        known = self._counts.get(slots)
        if known is None:
            known = self._counts[slots] = self.ending_in(slots, slots)
        return known

    def ending_in(self, slots: int, last: int) -> int:
        """In how many of these orders one of the `last` slots comes last."""
        return sum(
            self.count(slots & ~(1 << i))
            for i in range(len(self._after))
            if slots >> i & 1 and last >> i & 1 and not self._after[i] & slots
        )


@lru_cache(maxsize=1 << 14)
def orders_of(after: tuple[int, ...]) -> Orders:
    """One object for each partial order, so that counts are shared by all pieces that have it."""
    return Orders(after)
