"""Placements: the best allocation for a plan, loads that add up, what does not fit, and what is shown."""

from dataclasses import replace
from itertools import pairwise, product

import pytest

from stretto.engine.run import Engine
from stretto.errors import PlanError, StrettoError
from stretto.generate.streams import generate
from stretto.memo.prices import Prices
from stretto.pattern.workload import Workload
from stretto.plan.check import check
from stretto.plan.dag import Plan
from stretto.plan.ops import Join
from stretto.plan.optimize import optimize
from stretto.plan.placement.placed_text import placed_text
from stretto.plan.placement.placement import Grid, Placement, stages
from stretto.plan.placement.placing import PlacedPlan, place
from stretto.plan.placement.work import OperatorWork, grids, works_of
from stretto.solve.units.loads import Capacity
from stretto.stats.estimate import Estimator
from stretto.stats.profile import Stats

TEXT = """
QUERY q PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN 30 s;
"""
EVENTS = generate("zipf", 4_000, seed=3, rate=20.0, types=4)
STATS = Stats.of(EVENTS)
CAPACITY = Capacity(40.0, 4_000.0)


@pytest.fixture(scope="module")
def plan() -> Plan:
    return optimize(Workload.parse(TEXT), STATS, "none")


def placed(plan: Plan, units: int, **options: object) -> PlacedPlan:
    return place(plan, STATS, units, Prices(), capacity=CAPACITY, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("units", [2, 3, 5, 8])
def test_no_allocation_is_faster(plan: Plan, units: int) -> None:
    works = works_of(plan, Estimator(STATS), Prices())
    each = {number: list(grids(plan.ops, number, units)) for number in works}
    best = min(
        max(works[number].of_unit(grid).load(CAPACITY)[0] for number, grid in zip(works, chosen, strict=True))
        for chosen in product(*each.values())
        if sum(grid.units for grid in chosen) <= units
    )
    assert placed(plan, units).speed >= (1 / best) * (1 - 1e-9)


def test_more_units_are_never_slower_and_stages_use_all_of_them(plan: Plan) -> None:
    for objective in ("max", "stages"):
        speeds = [placed(plan, units, objective=objective).speed for units in range(1, 12)]
        assert all(after >= before * (1 - 1e-9) for before, after in pairwise(speeds))
    joins = [number for number, op in enumerate(plan.ops) if isinstance(op, Join)]
    found = placed(plan, 6, objective="stages")
    assert [stages(plan.ops)[number] for number in joins] == [1, 2]
    assert all(found.grids[number].units > 3 for number in joins)


def test_few_units_are_shared_by_all(plan: Plan) -> None:
    alone = placed(plan, 1)
    assert alone.packed == frozenset(alone.work)
    assert alone.speed == pytest.approx(1 / sum(map(alone.load, alone.work)))


def test_state_that_does_not_fit_is_refused(plan: Plan) -> None:
    with pytest.raises(StrettoError, match=r"operator n\d+ would keep .* more than 100: give more units"):
        placed(plan, 2, state_bytes=100.0)
    needed = max(sum(work.bytes) for work in placed(plan, 20).work.values())
    assert placed(plan, 20, state_bytes=needed * 1.01).units == 20


def test_what_cannot_be_divided(plan: Plan) -> None:
    number = next(n for n, op in enumerate(plan.ops) if isinstance(op, Join))
    given = [Grid()] * len(plan.ops)
    given[number] = Grid(groups=2)
    with pytest.raises(PlanError, match="share no events"):
        check(Plan(plan.ops, plan.queries, plan.records, plan.schema, "x", placement=Placement(tuple(given))))
    for text, why in (("WITHIN 5 EVENTS", "EVENTS"), ("WITHIN 5 s SELECT STRICT", "STRICT")):
        other = optimize(Workload.parse(f"QUERY q PATTERN SEQ(A a, B b) {text};"), STATS, "none")
        with pytest.raises(StrettoError, match=f"cannot spread by units: .*{why}"):
            placed(other, 2)


def test_text(plan: Plan) -> None:
    lines = placed_text(placed(plan, 8)).splitlines()
    assert lines[0].startswith("on 8 units, operators at the same time: replay speed ")
    assert any("stage 2" in line and "hash" in line and "copy" in line for line in lines)
    assert lines[-1].startswith(("bottleneck: n", "on one unit together"))


def test_units_get_what_the_model_says(plan: Plan) -> None:
    """Rows of the divided input are spread evenly, copies reach all; every row is on as many units as planned."""
    found = placed(plan, 8)
    engine, alone = Engine(found.plan), Engine(plan)
    for one in (engine, alone):
        one.push(EVENTS)
        one.flush()
    assert engine.counters.rows == alone.counters.rows
    for number, counts in engine.unit_counts.items():
        grid, op = found.grids[number], plan.ops[number]
        sent = sum(alone.counters.rows[source] * grid.copies(side) for side, source in enumerate(op.inputs))
        assert sum(count.rows_in for count in counts) == sent
        assert sum(count.candidates for count in counts) == alone.counters.candidates[number]
        assert max(count.rows_in for count in counts) < 1.3 * sent / grid.units


def test_few_shared_events_are_spread_unevenly() -> None:
    work = OperatorWork((100.0, 100.0), 1_000.0, (0.0, 0.0), keys=4.0)
    assert work.of_unit(Grid(groups=8)).compared > work.of_unit(Grid(left=8)).compared
    many = replace(work, keys=1e6)
    assert many.of_unit(Grid(groups=8)).compared == pytest.approx(125.0, rel=0.01)
    assert sum(many.of_unit(Grid(groups=8)).rows) < sum(many.of_unit(Grid(left=8)).rows)
