"""A placed plan as text: the units of every operator, what reaches them, and what each has to do."""

from collections.abc import Iterator

from stretto.plan.placement.placing import PlacedPlan


def placed_text(placed: PlacedPlan) -> str:
    """Lines about units, to stand below those about the plan."""
    return "\n".join(_lines(placed)) + "\n"


def _lines(placed: PlacedPlan) -> Iterator[str]:
    capacity = placed.capacity
    objective = "operators at the same time" if placed.objective == "max" else "stages one after another"
    yield (
        f"on {placed.units} units, {objective}: replay speed {placed.speed:.3g}; a unit takes in"
        f" {capacity.iota:.3g} rows/s and makes {capacity.kappa:.3g} comparisons/s"
    )
    for number in sorted(placed.work):
        yield _line(placed, number)
    slowest = placed.bottleneck
    if slowest is not None:
        why = placed.work[slowest].load(capacity)[1]
        yield f"bottleneck: n{slowest}, by {why}"
    if placed.packed:
        names = ", ".join(f"n{number}" for number in sorted(placed.packed))
        yield f"on one unit together: {names}"


def _line(placed: PlacedPlan, number: int) -> str:
    grid, own, op = placed.grids[number], placed.work[number], placed.plan.ops[number]
    routes = ", ".join(f"n{source} {grid.route(side)}" for side, source in enumerate(op.inputs))
    return (
        f"n{number}  stage {placed.stage[number]}  {grid.units} unit{'s' * (grid.units > 1)}  {routes}"
        f"  in {sum(own.rows):.3g}/s, compared {own.compared:.3g}/s, state {sum(own.bytes):,.0f} bytes,"
        f" load {placed.load(number):.3g}"
    )
