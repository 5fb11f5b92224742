"""Workloads whose intermediate rows are many, one for each kind of operator, and what a bounded run finds of them."""

import numpy as np
import pyarrow as pa

from stretto.engine.results.matches import Matches
from stretto.engine.run import Engine
from stretto.errors import EngineError
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.optimize import optimize
from stretto.schema import Schema

TYPES = "ABCD"
N = 1_200

QUERIES = {
    "scan": "PATTERN A a WHERE a.x < 0.9 WITHIN 1 s",
    "join": "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN 150 us",
    "keyed join": "PATTERN SEQ(A a, B b, C c) WHERE [k] WITHIN 400 us",
    "conjunction": "PATTERN AND(A a, B b, C c) WHERE a.x + b.x > c.x WITHIN 40 us",
    "repeat": "PATTERN SEQ(A a, B+ b, C c) WITHIN 26 us",
    "linked repeat": "PATTERN SEQ(A a, B+ b, C c) WHERE b[i].x > b[i-1].x WITHIN 44 us",
    "filter": "PATTERN SEQ(A a, B+ b, C c) WHERE SUM(b.x) > 1.5 WITHIN 24 us",
    "forbid": "PATTERN SEQ(A a, NOT(D d), B b, C c) WHERE d.x > b.x WITHIN 120 us",
    "waiting": "PATTERN SEQ(A a, B b, C c, NOT(D d)) WHERE d.k = a.k WITHIN 60 us",
    "waiting for events": "PATTERN SEQ(A a, B b, C c, NOT(D d)) WHERE d.k = a.k WITHIN 60 EVENTS",
    "next": "PATTERN SEQ(A a, B+ b, C c) WHERE a.x < b.x AND c.k = a.k WITHIN 300 us SELECT NEXT",
    "union": "PATTERN SEQ(A a, OR(B b, C c)+, D d) WITHIN 16 us",
    "emit": "PATTERN SEQ(A a, B b, C c) WITHIN 100 us RETURN a.x + b.x AS sum, c.s AS text, a.k * c.k AS product",
}
MUCH = ", ".join(f"a.x + {i} * b.x AS r{i}" for i in range(40))
SUMS = ", ".join(f"a.x + {i} * SUM(b.x) AS r{i}" for i in range(40))
# The step goes past the bound in the last operator, so that those before it have all done their part of it.
AFTER = {
    "after join": f"PATTERN SEQ(A a, B b) WITHIN 60 us RETURN {MUCH}",
    "after keyed join": f"PATTERN SEQ(A a, B b, C c) WHERE [k] WITHIN 250 us RETURN {MUCH}",
    "after repeat": f"PATTERN SEQ(A a, B b, C+ c) WITHIN 18 us RETURN {MUCH}",
    "after forbid": f"PATTERN SEQ(A a, NOT(D d), B b) WHERE d.x > b.x WITHIN 90 us RETURN {MUCH}",
    "after waiting": f"PATTERN SEQ(A a, B b, NOT(D d)) WHERE d.x > b.x AND d.k = b.k WITHIN 40 us RETURN {MUCH}",
    "after waiting for events": "PATTERN SEQ(A a, B b, NOT(D d)) WHERE d.x > b.x AND d.k = b.k WITHIN 40 EVENTS"
    f" RETURN {MUCH}",
    "after next": f"PATTERN SEQ(A a, B+ b) WHERE b.x > a.x AND a.k = b.k WITHIN 300 us SELECT NEXT RETURN {SUMS}",
    "after mixed": f"PATTERN OR(SEQ(A a, B b), SEQ(A a, B b, NOT(D d))) WITHIN 40 us RETURN {MUCH}",
}
TRENDS = {
    "running": "PATTERN SEQ(A a, B+ b) GROUP BY k WITHIN 100 us SLIDE 10 us RETURN COUNT(*) AS n, SUM(b.x) AS x",
    "windowed": "PATTERN SEQ(A a, B+ b) WHERE b[i].x > b[i-1].x GROUP BY k WITHIN 100 us SLIDE 10 us"
    " RETURN COUNT(*) AS n",
}


def events(n: int = N, seed: int = 5, times: int | None = None) -> pa.Table:
    """Events of four types at `n` times, or at fewer."""
    rng = np.random.default_rng(seed)
    ts = np.sort(rng.integers(0, times or n, n))
    return pa.table(
        {
            "ts": pa.array(ts, pa.timestamp("us")),
            "type": pa.array(rng.choice(list(TYPES), n)),
            "x": pa.array(rng.random(n).round(3)),
            "k": pa.array(rng.integers(0, 6, n)),
            "s": pa.array(rng.choice(["alpha", "beta", "gamma"], n)),
        }
    )


def plan_of(text: str, table: pa.Table, optimizer: str = "none") -> Plan:
    workload = Workload.parse(f"QUERY q {text};")
    return optimize(workload, Schema.of(table.schema, tuple(TYPES)), optimizer)


def found(plan: Plan, table: pa.Table, memory: int, batch: int = 1 << 20) -> tuple[pa.Table, Engine, int]:
    """All matches, or totals, in one order; the engine; and in how many parts they came."""
    engine = Engine(plan, memory_bytes=memory)
    parts = [rows_of(matches) for piece in table.to_batches(batch) for matches in engine.pushing(piece)]
    parts += [rows_of(matches) for matches in engine.flushing()]
    rows = pa.concat_tables([rows_of(engine.nothing()), *parts])
    order = ("match_id",) if "match_id" in rows.column_names else ("query", "name", "window_start", "group")
    return rows.sort_by([(name, "ascending") for name in order]), engine, len(parts)


def rows_of(matches: Matches) -> pa.Table:
    """Every column of every match, or of every total if there is no query that detects."""
    return matches.to_arrow() if matches.counts() else matches.totals()


def least_bound(plan: Plan, table: pa.Table, low: int, high: int) -> int:
    """A bound that is enough while that of a quarter less is not, between one that is not and one that is."""
    while high - low > low // 4:
        bound = (low + high) // 2
        try:
            found(plan, table, bound)
            high = bound
        except EngineError:
            low = bound
    return high
