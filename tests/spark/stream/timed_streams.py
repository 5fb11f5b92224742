"""Random streams as they arrive, with late and bad events, through the stateful operator and against the oracle."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
from tests.spark.stream.stream_cases import ended, in_milliseconds, matches_by_query, without_values
from tests.spark.stream.stream_state import Stream
from tests.support.comparison import assert_same_matches
from tests.support.random_events import in_batches, out_of_order, to_table
from tests.support.strategies import Sample, random_workload
from tests.support.variations import sharing_workload

from stretto import oracle
from stretto.oracle.detections import Event
from stretto.pattern.nodes import Query
from stretto.spark.stream.processor import us_of

BAD = (("ts", "ts is null"), ("type", "type is null"), ("id", "id is null"))


def timed_sample(seed: int) -> Sample:
    """A random workload without windows in EVENTS; most are in milliseconds, which is what Spark's watermark counts."""
    rng = Random(seed)
    sample = random_workload(rng) if seed % 3 else sharing_workload(rng)
    sample = replace(sample, text=sample.text.replace("EVENTS", "us"))
    return sample if seed % 5 == 0 else in_milliseconds(sample)


def with_bad_ones(rng: Random, events: Sequence[Event]) -> tuple[pa.Table, Counter[str]]:
    """The events as a table with some more that lack what every event has, and how many of each there are."""
    good = to_table(events)
    rows = [(row, "") for row in range(good.num_rows)]
    wrong: Counter[str] = Counter()
    for _ in range(rng.choice((0, 3))):
        name, reason = rng.choice(BAD)
        wrong[reason] += 1
        rows.insert(rng.randint(0, len(rows)), (rng.choice(range(good.num_rows)), name))
    table = good.take([row for row, _ in rows])
    for name, _ in BAD:
        lacking = pa.array([lacks == name for _, lacks in rows])
        place = table.column_names.index(name)
        table = table.set_column(place, table.field(name), pc.if_else(lacking, None, table[name]))
    return table, wrong


def good_ids_before(batch: pa.RecordBatch, before_us: int) -> list[int]:
    rows = zip(
        *(batch.column(name).cast(pa.int64()) for name in ("ts", "id")), batch.column("type"), strict=True
    )
    good = ((ts.as_py(), number.as_py()) for ts, number, kind in rows if kind.is_valid)
    return [number for ts, number in good if ts is not None and number is not None and ts < before_us]


def arriving(sample: Sample, rng: Random, lateness_us: int) -> tuple[list[Event], pa.Table, Counter[str]]:
    """The events with those that end a stream; and the table of them as they arrive, some too late, some bad."""
    events = ended(sample.events)
    by_time = sorted(events, key=lambda event: event.ts)
    return events, *with_bad_ones(rng, out_of_order(rng, by_time, lateness_us + rng.choice((0, 4000))))


def feed(stream: Stream, rng: Random, table: pa.Table) -> list[int]:
    """The stream gets the table batch by batch; the ids of the events that were late."""
    late: list[int] = []
    for batch in in_batches(rng, table):
        late += good_ids_before(batch, us_of(stream.watermark_ms))
        stream.batch(batch)
    return late


def check_stream(
    stream: Stream,
    queries: Sequence[Query],
    events: Sequence[Event],
    late: Sequence[int],
    wrong: Counter[str],
    about: object,
) -> bool:
    """What was late, rejected, counted and found is what it should be; whether anything was found."""
    assert Counter(event["id"] for event in stream.late) == Counter(late)
    assert Counter(event["reason"] for event in stream.rejected) == wrong
    counted = [sum(getattr(m, name) for m in stream.metrics) for name in ("events", "late", "rejected")]
    assert counted == [len(events) + wrong.total(), len(late), wrong.total()]
    results = matches_by_query(stream.matches)
    assert set(results) <= {query.name for query in queries}
    accepted = [event for event in events if event.id not in set(late)]
    for query in queries:
        expected = without_values(oracle.matches(query, accepted))
        assert_same_matches(results.get(query.name, []), expected, f"{query.name} by {about}")
    return len(results) > 0
