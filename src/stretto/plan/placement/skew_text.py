"""What a run showed of skew: units with more work than others, events in many rows, and what splitting them gives."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from stretto.explain.numbers import share_text
from stretto.explain.units import MeasuredUnit
from stretto.plan.placement.heavy import HeavyEvent
from stretto.plan.placement.placing import PlacedPlan

UNEVEN: Final = 1.3
"""The fullest unit by the mean, from which on skew is told."""
NAMED: Final = 3
"""Heavy events that are named; of others their number is told."""


def skew_text(
    placed: PlacedPlan,
    measured: Mapping[int, Sequence[MeasuredUnit]],
    heavy: Mapping[int, Sequence[HeavyEvent]],
    split: PlacedPlan | None = None,
) -> str:
    """Lines about skew, none if units had alike; `split`: the same plan placed by what is known of heavy events."""
    lines = [line for number in sorted(measured) for line in _lines(placed, number, measured[number], heavy)]
    if lines and split is not None and any(grid.heavy for grid in split.grids):
        own = [f"n{number}" for number, grid in enumerate(split.grids) if grid.heavy]
        lines.append(
            f"with the heavy events of {', '.join(own)} split: replay speed {split.speed:.3g}, as it is"
            f" {_as_it_is(placed, split):.3g}"
        )
    return "".join(f"{line}\n" for line in lines)


def _lines(
    placed: PlacedPlan,
    number: int,
    units: Sequence[MeasuredUnit],
    heavy: Mapping[int, Sequence[HeavyEvent]],
) -> Iterator[str]:
    compared = [one.compared for one in units]
    if len(units) < 2 or not any(compared):
        return
    factor = max(compared) * len(compared) / sum(compared)
    if factor < UNEVEN:
        return
    line = f"skew of n{number}: the fullest of its {len(units)} units looked at {factor:.1f} times the mean"
    found = heavy.get(number, ())
    left, right = placed.plan.ops[number].inputs if found else (0, 0)
    for event in found[:NAMED]:
        line += (
            f"; event {event.number} is in {share_text(event.left, 1.0)} of n{left}"
            f" and {share_text(event.right, 1.0)} of n{right}"
        )
    yield line + (f"; {len(found) - NAMED} more are heavy" if len(found) > NAMED else "")


def _as_it_is(placed: PlacedPlan, split: PlacedPlan) -> float:
    """The replay speed of the first placement, if the heavy events had been known."""
    known = {number: split.whole[number].of_unit(placed.grids[number]) for number in split.whole}
    loads = {number: work.load(placed.capacity)[0] for number, work in known.items()}
    together = sum(loads[number] for number in placed.packed)
    return 1.0 / max([together, *loads.values(), 1e-300])
