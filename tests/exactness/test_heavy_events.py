"""A hot event, in nine of ten rows of both inputs of a join: it is reported, and splitting its rows helps."""

from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest
from benchmarks.decopa_units import HOT, sharing_plan, with_hot_event
from tests.support.comparison import assert_same_matches, matches_of
from tests.support.random_events import SCHEMA, in_batches, to_table

from stretto import oracle
from stretto.engine.run import Engine
from stretto.engine.units.staged import StagedRun
from stretto.explain.units import MeasuredUnit
from stretto.memo.prices import Prices
from stretto.oracle.detections import Event
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.placement.heavy import HeavyEvent, pairs_of
from stretto.plan.placement.placement import Grid, Placement
from stretto.plan.placement.placing import place
from stretto.plan.placement.skew_text import skew_text
from stretto.plan.placement.work import OperatorWork
from stretto.stats.profile import Stats

UNITS = 20
EVENTS = with_hot_event(600)
STATS = Stats.of(EVENTS)


@pytest.fixture(scope="module")
def sharing() -> tuple[Plan, int]:
    return sharing_plan(Workload.parse(HOT), STATS)


def on(plan: Plan, number: int, grid: Grid, *, watched: bool = False) -> Plan:
    given = [Grid()] * len(plan.ops)
    given[number] = grid
    return replace(plan, placement=Placement(tuple(given), watched=watched))


def run(plan: Plan, events: pa.Table = EVENTS) -> Engine:
    engine = Engine(plan)
    engine.push(events)
    engine.flush()
    return engine


def fullest(engine: Engine, number: int) -> float:
    """Comparisons of the fullest unit by the mean."""
    own = [count.candidates for count in engine.unit_counts[number]]
    return max(own) * len(own) / sum(own)


def test_a_hot_event_is_seen_and_its_rows_are_split(sharing: tuple[Plan, int]) -> None:
    plan, number = sharing
    watched = run(on(plan, number, Grid(groups=UNITS), watched=True))
    heavy = watched.heavy_events(1 / UNITS)[number]
    assert [event.number for event in heavy] == [0]
    assert min(heavy[0].left, heavy[0].right) > 0.8
    assert fullest(watched, number) > 0.9 * UNITS
    split = run(on(plan, number, Grid(groups=UNITS, heavy=(0,))))
    assert fullest(split, number) < 1.5
    assert split.counters.rows == watched.counters.rows


def test_the_model_chooses_what_spreads_a_hot_event(sharing: tuple[Plan, int]) -> None:
    plan, number = sharing
    heavy = {number: (HeavyEvent(0, 0.9, 0.9),)}
    grid = place(plan, STATS, UNITS, Prices(), heavy=heavy, objective="stages").grids[number]
    assert grid.groups == 1 or grid.heavy == (0,)
    assert fullest(run(on(plan, number, grid)), number) < 1.5


def test_what_a_unit_has_of_heavy_events() -> None:
    heavy = (HeavyEvent(7, 0.5, 0.5), HeavyEvent(9, 0.2, 0.1))
    assert pairs_of(heavy, 1e9) == pytest.approx([0.25 / 0.27, 0.02 / 0.27])
    work = OperatorWork((100.0, 100.0), 1_000.0, (0.0, 0.0), keys=1e9, heavy=heavy)
    hashed, split = work.of_unit(Grid(groups=20)), work.of_unit(Grid(groups=20, heavy=(7, 9)))
    assert hashed.compared == pytest.approx(1_000 * 0.25 / 0.27, rel=0.01)
    assert hashed.rows == pytest.approx((50.0, 50.0))
    assert split.compared == pytest.approx(50.0, rel=0.01)
    assert split.rows == pytest.approx((100 * (0.3 / 20 + 0.7 / 5), 100 * (0.4 / 20 + 0.6 / 4)), rel=0.01)


def test_split_rows_meet_once_on_staged_units() -> None:
    """Against the oracle, with a hot event among ties."""
    rng = Random(3)
    kinds = ["B", *rng.choices("ABC", [9, 2, 9], k=29)]
    events = tuple(
        Event(place, place // 3, kind, {"x": 0.0 if kind == "B" else rng.random()})
        for place, kind in enumerate(kinds)
    )
    table = to_table(events, ids=True)
    workload = Workload.parse(HOT.replace("1 HOUR", "20 us"))
    plan, number = sharing_plan(workload, Stats.of(table))
    (query,) = workload.bind(SCHEMA).detections
    expected = oracle.matches(query, events)
    assert expected
    for grid in (Grid(groups=5, heavy=(0,)), Grid(groups=3, left=2, heavy=(0, 4)), Grid(20, heavy=(0,))):
        staged = StagedRun(on(plan, number, grid))
        parts = [*(staged.push(batch) for batch in in_batches(rng, table)), staged.flush()]
        got = [match for part in parts for match in matches_of(part["q"], query)]
        assert_same_matches(got, expected, about=str(grid))


def test_skew_is_told(sharing: tuple[Plan, int]) -> None:
    plan, number = sharing
    engine = run(on(plan, number, Grid(groups=UNITS), watched=True))
    heavy = engine.heavy_events(1 / UNITS)
    measured = {
        n: [MeasuredUnit(one.rows_in, one.candidates, one.held, one.seconds) for one in own]
        for n, own in engine.unit_counts.items()
    }
    placed = replace(place(plan, STATS, UNITS, Prices()), plan=on(plan, number, Grid(groups=UNITS)))
    lines = skew_text(placed, measured, heavy, place(plan, STATS, UNITS, Prices(), heavy=heavy)).splitlines()
    assert lines[0].startswith(f"skew of n{number}: the fullest of its 20 units looked at ")
    assert "event 0 is in 9" in lines[0]
    even = {number: [MeasuredUnit(1, 5, 0, 0.0)] * UNITS}
    assert skew_text(placed, even, heavy) == ""
