"""KEEP and LIMIT: random queries report what the oracle reports, however the events are cut, restored or spread.

STRETTO_KEEPS says how many random workloads are tried, STRETTO_SEED from which seed on.
"""

import os
from itertools import product
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from tests.support.comparison import assert_same_matches, matches_of
from tests.support.random_events import SCHEMA, in_batches, out_of_order, to_table
from tests.support.strategies import random_workload

from stretto import Engine, QueryError, Schema, StrettoError, Workload, optimize, oracle, run
from stretto.engine.kernels.keep_apart import (
    NEVER,
    begun,
    earliest,
    earliest_reference,
    first_ones,
    first_ones_reference,
    keep_apart,
    keep_apart_reference,
)
from stretto.engine.snapshot import Snapshot
from stretto.plan.dag import Plan
from stretto.plan.spread.choice import choose
from stretto.plan.spread.event_load import EventLoad
from stretto.plan.spread.spreads import ByKey, Whole
from stretto.plan.spread.stream_slices import Slices
from stretto.plan.spread.time_slices import Times
from stretto.schema import Kind

PARTS = 4
WORKLOADS = int(os.environ.get("STRETTO_KEEPS", "120"))
SEED = int(os.environ.get("STRETTO_SEED", "0"))


def random_keep(rng: Random, variables: list[str]) -> str:
    """KEEP and LIMIT at random; values that tell matches apart are those of variables that bind one event."""
    per = (
        ""
        if not variables or rng.random() < 0.4
        else " PER "
        + ", ".join(
            f"{rng.choice(variables)}.{rng.choice(('k', 's', 'x', 'f'))}"
            for _ in range(rng.choice((1, 1, 2)))
        )
    )
    word = rng.choice(("FIRST", "FIRST", "APART", "APART", "LONGEST", "ALL"))
    keep = {
        "FIRST": f"KEEP FIRST{per} FOR {rng.choice((1, 3, 8, 40))} us",
        "APART": f"KEEP APART{per}",
        "LONGEST": "KEEP LONGEST",
        "ALL": "",
    }[word]
    limit = (
        f" LIMIT {rng.choice((1, 2, 3))} PER {rng.choice((2, 5, 20))} us"
        if not keep or rng.random() < 0.25
        else ""
    )
    return keep + limit


def thinned(rng: Random, text: str) -> str:
    """The queries of a workload with KEEP and LIMIT; one may stay as it is, and share all with a thinned twin."""
    found = []
    for statement in (part.rstrip(";\n ") for part in text.split(";\n")):
        if not statement.startswith("QUERY"):
            found.append(statement)
            continue
        plain = Workload.parse(text).bind(SCHEMA)
        name = statement.split()[1]
        query = next(query for query in plain.detections if query.name == name)
        single = [v.name for v in query.variables if not v.negated and not v.kleene and not v.groups]
        keep = random_keep(rng, single)
        if query.window.unit == "events":
            keep = keep.replace("KEEP LONGEST", "KEEP APART")
        found.append(f"{statement}\n  {keep}")
        if rng.random() < 0.3:
            found.append(statement.replace(f"QUERY {name} ", f"QUERY {name}_all "))
    return ";\n".join(found) + ";"


def check(seed: int) -> None:
    rng = Random(seed)
    sample = random_workload(rng)
    text = thinned(rng, sample.text)
    workload = Workload.parse(text)
    queries = workload.bind(SCHEMA).detections
    try:
        plan = optimize(workload, SCHEMA, rng.choice(("none", "share")))
    except QueryError:  # a query of NEXT that is not supported yet
        return
    expected = {query.name: oracle.matches(query, sample.events) for query in queries}
    events = sorted(sample.events, key=lambda event: event.ts)
    whole = run(plan, to_table(sample.events))
    lateness = rng.choice((0, 2, 10))
    engine, parts = Engine(plan, lateness_us=lateness), []
    for batch in in_batches(rng, to_table(out_of_order(rng, events, lateness))):
        parts.append(engine.push(batch))
        roll = rng.random()
        if roll < 0.3:
            engine = Engine.restore(plan, Snapshot.from_bytes(engine.snapshot().to_bytes()))
        elif roll < 0.4:
            engine.switch(optimize(workload, SCHEMA, "none"))
    parts.append(engine.flush())
    for query in queries:
        about = f"{seed}\n{text}\n{sample}"
        assert_same_matches(matches_of(whole[query.name], query), expected[query.name], about)
        found = [match for part in parts for match in matches_of(part[query.name], query)]
        assert_same_matches(found, expected[query.name], f"in batches {about}")


@pytest.mark.parametrize("part", range(PARTS))
def test_random_queries_report_what_the_oracle_reports(part: int) -> None:
    for seed in range(SEED + part, SEED + WORKLOADS, PARTS):
        check(seed)


def test_what_is_dropped_is_counted() -> None:
    text = "QUERY q PATTERN A a WITHIN 5 us KEEP FIRST PER a.k FOR 10 us;"
    text += "QUERY r PATTERN A a WITHIN 5 us LIMIT 1 PER 4 us;"
    table = pa.table(
        {
            "ts": pa.array([1, 2, 3, 12, 12], pa.timestamp("us")),
            "type": ["A"] * 5,
            "k": pa.array([1, 1, 2, 1, 2]),
        }
    )
    engine = Engine(optimize(Workload.parse(text), Schema.of(table.schema), "none"))
    found = engine.push(table) + engine.flush()
    assert found["q"]["a"].to_pylist() == [0, 2, 3]
    assert found["r"]["a"].to_pylist() == [0, 3]
    assert engine.dropped == {"q": 2, "r": 3}


def test_a_spread_that_would_part_what_keep_looks_at_is_refused() -> None:
    schema = Schema({"k": Kind.INT, "x": Kind.FLOAT})

    def plan(more: str) -> Plan:
        text = f"QUERY q PATTERN SEQ(A a, B b) WHERE [k] WITHIN 5 s {more};"
        return optimize(Workload.parse(text), schema, "none")

    key = ByKey(("k",), 4)
    assert key.check(plan("")) is None
    assert key.check(plan("KEEP FIRST PER b.k FOR 1 s")) is None
    assert key.check(plan("KEEP LONGEST")) is None
    assert "PER v.k" in str(key.check(plan("KEEP FIRST FOR 1 s")))
    assert "PER v.k" in str(key.check(plan("KEEP APART PER a.x")))
    assert "LIMIT" in str(key.check(plan("KEEP APART PER a.k LIMIT 3 PER 1 s")))
    assert "KEEP or LIMIT" in str(Slices.of(plan("")).check(plan("KEEP LONGEST")))
    load = EventLoad(Times.of([(0, 10, 10)]))
    assert choose(plan("LIMIT 3 PER 1 s"), load, 8) == Whole()
    for name, more, others in [
        ("time", "LIMIT 3 PER 1 s", "whole"),
        ("key", "LIMIT 3 PER 1 s", "whole"),
        ("units", "KEEP FIRST PER b.k FOR 1 s", "key or whole"),
    ]:
        with pytest.raises(
            StrettoError, match=rf"cannot spread by {name}: .* \(spread by {others} instead\)"
        ):
            choose(plan(more), load, 8, name)


@pytest.mark.parametrize("seed", range(20))
def test_the_walk_is_its_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, keys = int(rng.integers(0, 60)), int(rng.integers(1, 5))
    begin, key = rng.integers(0, 50, n), rng.integers(0, keys, n)
    mark = begin + rng.integers(0, 5, n)
    last = np.where(rng.random(keys) < 0.5, NEVER, rng.integers(0, 20, keys))
    ours, theirs = last.copy(), last.copy()
    gap = int(rng.integers(1, 9))
    kept = keep_apart(begin, mark, key, ours, gap)
    assert kept.tolist() == keep_apart_reference(begin, mark, key, theirs, gap).tolist()
    assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("seed", range(40))
def test_of_those_with_one_time_and_key_the_first_ones_are_what_the_walk_keeps(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, keys = int(rng.integers(0, 80)), int(rng.integers(1, 5))
    key = rng.integers(0, keys, n) if seed % 3 else np.zeros(0, np.int64)  # or all alike
    last = np.where(rng.random(keys) < 0.5, NEVER, rng.integers(0, 20, keys))
    time = np.sort(rng.integers(20, 20 + (20, 2_000)[seed % 2], n))
    rank = time - rng.integers(0, 4, n)
    for narrow, by_rank in product((np.int64, np.uint32), (False, True)):
        gap = 1 if by_rank else int(rng.integers(1, 40))
        since = 0 if narrow is np.int64 else -7
        low = int(rng.integers(-3, 4))
        given = (time - since).astype(narrow), (rank - since).astype(narrow), since
        if seed % 3 == 2:  # looked up
            look = rng.integers(0, keys, 9)
            places = rng.integers(0, 9, n)
            key, given = look[places], (*given, (places + 5).astype(np.int32), low, look + low, 5)
        else:
            given = *given, key + low, low, np.zeros(0, np.int64), 0
        given = *given, last, gap, by_rank
        rows, numbers, marks = _first_ones(first_ones, *given)
        assert (rows, numbers, marks) == _first_ones(first_ones_reference, *given)
        assert rows == sorted(set(rows))
        # Which of equal ranks comes first is open, so let it be the first that lies there.
        firsts = {
            number: min((rank[row], row) for row, one in zip(rows, numbers, strict=True) if one == number)
            for number in numbers
        }
        order, walked = np.lexsort((rank, time)), last.copy()
        mine = (key if len(key) else np.zeros(n, np.int64))[order]
        begin = (rank if by_rank else time)[order]
        kept = order[keep_apart_reference(begin, time[order], mine, walked, gap)]
        assert sorted(row for _, row in firsts.values()) == sorted(kept.tolist())
        assert marks == walked.tolist()


def _first_ones(walk, time, rank, since, key, *more) -> tuple[list[int], list[int], list[int]]:
    """What the walk gives in two parts, and the marks behind it."""
    *looking, last, gap, by_rank = more
    state, found, counts = begun(last), np.empty((2, len(time)), np.int64), np.zeros(2, np.int64)
    half = len(time) // 2
    for at in (slice(0, half), slice(half, None)):
        walk(time[at], rank[at], since, key[at], *looking, state, gap, by_rank, at.start, found, counts)
    rows, numbers = found[:, : counts[0]].tolist()
    assert len(set(numbers)) == counts[1]
    return rows, numbers, state[0].tolist()


@pytest.mark.parametrize("seed", range(40))
def test_the_earliest_of_a_stretch_are_those_up_to_the_time_of_the_last(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, length, most = int(rng.integers(0, 80)), int(rng.integers(1, 30)), int(rng.integers(1, 5))
    time = np.sort(rng.integers(-20, (20, 500)[seed % 2], n))
    # The stretch that was begun before is the first of these, or none of them.
    known, before = int(time.min(initial=0)) // length - int(rng.integers(0, 2)), int(rng.integers(0, 6))
    expected = []
    for row, then in enumerate(time.tolist()):
        earlier = [
            row for row, one in enumerate(time.tolist()) if one // length == then // length and one < then
        ]
        expected += [row] if len(earlier) + (before if then // length == known else 0) < most else []
    for narrow, walk in product((np.int64, np.uint32), (earliest, earliest_reference)):
        since = 0 if narrow is np.int64 else -30
        state, found, half = np.array([known, before, NEVER]), [], n // 2
        for at in (slice(0, half), slice(half, None)):
            some = np.empty(n, np.int64)
            count = walk((time[at] - since).astype(narrow), since, length, most, state, at.start, some)
            found += some[:count].tolist()
        assert found == expected
