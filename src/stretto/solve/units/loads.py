"""What one unit of an operator takes in and compares, by how its inputs are divided (DecoPa, sec. 5.3.2).

Capacities are per window: `iota` rows that a unit can take in, `kappa` comparisons that it can make. A load is the
share of the scarcer one that replay at the speed of the stream takes; the replay speed c is its reciprocal.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple


class Capacity(NamedTuple):
    """Rows that a unit can take in, and comparisons that it can make, in a window."""

    iota: float
    kappa: float


@dataclass(frozen=True, slots=True)
class MakingStep:
    """How an operator makes its rows, with the rates per window that its load depends on.

    `join` of `left` and `right`, the larger one first; `shared` is the rate of the events that both hold, 0 if they
    hold none in common. `unary`: repetitions grown from `left`, the rows with one each, to `made`. `binary`: from
    `left`, the rows without the repeated type, and `right`, its events; `sets` is the rate of its sets alone.
    """

    kind: Literal["join", "unary", "binary"]
    left: float
    right: float = 0.0
    made: float = 0.0
    sets: float = 0.0
    shared: float = 0.0

    def taken(self, units: int) -> float:
        """Rows that each unit takes in: the larger input is divided, the other one copied."""
        return self.left / units + self.right

    def compared(self, units: int) -> float:
        """Comparisons that each unit makes."""
        match self.kind:
            case "join":
                return 2.0 * self.left / units * self.right
            case "unary":
                return self.left * self.made / units
            case "binary":
                each = self.left / units
                return each * self.sets + self.right * (each + self.sets + self.made)

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
    grids = (
        (groups, left, right)
        for groups in range(1, (units if step.shared else 1) + 1)
        for left in range(1, units // groups + 1)
        for right in range(1, units // groups // left + 1)
    )
    return min(LoadedGrid(_grid_load(step, *grid, capacity), *grid) for grid in grids)


def _grid_load(step: MakingStep, groups: int, left: int, right: int, capacity: Capacity) -> float:
    """Rows that hold the same event are found by its hash; without one every pair of rows is compared."""
    taken = step.left / (groups * left) + step.right / (groups * right)
    pairs = step.left * step.right / (max(step.shared, 1.0) if step.shared else 1.0)
    return max(taken / capacity.iota, 2.0 * pairs / (groups * left * right) / capacity.kappa)
