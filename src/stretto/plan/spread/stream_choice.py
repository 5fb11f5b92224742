"""Whether cells pay for a stream: the work of an event against what it costs to send it to several of them."""

from dataclasses import dataclass

from stretto.errors import StrettoError
from stretto.plan.dag import Plan
from stretto.plan.placement.cells import ByCell
from stretto.plan.spread.cell_choice import MOVED, cells_for, rates_of


@dataclass(frozen=True, slots=True)
class CellsOrNot:
    """What `auto` thinks of cells for a stream without a key: the cells, where they pay; why, in a few words."""

    cells: ByCell | None
    because: str


def cells_if_they_pay(plan: Plan, cores: int) -> CellsOrNot:
    """One target has the work w of every event; C cores share it, and move R copies: they win if w > 0.7 R / (C - 1)
    microseconds.
    """
    if cores < 2:
        return CellsOrNot(None, "there is one core")
    try:
        cells = cells_for(plan, cores)
    except StrettoError as error:
        return CellsOrNot(None, str(error).removeprefix("cannot spread by units: "))
    rates = rates_of(plan)
    total = sum(rates.values())
    if plan.estimate is None or total <= 0.0:
        return CellsOrNot(None, "nothing is known of the events' rates")
    work_us = plan.estimate.cost / total * 1e-3
    parts = dict(cells.anchors)
    copies = sum(rate * cells.targets / parts.get(name, 1) for name, rate in rates.items()) / total
    needed_us = MOVED * 1e6 * copies / (cores - 1)
    because = (
        f"{work_us:.2g} us of work per event, and {copies:.2g} copies of each pay from {needed_us:.2g} us on"
    )
    return CellsOrNot(cells if work_us > needed_us else None, because)
