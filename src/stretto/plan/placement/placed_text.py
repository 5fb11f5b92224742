"""A placed plan as text: the units of every operator, what reaches them, and what each has to do."""

from collections.abc import Iterator

from stretto.explain.numbers import share_text
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
    if placed.bottleneck is not None:
        yield _bottleneck(placed, placed.bottleneck)
    if placed.packed:
        names = ", ".join(f"n{number}" for number in sorted(placed.packed))
        yield f"on one unit together: {names}"
    replay = placed.plan.replay
    if replay is not None and replay.units == placed.units and placed.objective == "max":
        yield _gap(replay.gap)


def _gap(gap: float | None) -> str:
    if gap is None:
        return "split and units were chosen together; how far from the best is not known"
    if gap < 1e-9:
        return "split and units were chosen together: no other split over the same ways is faster"
    return f"split and units were chosen together: no other is faster by more than {share_text(gap, 1.0)}"


def _bottleneck(placed: PlacedPlan, number: int) -> str:
    """The operator that sets the speed, by what, and what its units have of it."""
    own, grid, capacity = placed.work[number], placed.grids[number], placed.capacity
    why = own.load(capacity)[1]
    amount, most = (own.compared, capacity.kappa) if why == "comparisons" else (sum(own.rows), capacity.iota)
    copies = [f"n{placed.plan.ops[number].inputs[side]}" for side in (0, 1) if grid.copies(side) > 1]
    copied = f"; {' and '.join(copies)} must be copied" if copies else ""
    return (
        f"bottleneck: n{number}, by {why}: each of its {grid.units} units has {amount:.3g}/s of the {most:.3g}/s that"
        f" it can do{copied}"
    )


def _line(placed: PlacedPlan, number: int) -> str:
    grid, own, op = placed.grids[number], placed.work[number], placed.plan.ops[number]
    routes = ", ".join(f"n{source} {grid.route(side)}" for side, source in enumerate(op.inputs))
    return (
        f"n{number}  stage {placed.stage[number]}  {grid.units} unit{'s' * (grid.units > 1)}  {routes}"
        f"  in {sum(own.rows):.3g}/s, compared {own.compared:.3g}/s, state {sum(own.bytes):,.0f} bytes,"
        f" load {placed.load(number):.3g}"
    )
