"""Keys pass through derived streams: what one key ties is found by key as it is found in one place."""

from random import Random

import pyarrow as pa
import pytest
from tests.support.random_events import SCHEMA, random_events, to_table

from stretto.engine.run import Engine
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.optimize import optimize
from stretto.plan.spread.partition_keys import key_attributes, of_single_events, why_untied
from stretto.plan.spread.spreads import ByKey
from stretto.schema import Special

CALM = "CREATE STREAM calm AS SELECT k AS key, AVG(x) AS x FROM A GROUP BY k WITHIN 4 us;"
MET = "CREATE STREAM met AS SELECT c.key, b.k AS other, c.x + b.x AS x FROM calm c JOIN B b ON c.key = b.k WITHIN 3 us;"
RISE = """CREATE STREAM rise AS PATTERN calm d{2,} WHERE [key] HAVING d[i].x > d[i-1].x WITHIN 9 us SELECT NEXT
    RETURN FIRST(d).key AS k, LAST(d).x AS x;"""
TIED = f"""{CALM} {MET} {RISE} CREATE STREAM named AS SELECT k AS n, x FROM B WHERE x < 9;
QUERY a PATTERN SEQ(met m, rise r, named v) WHERE m.other = r.k AND r.k = v.n WITHIN 9 us;
QUERY b PATTERN SEQ(rise r, NOT(B b), A a) WHERE [k] WITHIN 9 us;
QUERY c PATTERN SEQ(calm p, B q) WHERE p.key = 1 AND q.k = 1 WITHIN 6 us;
QUERY d PATTERN calm p WHERE p.x > 0 WITHIN 1 us;
QUERY e FOR EACH rows r PATTERN SEQ(A p, NOT(C no), B q) WHERE p.k = r.k AND q.k = r.k AND no.k = r.k WITHIN 6 us;
"""


def planned(text: str, *, tables: bool = False) -> Plan:
    workload = Workload.parse(text)
    return optimize(workload.table("rows", {"k": [0, 1, 2]}) if tables else workload, SCHEMA)


def found_by(plan: Plan, parts: list[pa.Table]) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for part in parts:
        engine = Engine(plan)
        for matches in (engine.push(part), engine.flush()):
            found = matches.to_arrow()
            rows += zip(*(found[name].to_pylist() for name in ("query", "member", "match_id")), strict=True)
    return sorted(rows, key=repr)


def test_by_key_as_in_one_place() -> None:
    plan = planned(TIED, tables=True)
    assert key_attributes(plan) == ("k",)
    spread = ByKey(("k",), 3)
    assert spread.check(plan) is None
    queries: set[object] = set()
    for seed in range(20):
        events = sorted(random_events(Random(seed), ("A", "B", "C"), most=60), key=lambda event: event.ts)
        (batch,) = to_table(events).combine_chunks().to_batches()
        parts = [pa.Table.from_batches([part]) for _, part in spread.parts(batch, Special())]
        whole = found_by(plan, [pa.Table.from_batches([batch])])
        assert found_by(plan, parts) == whole, seed
        queries |= {query for query, *_ in whole}
    assert queries == {"a", "b", "c", "d", "e"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "CREATE STREAM s AS SELECT AVG(x) AS x FROM A WITHIN 4 us; QUERY q PATTERN s v WITHIN 1 us;",
            "stream `s` has aggregates over all values of `k`; write `GROUP BY k`",
        ),
        (
            "CREATE STREAM s AS SELECT a.k FROM A a JOIN B b ON a.x = b.x WITHIN 4 us; QUERY q PATTERN s v WITHIN 1 s;",
            "stream `s` joins events with other values of `k`; compare them in ON",
        ),
        (
            "CREATE STREAM s AS PATTERN SEQ(A a, B b) WITHIN 4 us RETURN a.k AS k; QUERY q PATTERN s v WITHIN 1 us;",
            "stream `s` does not tie all of its events by `k`; write `[k]`",
        ),
        (
            f"{CALM} QUERY q PATTERN SEQ(calm c, B b) WHERE c.x = b.x WITHIN 5 us;",
            "query `q` does not tie all of its events by `k`; write `[k]`",
        ),
        (
            "CREATE STREAM s AS SELECT n AS k FROM A; QUERY q PATTERN SEQ(s v, s w) WHERE [k] WITHIN 5 us SELECT NEXT;",
            "query `q` takes the next event of any key; write `[k]`",
        ),
        (
            "QUERY q FOR EACH rows r PATTERN SEQ(A p, B q) WHERE p.k = r.k WITHIN 6 us;",
            "query `q` does not tie all of its events by `k`; write `[k]`",
        ),
        (
            f"{CALM} QUERY q PATTERN SEQ(calm c, NOT(C d), B b) WHERE c.key = b.k AND d.k = 1 WITHIN 5 us;",
            "query `q` forbids `C` of any `k`; write `[k]`",
        ),
    ],
)
def test_why_a_key_does_not_tie(text: str, why: str) -> None:
    plan = planned(text, tables="rows" in text)
    assert why_untied(plan, ("k",)) == why
    assert "k" not in key_attributes(plan)
    assert not of_single_events(plan)


def test_keep_by_the_key_beside_streams_that_the_query_does_not_read() -> None:
    streams = "CREATE STREAM calm AS SELECT k, AVG(x) AS x FROM A GROUP BY k WITHIN 10 us; "
    other = "QUERY other PATTERN SEQ(calm c, B b) WHERE [k] WITHIN 5 us;"
    kept = "QUERY q PATTERN SEQ({} a, B b) WHERE [k] WITHIN 5 us KEEP FIRST PER a.k FOR 3 us;"
    for read, fits in (("A", True), ("calm", False)):
        plan = planned(streams + other + kept.format(read))
        assert (ByKey(("k",), 2).check(plan) is None) is fits
