"""Engines that change their plan or their queries between two batches find what the oracle finds.

STRETTO_SWITCHED says how many random workloads are tried, STRETTO_SEED from which seed on; a failure names the seed.
"""

import os
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

import pytest
from tests.support.comparison import assert_same_matches, matches_of
from tests.support.join_orders import plan_of_any_joins
from tests.support.loops import in_every_way
from tests.support.random_events import in_batches, out_of_order, to_table
from tests.support.strategies import Sample, random_workload
from tests.support.variations import sharing_workload

from stretto import oracle
from stretto.engine.run import Engine
from stretto.errors import QueryError
from stretto.oracle.detections import Event, Match
from stretto.pattern.nodes import Query
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.optimize import optimize, plannable
from stretto.plan.optimizers import RECIPES
from stretto.schema import Schema
from stretto.values.times import END_OF_TIME, START_OF_TIME

WORKLOADS = int(os.environ.get("STRETTO_SWITCHED", "40"))
SEED = int(os.environ.get("STRETTO_SEED", "20250601"))
CHUNK = 20
BUDGET_S = 0.02


def some_plan(workload: Workload, schema: Schema, rng: Random) -> Plan:
    """Any of the plans that the memo's ways allow, or that of a named optimizer."""
    if rng.random() < 0.3:
        return optimize(workload, schema, rng.choice(sorted(RECIPES)), BUDGET_S)
    return plan_of_any_joins(workload, schema, rng)


@dataclass(slots=True)
class Life:
    """One stretch of a run in which a query took part, and what was found of it."""

    query: Query
    seen: frozenset[int] | None  # the events kept when it came; None: it was there from the start
    since: int = START_OF_TIME
    until: int = END_OF_TIME
    found: list[Match] = field(default_factory=list)

    def expected(self, events: Sequence[Event], arrived: Sequence[int]) -> list[Match]:
        """What became certain in this stretch, by the events that were kept and those that came."""
        before = set(arrived)
        visible = [e for e in events if self.seen is None or e.id in self.seen or e.id not in before]
        return [m for m in oracle.matches(self.query, visible) if self.since <= m.detected < self.until]


@dataclass(slots=True)
class Run:
    """An engine over a stream in batches; queries come and go, plans change."""

    sample: Sample
    rng: Random
    engine: Engine
    lives: list[tuple[Life, list[int]]] = field(default_factory=list)  # with the events that came before it
    arrived: list[int] = field(default_factory=list)

    @property
    def watermark(self) -> int:
        return self.engine._reorder.watermark

    def current(self) -> dict[str, Life]:
        return {life.query.name: life for life, _ in self.lives if life.until == END_OF_TIME}

    def begin(self, queries: Sequence[Query], *, fresh: bool) -> None:
        """From now on these queries run; those that do so already go on."""
        running, names = self.current(), {query.name for query in queries}
        for name, life in running.items():
            if name not in names:
                life.until = self.watermark
        kept = None if fresh else _ids(self.engine)
        since = START_OF_TIME if fresh else self.watermark
        for query in queries:
            if query.name not in running:
                self.lives.append((Life(query, kept, since), list(self.arrived)))

    def feed(self, lateness: int, change) -> None:
        events = out_of_order(self.rng, sorted(self.sample.events, key=lambda e: e.ts), lateness)
        for batch in in_batches(self.rng, to_table(events)):
            self._take(self.engine.push(batch))
            self.arrived += batch.column("id").to_pylist()
            change()
        self._take(self.engine.flush())

    def _take(self, matches) -> None:
        for name, life in self.current().items():
            life.found += matches_of(matches[name], life.query)
        assert set(matches.counts()) == set(self.current())

    def judge(self, about: str) -> int:
        for life, before in self.lives:
            expected = life.expected(self.sample.events, before)
            assert_same_matches(life.found, expected, f"{life.query.name} of {about}\n{self.sample}")
        return sum(len(life.found) for life, _ in self.lives)


def _ids(engine: Engine) -> frozenset[int]:
    snapshot = engine.snapshot()
    chunks = [*snapshot.chunks.values(), *snapshot.pending]
    return frozenset(i for chunk in chunks for i in chunk.column("id").to_pylist())


def sample_of(seed: int) -> Sample:
    rng = Random(seed)
    return random_workload(rng) if seed % 3 == 0 else sharing_workload(rng)


@in_every_way
def switch_plans(sample: Sample, seed: int) -> int:
    """Other plans for the same queries, through snapshots too."""
    rng, lateness = Random(seed + 1), Random(seed).choice((0, 2, 10))
    workload = Workload.parse(sample.text)
    run = Run(sample, rng, Engine(some_plan(workload, sample.schema, rng), lateness_us=lateness))
    run.begin(workload.bind(sample.schema).detections, fresh=True)

    def change() -> None:
        if rng.random() < 0.6:
            run.engine.switch(some_plan(workload, sample.schema, rng))
        if rng.random() < 0.2:
            run.engine = Engine.restore(run.engine.plan, pickle.loads(pickle.dumps(run.engine.snapshot())))

    run.feed(lateness, change)
    return run.judge(f"seed {seed}")


@in_every_way
def update_queries(sample: Sample, seed: int) -> int:
    """Queries that come and go."""
    rng, lateness = Random(seed + 2), Random(seed).choice((0, 2, 10))
    workload = Workload.parse(sample.text)
    names = [query.name for query in workload.queries]

    def some() -> Workload:
        return workload.remove(*(name for name in names if rng.random() < 0.4))

    now = some()
    history = rng.choice((0, 5, 100))
    plan = some_plan(now, sample.schema, rng)
    run = Run(sample, rng, Engine(plan, lateness_us=lateness, updatable=True, history_us=history))
    run.begin(now.bind(sample.schema).detections, fresh=True)

    def change() -> None:
        if rng.random() < 0.6:
            new = some()
            run.begin(new.bind(sample.schema).detections, fresh=False)
            if rng.random() < 0.5:
                run.engine.update(new, rng.choice(sorted(RECIPES)), BUDGET_S)
            else:
                run.engine.switch(some_plan(new, sample.schema, rng))

    run.feed(lateness, change)
    return run.judge(f"seed {seed}")


@pytest.mark.parametrize("kind", [switch_plans, update_queries])
@pytest.mark.parametrize("start", range(SEED, SEED + WORKLOADS, CHUNK))
def test_nothing_is_lost_or_repeated(kind, start: int) -> None:
    found = []
    for seed in range(start, min(start + CHUNK, SEED + WORKLOADS)):
        sample = sample_of(seed)
        try:
            plannable(Workload.parse(sample.text).bind(sample.schema))
        except QueryError:
            continue
        try:
            found.append(kind(sample, seed))
        except Exception as error:
            error.add_note(f"seed {seed}\n{sample}")
            raise
    assert sum(count > 0 for count in found) >= len(found) // 3, "too few workloads find anything"
