"""How the work of operators is divided among units: a grid for each operator, and what its inputs are routed by."""

from collections.abc import Sequence
from math import isqrt
from typing import Final

from stretto.plan.ops import Emit, Filter, Forbid, Join, Op, Repeat, Scan
from stretto.records import dataclass


@dataclass(frozen=True, slots=True)
class Grid:
    """The units of an operator: `groups` times `left` times `right` of them.

    A row goes to the group that a hash of the events says which both inputs hold; one group takes all. Inside a group
    rows of the first input are divided among `left` and copied to all `right`, rows of the second the other way round.
    So every pair of rows that can meet does so on exactly one unit.

    `heavy`: ids of shared events (of texts their hashes) that so many rows hold that no group should have all of them.
    Rows with one of these go to no group, but to the cells of a grid of all units, `across`.
    """

    groups: int = 1
    left: int = 1
    right: int = 1
    heavy: tuple[int, ...] = ()

    @property
    def units(self) -> int:
        return self.groups * self.left * self.right

    @property
    def across(self) -> tuple[int, int]:
        """The same number of units in two directions that are as alike as can be."""
        first = next(n for n in range(isqrt(self.units), 0, -1) if self.units % n == 0)
        return self.units // first, first

    def copies(self, side: int) -> int:
        """To how many units a row of the first (0) or second (1) input goes, if it holds no heavy event."""
        return self.left if side else self.right

    def route(self, side: int) -> str:
        """How the rows of an input reach the units: `local`, `copy`, or a hash of shared events or of the row."""
        if self.units == 1:
            return "local"
        own = self.right if side else self.left
        shared = "hash of shared events" + f" ({len(self.heavy)} heavy split)" * bool(self.heavy)
        words = [shared] * (self.groups > 1) + ["hash"] * (own > 1)
        return " and ".join([*words, *["copy"] * (self.copies(side) > 1)])


ALONE: Final = Grid()
DIVISIBLE: Final = (Join, Filter, Repeat, Forbid)
"""Operators that can run on several units."""


@dataclass(frozen=True, slots=True)
class Placement:
    """A grid for each operator of a plan; `watched`: units count how many rows hold which shared events."""

    grids: tuple[Grid, ...]
    watched: bool = False

    @property
    def units(self) -> int:
        """Units of all operators that keep something or compare; the others run where their rows are."""
        return sum(grid.units for grid in self.grids if grid.units > 1) or 1


def why_not(ops: Sequence[Op], number: int, grid: Grid) -> str | None:
    """Why an operator cannot be divided like this; None if it can."""
    op = ops[number]
    if grid.units == 1:
        return None
    if min(grid.groups, grid.left, grid.right) < 1:
        return "a grid has at least one unit in each direction"
    if isinstance(op, Join):
        return "its inputs share no events" if (grid.groups > 1 or grid.heavy) and not op.same else None
    if isinstance(op, DIVISIBLE):
        divided = grid.groups > 1 or grid.right > 1
        return "only the rows of its first input can be divided" if divided else None
    kind = type(op).__name__.lower()
    return (
        f"{kind} runs on one unit"
        if isinstance(op, Scan | Emit)
        else f"{kind} needs all of its rows on one unit"
    )


def stages(ops: Sequence[Op]) -> list[int]:
    """The stage of each operator: scans are in stage 0, every other one after all that it reads."""
    found: list[int] = []
    for op in ops:
        below = max((found[source] for source in op.inputs), default=-1)
        found.append(below + (not isinstance(op, Filter | Emit)) if op.inputs else 0)
    return found
