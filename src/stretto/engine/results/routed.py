"""Whose a match of a family is: rows that are a match of several members, as ranges of the order of all members."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stretto.plan.families.members import FamilyMembers
from stretto.values.rows import I64


@dataclass(frozen=True, slots=True)
class Routed:
    """Row i is a match of the members at the places `low[i]`..`high[i] - 1` of their order."""

    members: FamilyMembers
    low: I64
    high: I64

    def __len__(self) -> int:
        return int((self.high - self.low).sum())

    @property
    def single(self) -> bool:
        """Whether every row has one member."""
        return bool((self.high - self.low == 1).all())

    def take(self, at: npt.NDArray[Any] | slice) -> "Routed":
        return Routed(self.members, self.low[at], self.high[at])

    def one_by_one(self, rows: int) -> Iterator[tuple[I64, "Routed"]]:
        """Numbers of rows, each as often as it has members, and the one that each is for; so many at a time."""
        ends: I64 = np.cumsum(self.high - self.low)
        total = int(ends[-1]) if len(ends) else 0
        for begin in range(0, total, rows):
            numbers = np.arange(begin, min(begin + rows, total))
            at = np.searchsorted(ends, numbers, side="right")
            places: I64 = self.high[at] - (ends[at] - numbers)
            yield at, Routed(self.members, places, places + 1)

    def counts(self) -> I64:
        """How many rows each member has, by its number."""
        size = len(self.members)
        begin = np.bincount(self.low, minlength=size + 1)
        end = np.bincount(self.high, minlength=size + 1)
        found = np.zeros(size, np.int64)
        found[self.members.order] = np.cumsum(begin - end)[:size]
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
    """Rows of the same members, one part after another; None of none."""
    if not parts:
        return None
    low, high = [part.low for part in parts], [part.high for part in parts]
    return Routed(parts[0].members, np.concatenate(low), np.concatenate(high))
