"""Ways to run a plan over the events of a sample: at once, in batches, out of order, from snapshots.

Each of them runs the plan by compiled loops, by their twins, and by twins that loops take over from in the middle, and
fails where what these find differs.
"""

import pickle
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from random import Random
from typing import Any

from tests.support.comparison import assert_same_matches, matches_of
from tests.support.loops import WAYS, loops
from tests.support.random_events import in_batches, out_of_order, to_table
from tests.support.strategies import Sample

from stretto.engine.run import Engine
from stretto.engine.whole_table import run
from stretto.oracle.detections import Match
from stretto.pattern.nodes import Query
from stretto.plan.dag import Plan

Found = Mapping[str, list[Match]]
Runner = Callable[[Plan, Sample, tuple[Query, ...], Random], Found]


def in_all_loops(runner: Runner) -> Runner:
    """Return a runner that runs a plan in each way of loops, and fails unless all of these find the same matches."""

    @wraps(runner)
    def run_all(plan: Plan, sample: Sample, queries: tuple[Query, ...], rng: Random) -> Found:
        state, patience = rng.getstate(), Random(len(sample.text))
        expected: Found = {}
        for way in WAYS:
            rng.setstate(state)  # every way gets the same batches
            with loops(way, patience):
                found = runner(plan, sample, queries, rng)
            expected = expected or found
            for query in queries:
                about = f"{query.name}: {way} against {WAYS[0]}, {runner.__name__}\n{sample}"
                assert_same_matches(found[query.name], expected[query.name], about)
        return expected

    return run_all


@in_all_loops
def whole(plan: Plan, sample: Sample, queries: tuple[Query, ...], rng: Random) -> Found:
    """The table at once; without an id column the row numbers are the ids."""
    found = run(plan, to_table(sample.events, ids=rng.random() < 0.5))
    return {query.name: matches_of(found[query.name], query) for query in queries}


@in_all_loops
def batched(plan: Plan, sample: Sample, queries: tuple[Query, ...], rng: Random) -> Found:
    """Batches in time order, none late."""
    engine = Engine(plan, lateness_us=0)
    table = to_table(sorted(sample.events, key=lambda event: event.ts))
    return _gathered([*map(engine.push, in_batches(rng, table)), engine.flush()], queries)


@in_all_loops
def disordered(plan: Plan, sample: Sample, queries: tuple[Query, ...], rng: Random) -> Found:
    """Batches in any order within the lateness."""
    lateness = rng.choice((1, 3, 10))
    engine = Engine(plan, lateness_us=lateness)
    table = to_table(out_of_order(rng, sorted(sample.events, key=lambda event: event.ts), lateness))
    return _gathered([*map(engine.push, in_batches(rng, table)), engine.flush()], queries)


@in_all_loops
def restored(plan: Plan, sample: Sample, queries: tuple[Query, ...], rng: Random) -> Found:
    """As disordered, but the engine is replaced by its restored snapshot between two batches."""
    lateness = rng.choice((0, 2, 10))
    engine = Engine(plan, lateness_us=lateness)
    table = to_table(out_of_order(rng, sorted(sample.events, key=lambda event: event.ts), lateness))
    parts = []
    for batch in in_batches(rng, table):
        parts.append(engine.push(batch))
        if rng.random() < 0.5:
            engine = Engine.restore(plan, pickle.loads(pickle.dumps(engine.snapshot())))
    return _gathered([*parts, engine.flush()], queries)


def _gathered(parts: Iterable[Any], queries: tuple[Query, ...]) -> Found:
    found: dict[str, list[Match]] = {query.name: [] for query in queries}
    for part in parts:
        for query in queries:
            found[query.name] += matches_of(part[query.name], query)
    return found


RUNNERS: tuple[Runner, ...] = (whole, batched, disordered, restored)
