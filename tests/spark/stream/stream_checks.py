"""Random streams through the stateful operator, judged by the oracle, however their events are spread."""

from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from tests.spark.stream.operator_cases import settings_of, workload_rows
from tests.spark.stream.stream_cases import END_TYPE, ended, matches_by_query, without_values
from tests.spark.stream.stream_state import Stream, use_folder
from tests.spark.stream.trend_cases import assert_totals, expected_totals
from tests.support.comparison import assert_same_matches
from tests.support.loops import WAYS, loops
from tests.support.random_events import in_batches, out_of_order, to_table
from tests.support.strategies import Sample

from stretto import Schema, Workload, optimize, oracle
from stretto.pattern.nodes import Query
from stretto.plan.dag import Plan
from stretto.plan.spread.stream_slices import Slices, StreamSpread
from stretto.spark.stream.versions import Version
from stretto.values.times import START_OF_TIME

SpreadOf = Callable[[Plan, Random], StreamSpread]


def check_each(
    seeds: Iterable[int], sample_of: Callable[[int], Sample], check: Callable[[Sample, int, str], int]
) -> None:
    """Every seed's sample passes in each way of loops, and enough of them find something.

    `check` gets the sample, the seed and a folder's name, which differs by way.
    """
    counts = []
    for seed, way in product(seeds, WAYS):
        sample = sample_of(seed)
        try:
            with loops(way, Random(seed)):
                counts.append(check(sample, seed, f"{seed}-{way}"))
        except BaseException as error:
            error.add_note(f"seed {seed}, {way}\n{sample}")
            raise
    assert sum(count > 0 for count in counts) >= len(counts) // 3, "too few workloads find anything"


def schema_of(sample: Sample) -> Schema:
    return Schema(sample.schema.attributes, frozenset({*(sample.schema.types or ()), END_TYPE}))


def check_changes(
    sample: Sample, seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch, spread_of: SpreadOf
) -> int:
    """Queries that come and go find, at every target, what begins there while they run among the events kept."""
    rng = Random(seed + 2)
    workload, schema = Workload.parse(sample.text), schema_of(sample)
    names = [query.name for query in workload.queries]
    bound = workload.bind(schema)
    queries = {query.name: query for query in bound.queries if isinstance(query, Query)}

    def some() -> Workload:
        gone = [name for name in names if rng.random() < 0.4]
        return workload.remove(*gone[: len(names) - 1])

    lateness, now, events = rng.choice((0, 2, 10, 2000, 5000)), some(), ended(sample.events)
    spread = spread_of(optimize(workload, schema, "none"), rng)
    targets = range(spread.targets)
    first = Version(1, now.to_text(), optimize(now, schema, "none"))
    folder.mkdir()
    settings = settings_of(first.plan, spread, number=0, lateness_us=lateness, follows=True)
    stream = use_folder(Stream(settings, folder, rng, rng.choice((0.0, 0.4))), monkeypatch)
    table = to_table(out_of_order(rng, sorted(events, key=lambda event: event.ts), lateness))
    # Since when a query runs at a target, and the events that it does not see there any more.
    lives = {(query.name, t): (START_OF_TIME, set[int]()) for query, t in product(now.queries, targets)}
    arrived: set[int] = set()
    rows = workload_rows(first, spread.targets)
    expected: dict[str, list] = {name: [] for name in names}
    number = 1

    def close(name: str, target: int, until: int | None) -> None:
        since, hidden = lives.pop((name, target))
        seen = [event for event in events if event.id not in hidden]
        query = queries[name]
        read = oracle.inputs(query, oracle.derive(bound.streams, seen), seen)
        expected[name] += [
            match
            for match in oracle.matches(query, read)
            if owner(spread, match.start) == target
            and match.detected >= since
            and (until is None or match.detected < until)
        ]

    for batch in in_batches(rng, table):
        stream.batch(batch, rows)
        rows = []
        arrived |= set(batch.column("id").to_pylist())
        if rng.random() < 0.5:
            new, number = some(), number + 1
            version = Version(number, new.to_text(), optimize(new, schema, "none"))
            rows = workload_rows(version, spread.targets)
            running = {query.name for query in new.queries}
            for target in targets:
                head = stream.store.head(target)
                assert head is not None
                for name in [name for name, t in lives if t == target and name not in running]:
                    close(name, target, head.until_us)
                hidden = arrived - _kept(stream, target)
                for name in [name for name in running if (name, target) not in lives]:
                    lives[name, target] = (head.until_us, hidden)
    if rows:
        stream.batch(None, rows)
    for name, target in list(lives):
        close(name, target, None)
    results = matches_by_query(stream.matches)
    for name in names:
        assert_same_matches(results.get(name, []), without_values(expected[name]), f"{name} by {spread}")
    return len(stream.matches)


def owner(spread: StreamSpread, start: int) -> int:
    """The target that reports what begins then."""
    return start // spread.width_us % spread.targets if isinstance(spread, Slices) else 0


def _kept(stream: Stream, target: int) -> set[int]:
    head = stream.store.head(target)
    assert head is not None
    return {
        number
        for chunk in stream.store.events(target)
        for number, ts in zip(
            chunk.column("id").to_pylist(), chunk.column("ts").cast(pa.int64()).to_pylist(), strict=True
        )
        if ts >= head.floor_us
    }


def check_totals(
    sample: Sample, seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch, spread_of: SpreadOf
) -> int:
    """Trends are counted as the oracle counts them."""
    rng = Random(seed + 1)
    plan = optimize(Workload.parse(sample.text), schema_of(sample), rng.choice(("auto", "none")), 0.1)
    lateness, spread = rng.choice((0, 1, 3000, 10_000)), spread_of(plan, rng)
    arriving = out_of_order(rng, sorted(ended(sample.events), key=lambda event: event.ts), lateness)
    folder.mkdir()
    settings = settings_of(plan, spread, lateness_us=lateness)
    running = use_folder(Stream(settings, folder, rng, rng.choice((0.0, 0.4))), monkeypatch)
    for batch in in_batches(rng, to_table(arriving, ids=rng.random() < 0.5)):
        running.batch(batch)
    expected = expected_totals(sample)
    assert not running.late
    assert not running.matches
    assert_totals(running.totals, sample, expected, f"by {spread}")
    assert sum(report.totals for report in running.metrics) == len(expected)
    return len(expected)
