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
    keep_apart,
    keep_apart_reference,
    may_keep,
    may_keep_reference,
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
    with pytest.raises(StrettoError, match="cannot spread by time"):
        choose(plan("LIMIT 3 PER 1 s"), load, 8, "time")


@pytest.mark.parametrize("seed", range(20))
def test_the_loop_is_its_twin(seed: int) -> None:
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
    own = key if seed % 3 else key[:0]  # all alike
    time, rank = np.sort(mark), rng.integers(0, 3, n)
    for narrow, by_rank in product((np.int64, np.uint32), (False, True)):
        ours, theirs = (
            _walked(walk, time.astype(narrow), rank.astype(narrow), own, last, gap, by_rank)
            for walk in (may_keep, may_keep_reference)
        )
        assert ours == theirs
    assert may_keep(time[::-1].copy(), rank, 0, own, begun(last), gap, False, np.empty(n, np.int64)) in (
        (-1,) if len(set(time)) > 1 else (0, n)
    )
    # What the walk keeps in the order of time and rank is among what it may keep, for marks that are times.
    for gap in (0, 1, 5):
        may = np.zeros(n, np.bool_)
        may[_walked(may_keep, time, rank, key, last, gap, by_rank=False)[0]] = True
        order = np.lexsort((rank, time))
        kept = keep_apart(time[order], time[order], key[order], last.copy(), gap)
        assert may[order][kept].all()
        begin = np.minimum(rank + 40, time)  # as APART has it, which goes by the start
        may[:] = False
        may[_walked(may_keep, time, begin, key, last, gap, by_rank=True)[0]] = True
        order = np.lexsort((begin, time))
        kept = keep_apart(begin[order], time[order], key[order], last.copy(), gap)
        assert may[order][kept].all()


def _walked(walk, time, rank, key, last, gap: int, by_rank: bool) -> tuple[list[int], list]:
    """What may be kept, walked in two parts, counted from a time, and the state behind it."""
    state, found, half = begun(last), [], len(time) // 2
    for at in (slice(0, half), slice(half, None)):
        some = np.empty(len(time[at]), np.int64)
        since = np.int64(0 if time.dtype == np.int64 else -7)
        count = walk(time[at], rank[at], since, key[at], state, gap, by_rank, some)
        found += (some[:count] + at.start).tolist()
    return found, state.tolist()
