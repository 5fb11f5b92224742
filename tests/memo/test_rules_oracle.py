"""Every way that a rule adds computes its piece: plans that use each way in turn find what the oracle finds."""

import os
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest
from tests.memo.disjunctions import disjunctions
from tests.memo.grown import grown_workload
from tests.memo.related import related_workload
from tests.memo.runs import prefixed_runs
from tests.support.comparison import assert_same_matches
from tests.support.runners import RUNNERS, Runner, whole
from tests.support.strategies import Sample, random_workload

from stretto import oracle
from stretto.errors import QueryError
from stretto.memo import rules
from stretto.memo.explore import Rules, explore
from stretto.memo.memo import Memo, build_memo
from stretto.memo.rules.continue_runs import continue_runs
from stretto.memo.rules.forbid_after import forbid_after
from stretto.memo.rules.join_left_to_right import join_left_to_right
from stretto.papers.motto import rules as motto
from stretto.pattern.disjunction import as_one_piece
from stretto.pattern.piece import Detection
from stretto.pattern.workload import Workload
from stretto.plan.assemble import assemble
from stretto.plan.build import Builder
from stretto.plan.check import check
from stretto.plan.dag import Plan
from stretto.plan.ops import Join
from stretto.plan.optimize import plannable
from stretto.schema import Schema
from stretto.solve.common.solution import Solution, one_way_each

WORKLOADS = int(os.environ.get("STRETTO_RULE_WORKLOADS", "40"))
SEED = int(os.environ.get("STRETTO_SEED", "7000"))
MOST_PLANS = 25  # per workload and set of rules

SETS = {
    "MOTTO": motto.MOTTO,
    "LCSE": motto.LCSE,
    "AUTO": rules.AUTO,
    "OVERLAPPING": Rules((join_left_to_right, rules.split_overlapping, forbid_after)),
}


def readers(memo: Memo) -> dict[int, tuple[int, int]]:
    """For each piece a piece and the number of its way by which a root leads to it."""
    found: dict[int, tuple[int, int]] = {root.piece: (-1, -1) for root in memo.roots}
    pending = list(found)
    for number in pending:
        for i, way in enumerate(memo.ways[number]):
            fresh = [piece for piece in dict.fromkeys(way.pieces) if piece not in found]
            found.update(dict.fromkeys(fresh, (number, i)))
            pending.extend(fresh)
    return found


def choice_with(
    memo: Memo, number: int, way: int, lead: dict[int, tuple[int, int]], rng: Random
) -> dict[int, int]:
    """One way per piece, any but for this piece and those that lead to it."""
    chosen = {piece: rng.randrange(len(ways)) for piece, ways in enumerate(memo.ways) if ways}
    chosen[number] = way
    while lead[number][0] >= 0:
        number, way = lead[number]
        chosen[number] = way
    return chosen


def used_ways(memo: Memo, chosen: dict[int, int]) -> set[tuple[int, int]]:
    found: set[tuple[int, int]] = set()
    pending = [root.piece for root in memo.roots]
    while pending:
        number = pending.pop()
        if (number, chosen[number]) not in found:
            found.add((number, chosen[number]))
            pending.extend(memo.ways[number][chosen[number]].pieces)
    return found


def plan_of(detections: Sequence[Detection], memo: Memo, chosen: dict[int, int], schema: Schema) -> Plan:
    builder = Builder(schema.attributes)
    emits = assemble(detections, memo, Solution(one_way_each(memo, chosen)), builder)
    return check(Plan(tuple(builder.ops), emits, tuple(builder.records), schema, "test"))


def either_search(plan: Plan, rng: Random) -> Plan:
    """The plan with some joins that hash equal keys, and some that compare all rows."""
    ops = [
        replace(op, hashed=bool(op.same) or rng.random() < 0.5) if isinstance(op, Join) else op
        for op in plan.ops
    ]
    return replace(plan, ops=tuple(ops))


def check_ways(sample: Sample, used: Rules, seed: int, runners: Sequence[Runner] = (whole,)) -> set[str]:
    """Compare plans that use every way with the oracle, by each runner in turn; the rules that took part come back."""
    workload = Workload.parse(sample.text)
    bound = workload.bind(sample.schema)
    try:
        detections = [as_one_piece(detection) for detection in plannable(bound)]
    except QueryError:
        return set()
    memo = build_memo(detections)
    explore(memo, used)
    rng = Random(seed)
    lead = readers(memo)
    left = {(number, i) for number in lead for i in range(len(memo.ways[number]))}
    expected = {query.name: oracle.matches(query, sample.events) for query in bound.detections}
    took_part: set[str] = set()
    for turn in range(MOST_PLANS):
        if not left:
            break
        number, i = min(left, key=lambda way: (len(memo.pieces[way[0]].slots), way))
        chosen = choice_with(memo, number, i, lead, rng)
        ways = used_ways(memo, chosen)
        assert (number, i) in ways
        left -= ways
        names = {memo.ways[n][w].rule for n, w in ways}
        took_part |= names
        plan = either_search(plan_of(detections, memo, chosen, sample.schema), rng)
        runner = runners[turn % len(runners)]
        found = runner(plan, sample, bound.detections, rng)
        for query in bound.detections:
            about = f"seed {seed}, {runner.__name__}, rules {sorted(names)}\n{sample}"
            assert_same_matches(found[query.name], expected[query.name], about=about)
    return took_part


@pytest.mark.parametrize("name", SETS)
def test_ways_of_related_queries(name: str) -> None:
    took_part: set[str] = set()
    for seed in range(SEED, SEED + WORKLOADS):
        took_part |= check_ways(related_workload(Random(seed)), SETS[name], seed)
    wanted = {rule.__name__ for rule in (*SETS[name].pieces, *SETS[name].workload)}
    assert wanted - {rule.__name__ for rule in rules.DISJUNCTION} <= took_part


def test_ways_of_queries_that_repeat_and_forbid() -> None:
    used = Rules((join_left_to_right, forbid_after), grown=rules.AUTO.grown)
    took_part: set[str] = set()
    for seed in range(SEED, SEED + 2 * WORKLOADS):
        took_part |= check_ways(grown_workload(Random(seed)), used, seed, RUNNERS)
    assert {rule.__name__ for rule in used.grown} <= took_part


def test_ways_of_runs_that_begin_alike() -> None:
    used = Rules((join_left_to_right,), first=(continue_runs,))
    shared = 0
    for seed in range(SEED, SEED + 3 * WORKLOADS):
        shared += "continue_runs" in check_ways(prefixed_runs(Random(seed)), used, seed, RUNNERS)
    assert shared >= WORKLOADS


@pytest.mark.parametrize("name", ["MOTTO", "AUTO"])
def test_ways_of_disjunctions(name: str) -> None:
    took_part: set[str] = set()
    for seed in range(SEED, SEED + WORKLOADS // 4):
        took_part |= check_ways(disjunctions(Random(seed)), SETS[name], seed, RUNNERS)
    assert {rule.__name__ for rule in rules.DISJUNCTION} <= took_part


@pytest.mark.parametrize("name", SETS)
def test_ways_of_any_queries(name: str) -> None:
    for seed in range(SEED, SEED + WORKLOADS // 4):
        check_ways(random_workload(Random(seed)), SETS[name], seed)
