"""Derived streams, HAVING, channels and families by `none`, `auto` and `rumor`, in every way an engine can be fed."""

from collections.abc import Callable, Iterator
from random import Random
from unittest import mock

from tests.exactness import test_random_families
from tests.exactness.test_derived_streams import expected_of
from tests.exactness.test_engine import REFUSALS
from tests.fuzz.trials import Tally
from tests.plan.families.test_gathering import alike_queries
from tests.support.alike_streams import alike_streams
from tests.support.comparison import assert_same_matches, matches_of
from tests.support.random_events import SCHEMA, random_events, to_table
from tests.support.runners import disordered, in_all_loops, restored, whole
from tests.support.stream_strategies import StreamSample, random_streams

from stretto.engine.run import Engine
from stretto.errors import QueryError
from stretto.oracle.detections import Match
from stretto.pattern.nodes import Query
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.families import gathering
from stretto.plan.optimize import optimize

OPTIMIZERS = ("none", "auto", "rumor")
REFUSED = (*REFUSALS, "several kinds", "negated", "HAVING", "not supported yet")
Expected = dict[str, tuple[Query, list[Match]]]


def sample_of(seed: int) -> StreamSample:
    """Streams over streams, streams that are alike, the rows of a table, or queries in other words, in turn."""
    rng = Random(seed)
    match seed % 4:
        case 0 | 2:
            return random_streams(rng)
        case 1:
            return alike_streams(rng)
    if rng.random() < 0.6:
        text, rows = test_random_families.random_family(rng), test_random_families.rows_of(rng)
    else:
        text, rows = alike_queries(rng), {}
    return StreamSample(text, SCHEMA, tuple(random_events(rng, ("A", "B", "C"), most=14)), rows)


def check(seed: int) -> Tally:
    """Every plan at once and in one more way; what is found is what the oracle finds."""
    sample, rng = sample_of(seed), Random(seed + 1)
    workload, tally = sample.workload(), Tally(workloads=1)
    with mock.patch.multiple(gathering, FEWEST=2):
        try:
            plans = [optimize(workload, SCHEMA, name, budget=0.3) for name in OPTIMIZERS]
        except QueryError as refused:
            if any(text in str(refused) for text in REFUSED):
                return Tally(workloads=1, refused=1)
            raise
        expected = expected_of(workload.bind(SCHEMA), sample)
        queries = tuple(query for query, _ in expected.values())
        for plan in plans:
            for way in ways(rng, workload):
                found = way(plan, sample, queries, Random(seed + 2))
                for name, (_, matches) in expected.items():
                    about = f"{name}, seed {seed}, {plan.optimizer}, {way.__name__}\n{sample}\n{sample.rows}"
                    assert_same_matches(found[name], matches, about=about)
                    tally.add(Tally(0, 1, len(matches)))
    return tally


def ways(rng: Random, workload: Workload) -> Iterator[Callable[..., dict[str, list[Match]]]]:
    """At once, and one of: in batches of one or seven, out of order, restored, updated."""
    yield whole
    yield rng.choice((in_ones, in_sevens, disordered, restored, updating(workload)))


@in_all_loops
def in_ones(
    plan: Plan, sample: StreamSample, queries: tuple[Query, ...], _rng: Random
) -> dict[str, list[Match]]:
    return _in_batches(plan, sample, queries, 1)


@in_all_loops
def in_sevens(
    plan: Plan, sample: StreamSample, queries: tuple[Query, ...], _rng: Random
) -> dict[str, list[Match]]:
    return _in_batches(plan, sample, queries, 7)


def _in_batches(
    plan: Plan, sample: StreamSample, queries: tuple[Query, ...], size: int
) -> dict[str, list[Match]]:
    engine = Engine(plan, lateness_us=0)
    table = to_table(sorted(sample.events, key=lambda event: event.ts))
    parts = [*map(engine.push, table.to_batches(size)), engine.flush()]
    return {
        query.name: [one for part in parts for one in matches_of(part[query.name], query)]
        for query in queries
    }


def updating(workload: Workload) -> Callable[..., dict[str, list[Match]]]:
    """An engine whose plan is exchanged by `update` for that of the same queries by another optimizer."""

    @in_all_loops
    def updated(
        plan: Plan, sample: StreamSample, queries: tuple[Query, ...], rng: Random
    ) -> dict[str, list[Match]]:
        engine = Engine(plan, lateness_us=0, updatable=True, history_us=1 << 40)
        table = to_table(sorted(sample.events, key=lambda event: event.ts))
        parts = []
        for batch in table.to_batches(rng.choice((2, 5))):
            parts.append(engine.push(batch))
            if rng.random() < 0.4:
                engine.update(workload, rng.choice(OPTIMIZERS), 0.3)
        parts.append(engine.flush())
        return {
            query.name: [one for part in parts for one in matches_of(part[query.name], query)]
            for query in queries
        }

    return updated
