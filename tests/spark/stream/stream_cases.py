"""Random workloads as streams: scaled to milliseconds, tied by a key, with an end that lets everything out."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from random import Random

from tests.support.strategies import Sample, random_workload
from tests.support.variations import sharing_workload

from stretto.errors import QueryError
from stretto.oracle.detections import Event, Match
from stretto.pattern.nodes import Query
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.optimize import optimize
from stretto.schema import Schema

MS = 1000
END_TYPE = "Z"
REFUSALS = ("not supported yet", "cannot be planned")
END_EVENTS = 20  # more than the longest window in events
END_AFTER_US = 10**9
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - times without an offset


def stream_sample(seed: int) -> Sample:
    """A random workload; many are in milliseconds, which is what Spark's watermark counts, some have a key."""
    rng = Random(seed)
    sample = random_workload(rng) if seed % 3 == 0 else sharing_workload(rng)
    if seed % 2:
        sample = keyed(sample)
    return sample if seed % 5 == 0 else in_milliseconds(sample)


def keyed(sample: Sample) -> Sample:
    """All queries tie their events by `[k]`, and have windows of time."""
    statements = []
    for statement in sample.text.split(";"):
        text = statement.replace("EVENTS", "us") if "QUERY" in statement else statement
        if "QUERY" in text:
            tied = re.sub(r"\bWHERE ", "WHERE [k] AND ", text, count=1)
            text = tied if tied != text else f"{text}\n  WHERE [k]"
        statements.append(text)
    return replace(sample, text=";".join(statements))


def in_milliseconds(sample: Sample) -> Sample:
    text = re.sub(r"\b(us|MICROSECONDS)\b", "ms", sample.text)
    base = min((event.ts for event in sample.events), default=0)
    base = base if abs(base) > 10**12 else 0
    events = tuple(replace(event, ts=base + (event.ts - base) * MS) for event in sample.events)
    return replace(sample, text=text, events=events)


def ended(events: Sequence[Event]) -> list[Event]:
    """With events after all others that no query reads: everything is decided once they are seen."""
    last = max((event.ts for event in events), default=0) + END_AFTER_US
    number = max((event.id for event in events), default=-1) + 1
    return [*events, *(Event(number + i, last + i * MS, END_TYPE, {}) for i in range(END_EVENTS))]


def planned(sample: Sample) -> tuple[Plan, tuple[Query, ...]] | None:
    """The plan of a sample and its queries; None where the workload is refused."""
    schema = Schema(sample.schema.attributes, frozenset({*(sample.schema.types or ()), END_TYPE}))
    try:
        workload = Workload.parse(sample.text)
        return optimize(workload, schema, "none"), workload.bind(schema).detections
    except QueryError as refused:
        if not any(text in str(refused) for text in REFUSALS):
            raise
        return None


def matches_by_query(rows: Iterable[dict]) -> dict[str, list[Match]]:
    """Rows of match files in the oracle's shape, without what they return."""
    found: dict[str, list[Match]] = {}
    for row in rows:
        times = [_us(row[name]) for name in ("start", "end", "detected")]
        events = {name: tuple(ids) for name, ids in dict(row["events"]).items()}
        found.setdefault(row["query"], []).append(Match(*times, events, {}))
    return found


def _us(time) -> int:
    if isinstance(time, int):
        return time
    since = time.replace(tzinfo=None) - _EPOCH
    return (since.days * 86400 + since.seconds) * 10**6 + since.microseconds


def without_values(matches: Iterable[Match]) -> list[Match]:
    return [replace(match, returned={}) for match in matches]


def without_ids(matches: Iterable[Match]) -> list[Match]:
    """Only how many events each variable binds."""
    return [
        replace(match, returned={}, events={name: (len(ids),) for name, ids in match.events.items()})
        for match in matches
    ]
