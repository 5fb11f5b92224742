"""Joins that leave out what KEEP and LIMIT drop: what is reported, and how much is dropped, is what the oracle says.

STRETTO_KEEPS says how many random queries are tried, STRETTO_SEED from which seed on.
"""

import os
from collections import Counter
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from tests.support.comparison import assert_same_matches, matches_of
from tests.support.random_events import in_batches

from stretto import Engine, Schema, Workload, optimize, oracle
from stretto.engine.kernels import when_to_compile
from stretto.engine.results.thinning import Thinner
from stretto.engine.rows import band
from stretto.oracle.detections import Event
from stretto.schema import Kind

PARTS = 4
QUERIES = int(os.environ.get("STRETTO_KEEPS", "120"))
SEED = int(os.environ.get("STRETTO_SEED", "0"))
SCHEMA = Schema({"x": Kind.FLOAT, "k": Kind.INT, "s": Kind.STRING}, frozenset("ABC"))


def random_events(rng: Random) -> list[Event]:
    """Many of one time, with ids in any order; keys that are few, or far apart, or more and more."""
    keys = rng.choice(("few", "few", "far", "more"))
    size, ts = rng.randint(20, 60), rng.choice((0, -9, 10**15))
    ids = rng.sample(range(size), size) if rng.random() < 0.5 else list(range(size))
    events = []
    for number in range(size):
        ts += rng.choice((0, 0, 1, 1, 2, 5))
        key = rng.randint(-1, 2) + (
            number // 9 if keys == "more" else rng.choice((0, 10**6)) if keys == "far" else 0
        )
        values = {"x": rng.choice((0.0, 0.5, 1.0, 1.5)), "k": key, "s": rng.choice("abc")}
        if rng.random() < 0.02:
            values["k"] = None
        events.append(Event(ids[number], ts, rng.choice("ABC"), values))
    return events


def random_query(rng: Random) -> tuple[str, str]:
    """A query, and what KEEP and LIMIT say."""
    pattern = rng.choice(("SEQ(A a, B b, C c)", "SEQ(A a, B b, C c)", "SEQ(A a, C c)", "AND(A a, C c)"))
    terms = ["a.x <= c.x", "a.k <= c.k", "a.x < c.x + 1"]
    terms += ["a.x <= b.x", "b.x < c.x"] if "b" in pattern else []
    where = " AND ".join(rng.sample(terms, rng.choice((0, 1, 1, 2, 3))))
    within = rng.choice(("3 us", "6 us", "12 us", "8 events"))
    per = rng.choice(("", "", " PER a.k", " PER c.k", " PER a.s", " PER a.k, c.k"))
    keep = rng.choice(
        (f"KEEP FIRST{per} FOR {rng.choice((1, 4, 15, 60))} us", f"KEEP APART{per}", f"KEEP APART{per}", "")
    )
    limit = (
        f" LIMIT {rng.choice((1, 2, 5))} PER {rng.choice((4, 30))} us"
        if not keep or rng.random() < 0.2
        else ""
    )
    return f"QUERY q PATTERN {pattern} {'WHERE ' + where if where else ''} WITHIN {within}", keep + limit


def table_of(events: list[Event]) -> pa.Table:
    columns: dict[str, Any] = {
        "ts": pa.array([event.ts for event in events], pa.timestamp("us")),
        "type": [event.type for event in events],
        "id": [event.id for event in events],
    }
    kinds = {"x": pa.float64(), "k": pa.int64(), "s": pa.string()}
    columns |= {
        name: pa.array([event.attributes[name] for event in events], kind) for name, kind in kinds.items()
    }
    return pa.table(columns)


def check(seed: int) -> None:
    rng = Random(seed)
    events = random_events(rng)
    text, keep = random_query(rng)
    if rng.random() < 0.4:
        keep = f"RETURN a.k AS k {keep}"
    workload = Workload.parse(f"{text} {keep};")
    (query,) = workload.bind(SCHEMA).detections
    (plain,) = Workload.parse(f"{text};").bind(SCHEMA).detections
    expected = oracle.matches(query, events)
    engine = Engine(optimize(workload, SCHEMA, "none"))
    parts = [engine.push(batch) for batch in in_batches(rng, table_of(events))]
    parts.append(engine.flush())
    found = [match for part in parts for match in matches_of(part["q"], query)]
    about = f"{seed}\n{text} {keep}\n" + "\n".join(map(str, events))
    assert_same_matches(found, expected, about)
    assert engine.dropped == {"q": len(oracle.matches(plain, events)) - len(expected)}, about


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("pairs", [2, 5, 1 << 12])
def test_what_joins_leave_out_is_dropped(part: int, pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(when_to_compile, "always", True)
    monkeypatch.setattr(band, "PAIRS", pairs)
    monkeypatch.setattr(band.Band, "_few", lambda _band, _meter: pairs + 1)
    seen: Counter[str] = Counter()
    take = Thinner.take

    def watched(thinner: Thinner, chunks: Any, until: int, reach: int, sieve: Any = None) -> Any:
        if sieve is not None:
            seen["exact" if sieve.exact else "more"] += 1
            seen["left out"] += sieve.left_out
        return take(thinner, chunks, until, reach, sieve)

    monkeypatch.setattr(Thinner, "take", watched)
    for seed in range(SEED + part, SEED + QUERIES, PARTS):
        check(seed)
    assert seen["left out"]
    assert seen["exact"]
    assert seen["more"]


@pytest.mark.parametrize("keep", ["FIRST FOR 9 us", "FIRST PER a.k FOR 9 us", "APART", "APART PER c.k"])
def test_of_one_time_the_one_that_starts_first_is_kept_whatever_its_ids(
    keep: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(when_to_compile, "always", True)
    text = f"QUERY q PATTERN SEQ(A a, B b, C c) WHERE a.x <= b.x WITHIN 9 us KEEP {keep};"
    given = [(9, 1, "A", 1.0), (1, 2, "A", 0.0), (2, 3, "B", 0.5), (3, 4, "B", 2.0), (4, 5, "C", 0.0)]
    events = [Event(id_, ts, of, {"x": x, "k": 0, "s": "a"}) for id_, ts, of, x in given]
    engine = Engine(optimize(Workload.parse(text), SCHEMA, "none"))
    found = engine.push(table_of(events)) + engine.flush()
    assert [found["q"][name].to_pylist() for name in "abc"] == [[9], [3], [4]]
    assert engine.dropped == {"q": 2}
