"""A placed plan as units that can be shown: lanes with what each operator has on them."""

from collections.abc import Iterator, Mapping, Sequence

from stretto.explain.units import MeasuredUnit, UnitLane, UnitShare, UnitsShown
from stretto.plan.placement.placed_text import placed_text
from stretto.plan.placement.placing import PlacedPlan


def units_shown(
    placed: PlacedPlan,
    measured: Mapping[int, Sequence[MeasuredUnit]] | None = None,
    span: float | None = None,
    skew: str = "",
) -> UnitsShown:
    """The units of a placed plan; `measured`: what a run over so many seconds of stream saw on each.

    `skew`: what it showed of units that had more than others.
    """
    title = f"On {placed.units} units: replay speed {placed.speed:.3g}"
    return UnitsShown(title, placed_text(placed) + skew, tuple(_lanes(placed, measured or {})), span)


def _lanes(placed: PlacedPlan, measured: Mapping[int, Sequence[MeasuredUnit]]) -> Iterator[UnitLane]:
    def share(number: int, unit: int) -> UnitShare:
        own = placed.work[number]
        load, why = own.load(placed.capacity)
        done = measured[number][unit] if number in measured else None
        return UnitShare(f"n{number}", sum(own.rows), own.compared, sum(own.bytes), load, why, done)

    count = 0
    together = tuple(share(number, 0) for number in sorted(placed.packed))
    if together:
        count = 1
        yield UnitLane("unit 1", together)
    for number in sorted(placed.work.keys() - placed.packed):
        for unit in range(placed.grids[number].units):
            count += 1
            yield UnitLane(f"unit {count}", (share(number, unit),))
