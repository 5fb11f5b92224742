"""Simulated units: every unit alone, one after another in one process, fed by the real router. See `decopa`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from time import thread_time

import numpy as np
import pyarrow as pa

from stretto.engine.run import Engine
from stretto.engine.units.cells import run_cells, with_ids
from stretto.engine.units.divided import UnitCounts
from stretto.engine.units.staged import StagedRun
from stretto.errors import EngineError
from stretto.memo.explore import Rules
from stretto.memo.memo import Memo
from stretto.memo.prices import load
from stretto.memo.pricing import Pricing
from stretto.memo.rules.split_overlapping import split_overlapping
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.ops import Join, Scan
from stretto.plan.optimize import planned
from stretto.plan.optimizers import RECIPES
from stretto.plan.placement.cells import ByCell
from stretto.plan.placement.placement import Grid, Placement
from stretto.plan.placement.placing import PlacedPlan, place
from stretto.plan.placement.work import OperatorWork
from stretto.solve.common.budget import Budget
from stretto.solve.common.solution import Solution, one_way_each
from stretto.solve.units.loads import Capacity
from stretto.stats.profile import Stats

KAPPA = 1e9
"""Work is measured in nanoseconds."""
NOISE_S = 1e-3
"""Units that worked less are left out of the comparison with the model."""
ROW_NS = 60.0
"""What a row costs that is taken in without leaving the process: stored, made a key of, looking for partners."""


def plan_for(text: str, stats: Stats, without: Sequence[str] = ()) -> Plan:
    """The plan of `auto`, as if there were none of the rules `without`. No trials: estimates decide."""
    recipe = RECIPES["auto"]
    if without:
        rules = recipe.rules

        def fewer(memo: Memo, pricing: Pricing, seconds: float) -> Rules:
            found = rules(memo, pricing, seconds)
            pieces, grown = (
                tuple(rule for rule in some if rule.__name__ not in without)
                for some in (found.pieces, found.grown)
            )
            return replace(found, pieces=pieces, grown=grown)

        recipe = replace(recipe, rules=fewer)
    return planned(Workload.parse(text), stats, "auto", recipe, Budget(20.0))


@dataclass(frozen=True, slots=True)
class OneCore:
    """A whole run on one core: candidates, seconds of a processor in all, matches."""

    candidates: int
    seconds: float
    matches: int


def one_core(plan: Plan, events: pa.Table, runs: int = 2) -> OneCore:
    """The best of some runs; the first one warms up."""
    best: OneCore | None = None
    for _ in range(runs + 1):
        engine = Engine(plan)
        begun = thread_time()
        matches = [engine.push(events), engine.flush()]
        seconds = thread_time() - begun
        found = sum(len(part[name]) for part in matches for name in plan.queries)
        one = OneCore(sum(engine.counters.candidates), seconds, found)
        best = one if best is None or one.seconds < best.seconds else best
    assert best is not None
    return best


def measured_units(placed: PlacedPlan, events: pa.Table, runs: int = 4) -> dict[int, list[UnitCounts]]:
    """What every unit did, with the least seconds of some runs; the first one warms up."""
    best: dict[int, list[UnitCounts]] = {}
    for turn in range(runs + 1):
        engine = Engine(placed.plan)
        engine.push(events)
        engine.flush()
        now = {number: own for number, own in engine.unit_counts.items() if number in placed.work}
        for number, counts in now.items() if turn > 1 else ():
            for mine, before in zip(counts, best[number], strict=True):
                mine.seconds = min(mine.seconds, before.seconds)
        best = now
    return best


def profiled(plan: Plan, stats: Stats, events: pa.Table) -> dict[int, OperatorWork]:
    """The work of each operator as one unit measured it on some events: rows by number, the rest by seconds."""
    placed = place(plan, stats, 1, load())
    counts = measured_units(placed, events)
    span = seconds_of(events)
    found = {}
    for number, (own,) in counts.items():
        estimated = placed.work[number]
        scale = own.rows_in / max(sum(estimated.rows) * span, 1e-9)
        rows = (estimated.rows[0] * scale, estimated.rows[1] * scale)
        compared = max(own.seconds - own.rows_in * ROW_NS * 1e-9, 0.0) * KAPPA / span
        bytes_ = max(sum(estimated.bytes), 1e-9)
        held = (own.held * estimated.bytes[0] / bytes_, own.held * estimated.bytes[1] / bytes_)
        found[number] = replace(estimated, rows=rows, compared=compared, bytes=held)
    return found


def seconds_of(events: pa.Table) -> float:
    """The span of some events."""
    ts = events["ts"].cast(pa.int64())
    return (ts[-1].as_py() - ts[0].as_py()) / 1e6


Loads = list[tuple[float, float]]
"""Of units, load by the model and as measured, both per second of stream."""


def simulated(
    name: str,
    plan: Plan,
    stats: Stats,
    events: pa.Table,
    units: int,
    every: Loads,
    state: float | None = None,
) -> dict[str, object]:
    """One unit against the slowest of many; the model against what was measured; how even the parts are; state.

    `state`: the share of all state that a unit may keep; without it load alone counts.

    As in the paper, rates are those of the events, and what comparisons cost is measured before units are given. The
    loads are added to `every`: units of one placement are loaded alike, and their ranks say little.
    """
    capacity = Capacity(1e9 / ROW_NS, KAPPA)
    works = profiled(plan, stats, events)
    alone = measured_units(place(plan, stats, 1, load(), capacity=capacity, works=works), events)
    most = None if state is None else state * sum(own[0].held for own in alone.values())
    placed = place(plan, stats, units, load(), capacity=capacity, works=works, state_bytes=most)
    counts = measured_units(placed, events)
    span, total = seconds_of(events), sum(own[0].seconds for own in alone.values())
    each = [(placed.load(number), count) for number, own in counts.items() for count in own]
    by_unit = [(load, count.seconds) for load, count in each if count.seconds > NOISE_S]
    every += [(modelled, seconds / span) for modelled, seconds in by_unit]
    ratios = [modelled * span / seconds for modelled, seconds in by_unit]
    even = [
        max(count.rows_in for count in own) / (sum(count.rows_in for count in own) / len(own))
        for own in counts.values()
        if any(count.rows_in for count in own)
    ]
    packed = sum(own[0].seconds for number, own in counts.items() if number in placed.packed)
    slowest = max(packed, *(count.seconds for _, count in each))
    held = max(sum(own[0].held for own in alone.values()), 1)
    kept = sum(own[0].held for number, own in counts.items() if number in placed.packed)
    fullest = max(kept, *(count.held for _, count in each))
    return {
        "what": name,
        "units": units,
        "one unit s": round(total, 4),
        "slowest unit s": round(slowest, 4),
        "gain": round(total / slowest, 2),
        "load, model / measured, median factor": round(median(max(r, 1 / r) for r in ratios), 3)
        if ratios
        else None,
        "rank correlation": round(spearman(*zip(*by_unit, strict=True)), 3) if by_unit else None,
        "at most": round(most_alike([load for load, _ in by_unit]), 3) if by_unit else None,
        "fullest unit / mean, median and worst operator": f"{median(even):.3f}, {max(even):.3f}",
        "state of a unit / one unit": round(fullest / held, 3),
    }


def agreement(every: Loads) -> dict[str, object]:
    """Model and measurement over the units of all placements."""
    factors = [max(one / other, other / one) for one, other in every]
    return {
        "units": len(every),
        "load, model / measured, median factor": round(median(factors), 3),
        "rank correlation": round(spearman(*zip(*every, strict=True)), 3),
        "at most": round(most_alike([one for one, _ in every]), 3),
    }


def in_memory(plan: Plan, stats: Stats, events: pa.Table, units: int = 20) -> dict[str, object]:
    """A limit at which one target is out of memory, and each of many units is not."""
    batches = with_ids(events, plan.schema.special).to_batches(max_chunksize=1 << 14)
    placed = place(plan, stats, units, load())
    run, alone = StagedRun(placed.plan), Engine(plan)
    found = sum(len(part[name]) for batch in batches for part in [run.push(batch)] for name in plan.queries)
    found += sum(len(run.flush()[name]) for name in plan.queries)
    for batch in batches:
        alone.push(batch)
    alone.flush()
    unit = max(one.peak_bytes for one in run.units.values())
    limit = int((unit * alone.peak_bytes) ** 0.5)
    refused = ""
    try:
        engine = Engine(plan, memory_bytes=limit)
        for batch in batches:
            engine.push(batch)
    except EngineError as error:
        refused = str(error).split(".")[0][:60]
    again = StagedRun(placed.plan, memory_bytes=limit)
    kept = sum(len(part[name]) for batch in batches for part in [again.push(batch)] for name in plan.queries)
    kept += sum(len(again.flush()[name]) for name in plan.queries)
    assert kept == found == alone.counts.matches, (kept, found, alone.counts.matches)
    return {
        "peak of one target": alone.peak_bytes,
        "greatest peak of a unit": unit,
        "limit": limit,
        "one target": refused or "runs",
        "units": f"{units} run, {kept:,} matches",
    }


def spearman(one: Sequence[float], other: Sequence[float]) -> float:
    """Rank correlation; equal values have equal ranks."""
    ranks = []
    for values in (one, other):
        _, places, count = np.unique(values, return_inverse=True, return_counts=True)
        ends = np.cumsum(count)
        ranks.append(((ends - count + ends - 1) / 2)[places])
    return float(np.corrcoef(*ranks)[0, 1]) if min(map(np.ptp, ranks)) > 0 else 1.0


def most_alike(loads: Sequence[float]) -> float:
    """The rank correlation of loads, many of which the model says are equal, with different ones in the same order."""
    return spearman(sorted(loads), list(range(len(loads))))


def in_cells(plan: Plan, events: pa.Table, anchors: Sequence[tuple[str, int]]) -> dict[str, object]:
    """The whole plan in cells: the slowest against one core, copies, and that all matches are there."""
    alone = one_core(plan, events)
    cells = ByCell.of(plan, anchors)
    found = sum(len(run.matches[query]) for run in run_cells(plan, events, cells) for query in run.reported)
    assert found == alone.matches, f"{found} matches in cells, {alone.matches} on one core"
    table = with_ids(events, plan.schema.special).combine_chunks().to_batches()[0]
    parts = [pa.Table.from_batches([part]) for _, part in cells.parts(table, plan.schema.special)]
    seconds = [one_core(plan, part, runs=1).seconds for part in parts]
    return {
        "cells": " x ".join(f"{name}/{count}" for name, count in anchors),
        "one core s": round(alone.seconds, 4),
        "slowest cell s": round(max(seconds), 4),
        "gain": round(alone.seconds / max(seconds), 2),
        "copies of an event that is read": round(
            sum(part.num_rows for part in parts) / max(_read(plan, table), 1), 3
        ),
    }


def _read(plan: Plan, events: pa.RecordBatch) -> int:
    """Events of the types that a plan reads."""
    types = {op.stream.type for op in plan.ops if isinstance(op, Scan)}
    return sum(kind.as_py() in types for kind in events["type"])


def hot_event(units: int = 20, rows: int = 3_000) -> list[dict[str, object]]:
    """One event in nine of ten rows of both inputs: hashed on it alone, and with its rows split.

    The last row is what `place` gives by estimates and by the heavy events that a run on one unit has seen.
    """
    table = with_hot_event(rows)
    stats = Stats.of(table)
    plan, number = sharing_plan(Workload.parse(HOT), stats)
    seen = Engine(replace(plan, placement=Placement((Grid(),) * len(plan.ops), watched=True)))
    seen.push(table)
    heavy = seen.heavy_events(1.0 / units)
    ids = tuple(event.number for event in heavy[number])
    by_model = place(plan, stats, units, load(), heavy=heavy, objective="stages").grids[number]
    tried = {
        "hashed": Grid(groups=units),
        "groups of 4": Grid(groups=units // 4, left=4),
        "a grid without groups": Grid(left=units // 4, right=4),
        "hashed, heavy events split": Grid(groups=units, heavy=ids),
        "by the model, heavy events known": by_model,
    }
    found = []
    for name, grid in tried.items():
        grids = [Grid()] * len(plan.ops)
        grids[number] = grid
        engine = Engine(replace(plan, placement=Placement(tuple(grids))))
        engine.push(table)
        engine.flush()
        counts = engine.unit_counts[number]
        own = [count.candidates for count in counts]
        found.append(
            {
                "rows go": name,
                "grid": f"{grid.groups} groups x {grid.left} x {grid.right}",
                "candidates of the fullest unit": max(own),
                "by the mean of its units": round(max(own) / (sum(own) / len(own)), 2),
                "rows into the fullest unit": max(count.rows_in for count in counts),
                "copies of a row": round(
                    sum(count.rows_in for count in counts) / sum(_rows_in(seen, number)), 2
                ),
            }
        )
    return found


HOT = "QUERY q PATTERN AND(A a, B b, C c) WHERE a.x > b.x + 0.5 AND c.x > b.x + 0.5 AND a.x > c.x WITHIN 1 HOUR;"


def with_hot_event(rows: int) -> pa.Table:
    """A B with which half of all A and C go, and twelve with few of either."""
    random = np.random.default_rng(1)
    kinds = np.array(["B"] * 13 + ["A"] * rows + ["C"] * rows)
    return pa.table(
        {
            "ts": pa.array(np.arange(len(kinds)) * 10).cast(pa.timestamp("us")),
            "type": kinds,
            "x": np.concatenate([[0.0], np.full(12, 0.495), random.random(2 * rows)]),
            "id": np.arange(len(kinds)),
        }
    )


def _rows_in(engine: Engine, number: int) -> list[int]:
    return [count.rows_in for count in engine.unit_counts[number]]


def sharing_plan(workload: Workload, stats: Stats) -> tuple[Plan, int]:
    """A plan whose last join shares B, whatever that costs, and the number of that join."""
    recipe = replace(
        RECIPES["none"], rules=lambda *_: Rules((split_overlapping,), few=True), solve=_sharing_b
    )
    plan = planned(workload, stats, "none", recipe, Budget(5.0))
    number = next(n for n, op in enumerate(plan.ops) if isinstance(op, Join) and op.same)
    return plan, number


def _sharing_b(memo: Memo, _pricing: Pricing, _budget: Budget) -> Solution:
    """For every piece the way whose parts share B, if there is one."""
    chosen = {}
    for number, ways in enumerate(memo.ways):
        for i, way in enumerate(ways):
            types = [{kind for slot in memo.pieces[p].slots for kind in slot.types} for p in way.pieces]
            if len(types) == 2 and types[0] & types[1] == {"B"}:
                chosen[number] = i
    return Solution(one_way_each(memo, chosen))
