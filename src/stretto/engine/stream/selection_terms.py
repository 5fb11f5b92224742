"""Selections as boxes: what a conjunction asks of each attribute, as ranges of order keys."""

from collections.abc import Hashable, Iterable
from itertools import product
from typing import Final

from stretto.records import dataclass

MOST_BOXES: Final = 4096
"""A conjunction of several INs becomes so many boxes at most; what would make more is left to be checked after."""

Range = tuple[int, int]
"""Order keys, both ends included; see `engine/rows/join_keys.py`."""


@dataclass(frozen=True, slots=True)
class RangeTerm:
    """An attribute, by its number, is in one of the ranges. A value is a range of one; null and NaN are in none."""

    attribute: int
    ranges: tuple[Range, ...]


@dataclass(frozen=True, slots=True)
class IndexedSelection:
    """A conjunction of terms; `residual` is what else an event must pass, or None. The index never looks into it."""

    terms: tuple[RangeTerm, ...]
    residual: Hashable = None


@dataclass(frozen=True, slots=True)
class Shape:
    """What boxes that are looked up together have in common: attributes that are one value, attributes that are ranges.

    `rest`: terms that would make too many boxes, checked after, as is the `residual`.
    """

    values: tuple[int, ...]
    ranges: tuple[int, ...]
    rest: tuple[RangeTerm, ...]
    residual: Hashable

    @property
    def attributes(self) -> tuple[int, ...]:
        return (*self.values, *self.ranges, *(term.attribute for term in self.rest))


@dataclass(frozen=True, slots=True)
class KeyBox:
    """A value for each attribute of the shape that is one, a range for each of the others."""

    values: tuple[int, ...]
    ranges: tuple[Range, ...]


def boxes(selection: IndexedSelection) -> Iterable[tuple[Shape, KeyBox]]:
    """Boxes that no two have an event in common: together they are the selection, but for rest and residual."""
    asked: dict[int, list[tuple[Range, ...]]] = {}
    for term in selection.terms:
        asked.setdefault(term.attribute, []).append(term.ranges)
    wanted = {attribute: _meet(asked[attribute]) for attribute in sorted(asked)}
    rest: list[RangeTerm] = []
    count = 1
    for attribute, ranges in sorted(wanted.items(), key=lambda item: len(item[1])):
        if count * len(ranges) > MOST_BOXES and count > 1:
            rest.append(RangeTerm(attribute, wanted.pop(attribute)))
        else:
            count *= len(ranges)
    for chosen in product(*wanted.values()):
        own = dict(zip(wanted, chosen, strict=True))
        values = tuple(a for a, (low, high) in own.items() if low == high)
        ranges_of = tuple(a for a, (low, high) in own.items() if low < high)
        shape = Shape(values, ranges_of, tuple(rest), selection.residual)
        yield shape, KeyBox(tuple(own[a][0] for a in values), tuple(own[a] for a in ranges_of))


def _meet(terms: list[tuple[Range, ...]]) -> tuple[Range, ...]:
    """What is in a range of every term, as ranges that do not overlap, ascending."""
    found = _union(terms[0])
    for ranges in terms[1:]:
        met = [(max(a, c), min(b, d)) for a, b in found for c, d in _union(ranges)]
        found = tuple(sorted((low, high) for low, high in met if low <= high))
    return found


def _union(ranges: tuple[Range, ...]) -> tuple[Range, ...]:
    if len(ranges) == 1 and ranges[0][0] <= ranges[0][1]:
        return ranges
    found: list[Range] = []
    for low, high in sorted(r for r in ranges if r[0] <= r[1]):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return tuple(found)
