"""Whether units pay for a stream: the work of an event against what it costs to send it, and rows, to several."""

from typing import Final

from stretto.errors import StrettoError
from stretto.plan.dag import Plan
from stretto.plan.placement.cells import ByCell
from stretto.plan.spread.cell_choice import MOVED, cells_for, rates_of, work_share
from stretto.plan.spread.staged import Staged, share_of, staged_for
from stretto.records import dataclass

HOP: Final = 0.3
"""Seconds that a further stateful stage adds to a micro-batch. Measured on Spark."""
MARGIN: Final = 1.25
"""Units have to be so much faster than one target: estimates are off by as much, and copies take cores and memory."""


@dataclass(frozen=True, slots=True)
class UnitsOrNot:
    """What `auto` thinks of units for a stream without a key: those that pay; why, in a few words.

    `best`: the units that are taken where they are asked for, whether they pay or not; None: there can be none.
    """

    units: ByCell | Staged | None
    because: str
    best: ByCell | Staged | None = None


def units_if_they_pay(plan: Plan, cores: int, units: int | None = None) -> UnitsOrNot:
    """One target has the work w of every event; C cores share it, and move R copies: they win if w > 0.7 R / (C - 1)
    microseconds, where all of the work is divided. Staged units move rows, and wait for a hop per stage. Those that win
    by less than a margin are not taken.
    """
    try:
        staged = staged_for(plan, units or max(cores, 1))
    except StrettoError as error:
        return UnitsOrNot(None, str(error).removeprefix("cannot spread by units: "))
    cells, why_no_cells = None, ""
    try:
        cells = cells_for(plan, units or max(cores, 1))
    except StrettoError as error:
        why_no_cells = str(error).removeprefix("cannot spread by units: ")
    rates = rates_of(plan)
    total = sum(rates.values())
    if cores < 2:
        return UnitsOrNot(None, "there is one core", cells or staged)
    if plan.estimate is None or total <= 0.0:
        return UnitsOrNot(None, "nothing is known of the events' rates", cells or staged)
    work_us = plan.estimate.cost / total * 1e-3
    moved_us = MOVED * 1e6 / cores
    rows = sum(taken * count for taken, count in zip(staged.taken, staged.units, strict=True))
    hops = HOP * 1e6 / total * (staged.last_stage - 1)
    staged_us = work_us * share_of(plan, staged, cores) + moved_us * rows + hops
    told = f"staged units about {staged_us:.2g} us, with {rows:.2g} rows moved in {staged.last_stage} stages"
    best: ByCell | Staged = staged
    best_us = staged_us
    if cells is None:
        told = f"{told}; no cells: {why_no_cells}"
    else:
        parts = dict(cells.anchors)
        copies = sum(rate * cells.targets / parts.get(name, 1) for name, rate in rates.items()) / total
        cells_us = work_us * work_share(plan, cells) + moved_us * copies
        told = f"cells about {cells_us:.2g} us, with {copies:.2g} copies of each; {told}"
        if cells_us <= staged_us:
            best, best_us = cells, cells_us
    because = f"{work_us:.2g} us of work per event on one target; {told}"
    pays = MARGIN * best_us < work_us
    if best_us < work_us and not pays:
        because = f"{because}; less than {MARGIN} times as fast"
    return UnitsOrNot(best if pays else None, because, best)
