"""Units as DecoPa and its rivals give them (sec. 6.1 and 7.1)."""

from collections.abc import Mapping
from math import floor

from stretto.errors import StrettoError
from stretto.plan.dag import Plan
from stretto.plan.ops import Join
from stretto.plan.placement.placement import ALONE, Grid
from stretto.plan.placement.work import OperatorWork
from stretto.solve.units.allocation import Allocation


def as_rivals(
    plan: Plan, works: Mapping[int, OperatorWork], units: int, allocation: Allocation
) -> tuple[dict[int, Grid], frozenset[int]]:
    """A grid for each operator, and those that are on one unit together."""
    alone = dict.fromkeys(works, ALONE)
    if allocation in ("together", "slices"):
        return alone, frozenset(works)
    if units < len(works):
        raise StrettoError(f"{len(works)} operators need as many units, and there are {units}")
    if allocation == "one each":
        return alone, frozenset()
    total = sum(work.compared for work in works.values())
    left = units - len(works)
    shares = {number: left * work.compared / total if total else 0.0 for number, work in works.items()}
    given = {number: 1 + floor(share) for number, share in shares.items()}
    over = units - sum(given.values())
    for number in sorted(works, key=lambda one: floor(shares[one]) - shares[one])[:over]:
        given[number] += 1
    return {
        number: _larger_divided(plan, number, works[number], given[number]) for number in works
    }, frozenset()


def _larger_divided(plan: Plan, number: int, work: OperatorWork, units: int) -> Grid:
    """The larger input is divided, the other one copied; what grows or forbids divides the rows that it works on.

    The sets of one repeated slot, in a binary Kleene split, are copied (sec. 5.2).
    """
    op = plan.ops[number]
    if not isinstance(op, Join):
        return Grid(left=units)
    sets = [_is_sets(plan, source) for source in op.inputs]
    second = sets[0] if any(sets) else work.rows[1] > work.rows[0]
    return Grid(right=units) if second else Grid(left=units)


def _is_sets(plan: Plan, number: int) -> bool:
    computed = plan.records[number].computed
    piece = None if computed is None else computed.form()
    return piece is not None and len(piece.slots) == 1 and bool(piece.growing)
