"""SUM, AVG, MIN and MAX of sets that grow event by event: what they are of a set follows from the set before it.

Doubles are added up from the left, as everywhere, so the sum of one more is what adding all up again would give.
"""

from collections.abc import Iterable

import numpy as np

from stretto.pattern.predicates import Expr, Reduce, walk
from stretto.records import dataclass
from stretto.schema import Kind
from stretto.values.rows import I64, Bool
from stretto.values.vector import Data, Vector

MASK = 0xFFFFFFFF
NUMBERS = frozenset([Kind.INT, Kind.FLOAT, Kind.DURATION, Kind.TIME])
COUNT, VALUE, LOW = range(3)
LANES = 3
"""Of a reduction: values that are not null; their sum or extreme, a double by its bits; of integers halves of it."""


@dataclass(frozen=True, slots=True)
class RunningReduction:
    """One of them over an attribute; SUM stands for AVG too."""

    function: str
    attribute: str

    def grown(self, before: I64, empty: Bool, values: Vector) -> I64:
        """The lanes of sets with one more value each; `empty`: those that had none before."""
        before = np.where(empty, 0, before)
        there = np.ones(len(empty), np.bool_) if values.valid is None else values.valid
        lanes = before.copy()
        lanes[COUNT] += there
        data = values.data
        if self.function == "SUM" and data.dtype.kind != "f":
            lanes[VALUE] += np.where(there, data >> 32, 0)
            lanes[LOW] += np.where(there, data & MASK, 0)
            return lanes
        known = np.ascontiguousarray(before[VALUE]).view(data.dtype)
        if self.function == "SUM":
            with np.errstate(all="ignore"):
                new = known + data
        else:
            better = data > known if self.function == "MAX" else data < known
            new = np.where((before[COUNT] == 0) | (data != data) | better, data, known)  # noqa: PLR0124 - NaN
        lanes[VALUE] = np.where(there, new, known).view(np.int64)
        return lanes

    def read(self, lanes: I64, function: str, *, doubles: bool) -> Vector:
        """The values of sets; null over nothing but nulls, and where 64 bits do not hold a sum."""
        counts, valid = lanes[COUNT], lanes[COUNT] > 0
        found: Data = np.ascontiguousarray(lanes[VALUE])
        if doubles:
            found = found.view(np.float64)
        elif self.function == "SUM":
            high = lanes[VALUE] + (lanes[LOW] >> 32)
            valid &= (high >= -(1 << 31)) & (high < 1 << 31)
            found = (high << 32) | (lanes[LOW] & MASK)
        if function == "AVG":
            with np.errstate(all="ignore"):
                found = found / counts
        return Vector(found, None if valid.all() else valid)


def running_reductions(terms: Iterable[Expr]) -> tuple[RunningReduction, ...]:
    """Those that terms read, as far as they are of numbers."""
    found = {
        RunningReduction(_kept_as(node.function), node.attribute)
        for term in terms
        for node in walk(term)
        if isinstance(node, Reduce) and node.function != "COUNT" and node.kind in NUMBERS
    }
    return tuple(sorted(found, key=repr))


def _kept_as(function: str) -> str:
    return "SUM" if function == "AVG" else function


def kept_for(node: Reduce) -> RunningReduction:
    return RunningReduction(_kept_as(node.function), node.attribute)
