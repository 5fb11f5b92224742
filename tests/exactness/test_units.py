"""Units, unit by unit in one process, find what the oracle finds: operators on grids of units, and plans in cells."""

import os
from dataclasses import replace
from random import Random

import pytest
from tests.memo.related import related_workload
from tests.memo.test_rules_oracle import plan_of
from tests.support.comparison import assert_same_matches, matches_of
from tests.support.random_events import in_batches, out_of_order, to_table
from tests.support.runners import RUNNERS
from tests.support.strategies import Sample, random_workload

from stretto import oracle
from stretto.engine.units.cells import run_cells
from stretto.engine.units.staged import StagedRun
from stretto.errors import QueryError
from stretto.memo import rules
from stretto.memo.explore import Rules, explore
from stretto.memo.memo import build_memo
from stretto.memo.rules.forbid_after import forbid_after
from stretto.memo.rules.join_left_to_right import join_left_to_right
from stretto.memo.rules.split_overlapping import split_overlapping
from stretto.pattern.nodes import Query
from stretto.pattern.workload import Workload
from stretto.plan.check import check
from stretto.plan.dag import Plan
from stretto.plan.ops import Filter, Forbid, Join, Repeat
from stretto.plan.optimize import optimize, plannable
from stretto.plan.placement.cells import ByCell
from stretto.plan.placement.holdings import divisible
from stretto.plan.placement.placement import ALONE, Grid, Placement
from stretto.plan.placement.refusals import why_no_units
from stretto.schema import Kind, Schema

WORKLOADS = int(os.environ.get("STRETTO_UNIT_WORKLOADS", "200"))
SEED = int(os.environ.get("STRETTO_SEED", "15000"))
UNITS = (1, 2, 3, 7, 20)


def grids(plan: Plan, units: int, rng: Random) -> Placement:
    """Every operator that can be divided on so many units, in any directions that it allows."""
    found = []
    for op in plan.ops:
        if isinstance(op, Join):
            groups = rng.choice([n for n in range(1, units + 1) if units % n == 0]) if op.same else 1
            rest = units // groups
            left = rng.choice([n for n in range(1, rest + 1) if rest % n == 0])
            # Any events may be called heavy: their rows go elsewhere, and still meet once.
            heavy = sorted(rng.sample(range(14), 4)) if groups > 1 and rng.random() < 0.6 else ()
            found.append(Grid(groups, left, rest // left, tuple(heavy)))
        elif isinstance(op, Filter | Repeat | Forbid):
            found.append(Grid(left=units))
        else:
            found.append(ALONE)
    return Placement(tuple(found))


Case = tuple[int, Sample, Plan, tuple[Query, ...]]


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    """Random workloads that units may run, each with a plan: as written, or with any ways, overlapping ones too."""
    found = []
    for seed in range(SEED, SEED + WORKLOADS):
        rng = Random(seed)
        sample = related_workload(rng) if seed % 2 else random_workload(rng)
        bound = Workload.parse(sample.text).bind(sample.schema)
        try:
            detections = plannable(bound)
        except QueryError:
            continue
        memo = build_memo(detections)
        grown = (*rules.AUTO.grown, rules.split_kleene)
        explore(memo, Rules((join_left_to_right, split_overlapping, forbid_after), grown=grown))
        chosen = {piece: rng.randrange(len(ways)) for piece, ways in enumerate(memo.ways) if ways}
        plan = plan_of(detections, memo, chosen if seed % 4 else {}, sample.schema)
        if why_no_units(plan) is None:
            found.append((seed, sample, plan, bound.detections))
    return found


def test_operators_on_grids_of_units(cases: list[Case]) -> None:
    divided = shared = split = 0
    for seed, sample, plan, queries in cases:
        rng = Random(seed)
        units = UNITS[seed // 2 % len(UNITS)]
        placed = check(replace(plan, placement=grids(plan, units, rng)))
        assert placed.placement is not None
        divided += placed.placement.units > 1
        shared += any(grid.groups > 1 for grid in placed.placement.grids)
        split += any(grid.heavy for grid in placed.placement.grids)
        got = rng.choice(RUNNERS)(placed, sample, queries, rng)
        for query in queries:
            about = f"seed {seed}, {units} units\n{sample}"
            assert_same_matches(got[query.name], oracle.matches(query, sample.events), about=about)
    assert divided > WORKLOADS // 3
    assert shared > WORKLOADS // 40
    assert split > WORKLOADS // 80


def test_units_stage_by_stage(cases: list[Case]) -> None:
    """Every unit with its own events: rows reach it in parcels, out of order, and it may be made again any time."""
    staged = restarted = 0
    for seed, sample, plan, queries in cases:
        rng = Random(seed)
        units = UNITS[seed // 2 % len(UNITS)]
        placed = check(replace(plan, placement=grids(plan, units, rng)))
        lateness = rng.choice((0, 1, 3, 10))
        run = StagedRun(placed, lateness_us=lateness)
        staged += len(run.units) > 1
        ordered = sorted(sample.events, key=lambda event: event.ts)
        table = to_table(out_of_order(rng, ordered, lateness), ids=True)
        parts = []
        for batch in in_batches(rng, table):
            parts.append(run.push(batch))
            if rng.random() < 0.2:
                chosen = [address for address in run.units if rng.random() < 0.2]
                run.restart(chosen)
                restarted += len(chosen)
        parts.append(run.flush())
        for query in queries:
            got = [match for part in parts for match in matches_of(part[query.name], query)]
            about = f"seed {seed}, {units} units\n{sample}"
            assert_same_matches(got, oracle.matches(query, sample.events), about=about)
    assert staged > WORKLOADS // 3
    assert restarted > WORKLOADS // 4


def test_plans_in_cells(cases: list[Case]) -> None:
    ran = 0
    for seed, sample, plan, queries in cases:
        rng = Random(seed)
        names = divisible(plan)
        rng.shuffle(names)
        shape = {1: (1,), 2: (2,), 3: (3,), 7: (7,), 20: (4, 5)}[UNITS[seed // 2 % len(UNITS)]]
        if len(names) < len(shape):
            continue
        anchors = tuple(zip(names, shape, strict=False))
        cells = ByCell.of(plan, anchors) if rng.random() < 0.5 else ByCell(anchors)
        ran += cells.targets > 1
        runs = run_cells(plan, to_table(sample.events, ids=True), cells)
        for query in queries:
            tables = [one.matches[query.name] for one in runs if query.name in one.reported]
            got = [match for table in tables for match in matches_of(table, query)]
            about = f"seed {seed}, {cells}\n{sample}"
            assert_same_matches(got, oracle.matches(query, sample.events), about=about)
    assert ran > WORKLOADS // 6


SCHEMA = Schema({"x": Kind.FLOAT}, frozenset("ABCD"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("QUERY q PATTERN SEQ(A a, B b) WITHIN 5 EVENTS;", "window in EVENTS"),
        ("QUERY q PATTERN SEQ(A a, B b) WITHIN 5 s SELECT STRICT;", "STRICT"),
        ("QUERY q PATTERN SEQ(A a, A b) WITHIN 5 s;", "several times"),
        ("QUERY q PATTERN SEQ(B b, NOT(A a), C c) WITHIN 5 s;", "forbidden"),
        ("QUERY q PATTERN OR(A a, B b) WITHIN 5 s;", "not every match"),
    ],
)
def test_what_cells_refuse(text: str, reason: str) -> None:
    plan = optimize(Workload.parse(text), SCHEMA, "none")
    assert reason in (ByCell((("A", 2),)).check(plan) or "")


def test_a_query_without_the_divided_type_is_reported_once() -> None:
    text = "QUERY p PATTERN SEQ(A a, B b) WITHIN 5 s; QUERY q PATTERN SEQ(B b, C c) WITHIN 5 s;"
    plan = optimize(Workload.parse(text), SCHEMA, "none")
    cells = ByCell((("A", 3),))
    assert [sorted(cells.reports(plan, cell)) for cell in range(3)] == [["p", "q"], ["p"], ["p"]]
