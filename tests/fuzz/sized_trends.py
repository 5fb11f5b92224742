"""Trend queries over thousands of events: short streams that the oracle can count, one after another, far enough apart.

Each is moved by a multiple of all slides, so its windows lie as they did, and by more than a window, so no window holds
events of two.
"""

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import lcm
from random import Random
from unittest import mock

import pyarrow as pa
from tests.exactness.test_trends import plan_of
from tests.fuzz.trials import Differs, Tally
from tests.fuzz.ways import LATENESS, Way
from tests.support.loops import WAYS
from tests.support.random_events import SCHEMA, out_of_order, to_table
from tests.support.strategies import Event, Sample
from tests.support.trend_comparison import assert_same_totals, rows_of
from tests.support.trend_strategies import random_trends

from stretto.engine.memory import reuse
from stretto.engine.run import Engine
from stretto.oracle.trends import Total, totals
from stretto.pattern.workload import Workload

FEWEST, MOST = 1_000, 1_600
LONGEST = 50  # events of a batch
CHANGES = 4


@dataclass(frozen=True, slots=True)
class TiledTrends:
    """Trend queries, short streams in time order, and the order in which these follow each other."""

    text: str
    tiles: tuple[tuple[Event, ...], ...]
    order: tuple[int, ...]


def tiled_trends(rng: Random) -> TiledTrends:
    """A workload of trends, with its stream and some like it: parts of it, with attributes exchanged."""
    sample = random_trends(rng)
    while not _counted(sample.text, sample.events):
        sample = random_trends(rng)
    events = sorted(sample.events, key=lambda event: event.ts)
    tiles = [tuple(events), *(_like(rng, events) for _ in range(3))]
    order, size = [], rng.randint(FEWEST, MOST)
    while size > 0:
        order.append(rng.randrange(len(tiles)))
        size -= len(tiles[order[-1]])
    return TiledTrends(sample.text, tuple(tiles), tuple(order))


def _counted(text: str, events: Sequence[Event]) -> list[Total]:
    queries = Workload.parse(text).bind(SCHEMA).trends
    return [total for query in queries for total in totals(query, events)]


def _like(rng: Random, events: Sequence[Event]) -> tuple[Event, ...]:
    kept = [event for event in events if rng.random() < 0.85] or list(events)
    values = rng.sample([event.attributes for event in kept], len(kept))
    return tuple(replace(event, attributes=of) for event, of in zip(kept, values, strict=True))


def trend_way(rng: Random) -> Way:
    return Way(
        plan="",
        loops=rng.choice(WAYS),
        feed=rng.choice(("batches", "disordered", "steps")),
        change=rng.choice(("", "restore", "pickle")),
        read=rng.choice(("late", "early")),
        filled=rng.random() < 0.3,
        seed=rng.getrandbits(32),
    )


def compare_trends(tiled: TiledTrends, ways: Iterable[Way]) -> Tally:
    """Run it in all these ways; raises Differs."""
    workload = Workload.parse(tiled.text)
    queries = workload.bind(SCHEMA).trends
    shift = lcm(*(query.slide_us for query in queries))
    times = [event.ts for tile in tiled.tiles for event in tile]
    reach = max(times) - min(times) + max(query.window_us for query in queries)
    moves = [place * shift * (reach // shift + 1) for place in range(len(tiled.order))]
    counted = [_counted(tiled.text, tile) for tile in tiled.tiles]
    timed = {
        (query.name, item.name) for query in queries for item in query.aggregates if item.attribute == "ts"
    }
    places = list(zip(tiled.order, moves, strict=True))
    expected = [_moved(total, by, timed) for tile, by in places for total in counted[tile]]
    events = [replace(event, ts=event.ts + by) for tile, by in places for event in tiled.tiles[tile]]
    sample = Sample(tiled.text, SCHEMA, tuple(replace(event, id=i) for i, event in enumerate(events)))
    tally = Tally(workloads=1)
    for way in ways:
        rng = Random(way.seed)
        try:
            with mock.patch.object(reuse, "debug", way.filled), way.working():
                found = rows_of(_run(plan_of(sample, workload, rng), sample, way, rng))
            assert_same_totals(found, expected, {query.name: query.groups for query in queries})
        except Exception as error:
            raise Differs([query.name for query in queries], way, str(error)) from error
        tally.comparisons += len(queries)
        tally.matches += len(found)
    return tally


def _moved(total: Total, by: int, timed: set[tuple[str, str]]) -> Total:
    value = total.value
    if (total.query, total.name) in timed and value is not None:
        value += by
    start, end = total.window_start + by, total.window_end + by
    return replace(total, window_start=start, window_end=end, value=value)


def _run(plan, sample: Sample, way: Way, rng: Random) -> pa.Table:
    """All totals; read as they come, or when all have come."""
    lateness = rng.choice(LATENESS) if way.feed == "disordered" else 0
    step = {"step": rng.choice((7, 20, LONGEST))} if way.feed == "steps" else {}
    engine = Engine(plan, lateness_us=lateness, **step)
    table = to_table(out_of_order(rng, sample.events, lateness))
    found, tables = [], []
    batches = list(_batches(table, rng, LONGEST if not step else 700))
    for batch in batches:
        found.append(engine.push(batch))
        tables.append(found[-1].totals())
        if rng.random() < CHANGES / len(batches):
            engine = _changed(engine, way)
    found.append(engine.flush())
    tables.append(found[-1].totals())
    return pa.concat_tables(tables if way.read == "early" else [part.totals() for part in found])


def _changed(engine: Engine, way: Way) -> Engine:
    if way.change == "pickle":
        return pickle.loads(pickle.dumps(engine))
    if way.change == "restore":
        return Engine.restore(engine.plan, pickle.loads(pickle.dumps(engine.snapshot())))
    return engine


def _batches(table: pa.Table, rng: Random, most: int) -> Iterator[pa.RecordBatch]:
    at = 0
    while at < table.num_rows:
        size = rng.randint(1, most)
        yield from table.slice(at, size).to_batches()
        at += size
