"""What rules of teams are made of, drawn together: functions of texts, times, lists (null ones too) and
structs, KEEP and LIMIT, SELECT LAST and NEXT, whole events in RETURN, ids that are integers or texts.

STRETTO_RULES says how many random workloads are tried, STRETTO_SEED from which seed on.
"""

import os
from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest
from tests.support import text_terms
from tests.support.comparison import assert_same_matches, matches_of
from tests.support.loops import in_every_way
from tests.support.random_events import in_batches, out_of_order

from stretto import Engine, Workload, optimize, oracle, run
from stretto.engine.snapshot import Snapshot
from stretto.oracle.values import Event
from stretto.schema import Kind

WORKLOADS = int(os.environ.get("STRETTO_RULES", "150"))
SEED = int(os.environ.get("STRETTO_SEED", "7400000"))
CHUNK = 75
KEEPS = (
    "KEEP APART",
    "KEEP APART PER a.p.name",
    "KEEP LONGEST",
    "KEEP FIRST FOR 4 us",
    "KEEP FIRST PER LOWER(a.s), LENGTH(a.args) FOR 6 us",
    "KEEP FIRST PER a.s IS NULL FOR 9 us LIMIT 2 PER 5 us",
    "LIMIT 1 PER 3 us",
)


def random_rule(rng: Random, name: str) -> str:
    """A query over texts, as some policy reads it, thinned out or not, with whole events or not."""
    clauses = [text_terms.random_text_query(rng, name).removesuffix(";")]
    policy = rng.choice(("ANY", "ANY", "LAST", "LAST", "NEXT"))
    if policy != "ANY" and "AND(" not in clauses[0].partition("WHERE")[0]:
        clauses.append(f"SELECT {policy}")
    if "RETURN" not in clauses[0] and rng.random() < 0.4:
        clauses.append(f"RETURN {rng.choice(('*', 'a.*', 'a.*, LENGTH(b.args) AS size'))}")
    if rng.random() < 0.5:
        clauses.append(rng.choice(KEEPS))
    return " ".join(clauses) + ";"


def with_texts(events: list[Event]) -> list[Event]:
    """The same events, whose ids are texts that order as the integers do."""
    return [replace(event, id=f"é-{event.id:04d}") for event in events]


def to_table(events: list[Event]) -> pa.Table:
    ids = pa.array([event.id for event in events], pa.string() if _has_texts(events) else pa.int64())
    plain = text_terms.to_table([replace(event, id=0) for event in events])
    return plain.set_column(plain.column_names.index("id"), "id", ids)


def _has_texts(events: list[Event]) -> bool:
    return any(isinstance(event.id, str) for event in events)


@in_every_way
def check(seed: int) -> int:
    """One workload, run at once, and in batches out of order with restored snapshots; how many matches there are."""
    rng = Random(seed)
    text = "\n".join(random_rule(rng, f"q{i}") for i in range(rng.choice((1, 2, 3))))
    events = text_terms.random_events(rng, rng.randint(0, 16))
    events = with_texts(events) if rng.random() < 0.5 else events
    kind = Kind.STRING if _has_texts(events) else Kind.INT
    schema = replace(text_terms.SCHEMA, attributes={**text_terms.ATTRIBUTES, "id": kind})
    workload = Workload.parse(text)
    plan = optimize(workload, schema, rng.choice(("none", "share")))
    whole = run(plan, to_table(events))
    lateness = rng.choice((0, 2, 10))
    engine, parts = Engine(plan, lateness_us=lateness), []
    for batch in in_batches(rng, to_table(out_of_order(rng, events, lateness))):
        parts.append(engine.push(batch))
        if rng.random() < 0.3:
            engine = Engine.restore(plan, Snapshot.from_bytes(engine.snapshot().to_bytes()))
    parts.append(engine.flush())
    found = 0
    for query in workload.bind(schema).detections:
        about = f"seed {seed}\n{text}\n{events}"
        expected = oracle.matches(query, events)
        assert_same_matches(matches_of(whole[query.name], query), expected, about)
        pieces = [match for part in parts for match in matches_of(part[query.name], query)]
        assert_same_matches(pieces, expected, f"in batches {about}")
        found += len(expected)
    return found


@pytest.mark.parametrize("start", range(SEED, SEED + WORKLOADS, CHUNK))
def test_rules_find_what_the_oracle_finds(start: int) -> None:
    found = []
    for seed in range(start, min(start + CHUNK, SEED + WORKLOADS)):
        found.append(check(seed) > 0)
    assert sum(found) >= len(found) // 4
