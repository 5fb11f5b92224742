"""What one unit of an operator takes in and compares, by how its inputs are divided (DecoPa, sec. 5.3.2).

Capacities are per window: `iota` rows that a unit can take in, `kappa` comparisons that it can make. A load is the
share of the scarcer one that replay at the speed of the stream takes; the replay speed c is its reciprocal.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from stretto.memo.prices import Prices
from stretto.records import dataclass
from stretto.values.rows import F64


class Capacity(NamedTuple):
    """Rows that a unit can take in, and comparisons that it can make, in a window."""

    iota: float
    kappa: float


def capacity_of(prices: Prices) -> Capacity:
    """Rows that a unit takes in and comparisons that it makes in a second, by this machine's prices."""
    return Capacity(1e9 / (prices.move + prices.store + prices.probe), 1e9 / max(prices.candidate, 1e-3))


@dataclass(frozen=True, slots=True)
class MakingStep:
    """How an operator makes its rows, with the rates per window that its load depends on.

    `join` of `left` and `right`, the larger one first; `shared` is the rate of the events that both hold, 0 if they
    hold none in common. `unary`: repetitions grown from `left`, the rows with one each, to `made`. `binary`: from
    `left`, the rows without the repeated type, and `right`, its events; `sets` is the rate of its sets alone.
    `work`: all comparisons together, where another model tells them.
    """

    kind: Literal["join", "unary", "binary"]
    left: float
    right: float = 0.0
    made: float = 0.0
    sets: float = 0.0
    shared: float = 0.0
    work: float | None = None

    def taken(self, units: int) -> float:
        """Rows that each unit takes in: the larger input is divided, the other one copied."""
        return self.left / units + self.right

    def compared(self, units: int) -> float:
        """Comparisons that each unit makes."""
        if self.work is not None:
            return self.work / units
        match self.kind:
            case "join":
                return 2.0 * self.left / units * self.right
            case "unary":
                return self.left * self.made / units
            case "binary":
                each = self.left / units
                return each * self.sets + self.right * (each + self.sets + self.made)

    @property
    def hashed(self) -> float:
        """Comparisons in all, where rows that hold the same event are found by its hash; without one all pairs are."""
        if self.work is not None:
            return self.work
        return 2.0 * self.left * self.right / (max(self.shared, 1.0) if self.shared else 1.0)

    def load(self, units: int, capacity: Capacity) -> float:
        """The load of each of so many units, as the paper divides."""
        return max(self.taken(units) / capacity.iota, self.compared(units) / capacity.kappa)

    def best(self, units: int, capacity: Capacity) -> "LoadedGrid":
        """The least load on at most so many units, by any grid: also both inputs divided, or by a shared event."""
        return _best(self, units, capacity)


class LoadedGrid(NamedTuple):
    """A grid of units with the load of each: `groups` by shared events, each `left` times `right`."""

    load: float
    groups: int
    left: int
    right: int

    @property
    def units(self) -> int:
        return self.groups * self.left * self.right


@lru_cache(maxsize=1 << 16)
def _best(step: MakingStep, units: int, capacity: Capacity) -> LoadedGrid:
    if step.kind != "join":
        return LoadedGrid(step.load(units, capacity), 1, units, 1)
    grids = _grids(units, shared=bool(step.shared))
    return min(LoadedGrid(_grid_load(step, *grid, capacity), *grid) for grid in grids)


def _grids(units: int, *, shared: bool) -> Iterator[tuple[int, int, int]]:
    """The grids of at most so many units; groups only where events are shared."""
    for groups in range(1, (units if shared else 1) + 1):
        for left in range(1, units // groups + 1):
            for right in range(1, units // groups // left + 1):
                yield groups, left, right


def all_loads(steps: Sequence[MakingStep], units: int, capacity: Capacity, *, beyond: bool) -> F64:
    """The least load of many steps, one per row, on 1, 2, .. units; `beyond` the paper by any grid."""
    found = np.full((len(steps), units), np.inf)
    joins = np.array([beyond and step.kind == "join" for step in steps], np.bool_)
    for row in np.flatnonzero(~joins).tolist():
        found[row] = [steps[row].load(count, capacity) for count in range(1, units + 1)]
    some = np.flatnonzero(joins)
    names = ("left", "right", "shared", "hashed")
    left, right, shared, pairs = (
        np.array([getattr(steps[row], name) for row in some.tolist()]) for name in names
    )
    for groups, one, other in _grids(units, shared=True):
        count = groups * one * other
        taken = (left / (groups * one) + right / (groups * other)) / capacity.iota
        load = np.maximum(taken, pairs / count / capacity.kappa)
        if groups > 1:
            load[shared == 0] = np.inf
        found[some, count - 1] = np.minimum(found[some, count - 1], load)
    return np.minimum.accumulate(found, axis=1)


def _grid_load(step: MakingStep, groups: int, left: int, right: int, capacity: Capacity) -> float:
    taken = step.left / (groups * left) + step.right / (groups * right)
    return max(taken / capacity.iota, step.hashed / (groups * left * right) / capacity.kappa)
