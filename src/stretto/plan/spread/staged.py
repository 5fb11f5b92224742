"""Staged units: operators that bring rows together run on units of their own, stage after stage.

The units of a fragment of the plan have its operators; rows go from fragment to fragment by a hash of the ids of their
events (see `plan/placement/fragments.py`). A unit has an address, a number below `targets`, by which Spark knows it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from hashlib import blake2b

import numpy as np

from stretto.errors import StrettoError
from stretto.pattern.predicates import Apply, walk
from stretto.plan.dag import Plan, expressions
from stretto.plan.ops import Forbid, Join, Repeat
from stretto.plan.placement.fragments import fragments
from stretto.plan.placement.placement import ALONE, Grid, Placement, why_not
from stretto.plan.placement.refusals import why_no_units
from stretto.plan.spread.cell_choice import rates_of
from stretto.plan.spread.event_load import EventLoad
from stretto.plan.spread.partition_keys import why_thinned
from stretto.records import dataclass
from stretto.values.rows import F64


@dataclass(frozen=True, slots=True)
class Staged:
    """`grids`: one for each operator of the plan. `stages` and `units` of each fragment but the first, which takes
    events in. `digest`: of the operators that the units were laid out for.

    `taken`: rows that each unit of a fragment takes in for an event of the stream, where rates are known.
    """

    grids: tuple[Grid, ...]
    stages: tuple[int, ...]
    units: tuple[int, ...]
    digest: str
    taken: tuple[float, ...] = field(default=(), compare=False, repr=False)

    @property
    def targets(self) -> int:
        return sum(self.units)

    @property
    def last_stage(self) -> int:
        return max(self.stages)

    def address(self, fragment: int, unit: int) -> int:
        """The number of a unit among all; fragments count from 1 on."""
        return sum(self.units[: fragment - 1]) + unit

    def at(self, address: int) -> tuple[int, int]:
        """The fragment and the unit of an address."""
        for number, units in enumerate(self.units, 1):
            if address < units:
                return number, address
            address -= units
        raise IndexError(address)

    def addresses(self, stage: int) -> list[int]:
        """Those of the units of a stage."""
        return [
            self.address(number, unit)
            for number, (of, units) in enumerate(zip(self.stages, self.units, strict=True), 1)
            for unit in range(units)
            if of == stage
        ]

    def placed(self, plan: Plan) -> Plan:
        """The plan on these units."""
        return replace(plan, placement=Placement(self.grids))

    def check(self, plan: Plan) -> str | None:
        """Why a plan's results would be wrong; None if they are right."""
        reason = why_not_staged(plan)
        if reason is None and self.digest != digest_of(plan):
            reason = "staged units are those of one plan, and this is another one"
        return reason

    def loads(self, load: EventLoad) -> F64:
        """About how many rows each unit takes in."""
        taken = self.taken or (1.0,) * len(self.units)
        return load.times.total * np.repeat(np.array(taken), self.units)


def staged_for(plan: Plan, units: int) -> Staged:
    """The plan with so many units in every stage for each of its operators; StrettoError says why there are none."""
    if units < 1:
        raise StrettoError(f"a plan needs at least one unit, not {units}")
    reason = why_not_staged(plan)
    if reason is not None:
        raise StrettoError(f"cannot spread by units: {reason}")
    grids = tuple(_grid(plan, number, units) for number in range(len(plan.ops)))
    found = fragments(replace(plan, placement=Placement(grids)))[1:]
    if not found:
        raise StrettoError("cannot spread by units: no query brings events together")
    total = max(sum(rates_of(plan).values()), 1e-300)
    heads = [fragment.head for fragment in found if fragment.head is not None]
    return Staged(
        grids,
        tuple(fragment.stage for fragment in found),
        tuple(fragment.grid.units for fragment in found),
        digest_of(plan),
        tuple(_taken(plan, head, grids[head]) / total for head in heads),
    )


def why_not_staged(plan: Plan) -> str | None:
    """Why staged units would change a plan's results; None if they do not."""
    nodes = (node for op in plan.ops for term in expressions(op) for node in walk(term))
    if any(isinstance(node, Apply) and node.op.startswith("user:") for node in nodes):
        return "a function of yours may reject an event, which other units would not know"
    return why_no_units(plan) or why_thinned(plan)


def digest_of(plan: Plan) -> str:
    """The same for plans with the same operators, in every process."""
    return blake2b(repr(plan.ops).encode(), digest_size=8).hexdigest()


def share_of(plan: Plan, staged: Staged, cores: int) -> float:
    """The part of a plan's work that falls to the busiest core, if stages run one after another."""
    parts = dict.fromkeys(range(len(plan.ops)), 1)
    for fragment in fragments(staged.placed(plan))[1:]:
        parts |= dict.fromkeys(fragment.ops, min(fragment.grid.units, cores))
    costs = [record.cost or 0.0 for record in plan.records]
    total = sum(costs)
    if total <= 0.0:
        return 1.0 / min(max(staged.units), cores)
    return sum(cost / parts[number] for number, cost in enumerate(costs)) / total


def _rate(plan: Plan, number: int) -> float:
    rows = plan.records[number].rows if plan.records else None
    return 1.0 if rows is None else rows


def _taken(plan: Plan, head: int, grid: Grid) -> float:
    """Rows in a second that a unit of the grid takes in; of inputs beyond the second all, as of the first."""
    inputs = plan.ops[head].inputs
    sides = [(grid.left, grid.right)[side] if len(inputs) == 2 else grid.left for side in range(len(inputs))]
    return sum(_rate(plan, source) / (grid.groups * ways) for source, ways in zip(inputs, sides, strict=True))


def _grid(plan: Plan, number: int, units: int) -> Grid:
    """The grid of all units on which each takes in the fewest rows; one unit where an operator needs all rows."""
    op = plan.ops[number]
    if isinstance(op, Repeat | Forbid):
        return Grid(left=units)
    if not isinstance(op, Join):
        return ALONE
    allowed = (grid for grid in _grids(units) if why_not(plan.ops, number, grid) is None)
    return min(allowed, key=lambda grid: (_taken(plan, number, grid), -grid.groups, -grid.left))


def _grids(units: int) -> Iterator[Grid]:
    """The grids of exactly so many units."""
    for groups in _divisors(units):
        for left in _divisors(units // groups):
            yield Grid(groups, left, units // groups // left)


def _divisors(count: int) -> Sequence[int]:
    return [part for part in range(1, count + 1) if count % part == 0]
