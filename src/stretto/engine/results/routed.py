"""Whose a match of a family is: rows that are a match of several members, as ranges of the order of all members."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stretto.plan.families.members import FamilyMembers
from stretto.records import dataclass
from stretto.values.rows import I64


@dataclass(frozen=True, slots=True)
class Routed:
    """Row i is a match of the members `order[low[i]:high[i]]`: their own order, or one in which a class is a range."""

    members: FamilyMembers
    low: I64
    high: I64
    order: I64

    def __len__(self) -> int:
        return int((self.high - self.low).sum())

    @property
    def single(self) -> bool:
        """Whether every row has one member."""
        return bool((self.high - self.low == 1).all())

    @property
    def arrays(self) -> Iterator[I64]:
        """What the matches hold; the members' own order is the plan's."""
        yield from (self.low, self.high)
        if self.order is not self.members.order:
            yield self.order

    @property
    def firsts(self) -> I64:
        """The first member of each row, by its number."""
        found: I64 = self.order[self.low]
        return found

    def take(self, at: npt.NDArray[Any] | slice) -> "Routed":
        return replace(self, low=self.low[at], high=self.high[at])

    def rows_of(self, place: int) -> I64:
        """The rows that are matches of a member, given by its place in the members' own order."""
        if self.order is self.members.order:
            return np.flatnonzero((self.low <= place) & (place < self.high))
        places = np.flatnonzero(self.order == self.members.order[place])
        return np.flatnonzero(np.searchsorted(places, self.low) < np.searchsorted(places, self.high))

    def one_by_one(self, rows: int) -> Iterator[tuple[I64, "Routed"]]:
        """Numbers of rows, each as often as it has members, and the one that each is for; so many at a time."""
        ends: I64 = np.cumsum(self.high - self.low)
        total = int(ends[-1]) if len(ends) else 0
        for begin in range(0, total, rows):
            numbers = np.arange(begin, min(begin + rows, total))
            at = np.searchsorted(ends, numbers, side="right")
            places: I64 = self.high[at] - (ends[at] - numbers)
            yield at, replace(self, low=places, high=places + 1)

    def counts(self) -> I64:
        """How many rows each member has, by its number."""
        size = len(self.order)
        begin = np.bincount(self.low, minlength=size + 1)
        end = np.bincount(self.high, minlength=size + 1)
        found = np.zeros(len(self.members), np.int64)
        np.add.at(found, self.order, np.cumsum(begin - end)[:size])
        return found


def member_counts(parts: Iterable[Routed | None]) -> Iterator[tuple[FamilyMembers, I64]]:
    """How many matches each member has, by its number, for each of the families that there are."""
    found: dict[int, tuple[FamilyMembers, I64]] = {}
    for part in parts:
        if part is not None:
            key = id(part.members)
            before = found[key][1] if key in found else 0
            found[key] = part.members, part.counts() + before
    yield from found.values()


def joined(parts: list[Routed]) -> Routed | None:
    """Rows of the same members, of which each has one, one part after another; None of none."""
    if not parts:
        return None
    numbers = np.concatenate([part.firsts for part in parts])
    places = np.arange(len(numbers))
    return Routed(parts[0].members, places, places + 1, numbers)
