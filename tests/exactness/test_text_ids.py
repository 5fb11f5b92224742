"""Ids that are texts: the engine finds what the oracle finds; events of one time stand in the order of the texts.

STRETTO_TEXT_IDS says how many random workloads are tried, STRETTO_SEED from which seed on.
"""

import os
from dataclasses import replace
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.exactness import test_derived_streams, test_random_families
from tests.support import runners
from tests.support.comparison import assert_same_matches, matches_of
from tests.support.keeps import with_keeps
from tests.support.random_events import to_table
from tests.support.strategies import Sample, random_workload, with_ties

from stretto import oracle
from stretto.engine.run import Engine
from stretto.engine.whole_table import run
from stretto.errors import EventsError, QueryError
from stretto.pattern.workload import Workload
from stretto.plan.optimize import optimize
from stretto.schema import Kind, Schema

WORKLOADS = int(os.environ.get("STRETTO_TEXT_IDS", "40"))
SEED = int(os.environ.get("STRETTO_SEED", "4000"))
WIDTH, SHIFT = 6, 1_000  # ids of samples may be negative
WAYS = [runners.batched, runners.disordered, runners.restored]


def with_texts(events, *, ids: bool = True) -> pa.Table:
    """As `to_table`; ids are texts that order as the integers do, with letters that take several bytes."""
    table = to_table(events, ids=True)
    digits = pc.utf8_lpad(pc.add(table["id"], SHIFT).cast(pa.string()), WIDTH, "0")
    texts = pc.binary_join_element_wise("µ-é-", digits, "")
    return table.set_column(table.column_names.index("id"), "id", texts)


def _integers(texts):
    return pc.subtract(pc.utf8_slice_codeunits(texts, 4).cast(pa.int64()), SHIFT)


def with_integers(table: pa.Table, query) -> list:
    """As `matches_of`, of matches whose ids are such texts."""
    names = {variable.name for variable in query.variables}
    for number, column in enumerate(table.schema):
        if column.type == pa.string() and column.name.split(".")[0] in names:
            numbers = _integers(table.column(number))
            table = table.set_column(number, column.name, numbers)
        elif column.type == pa.list_(pa.string()):
            lists = table.column(number).combine_chunks()
            lists = pa.concat_arrays(lists.chunks) if isinstance(lists, pa.ChunkedArray) else lists
            numbers = _integers(lists.flatten())
            table = table.set_column(
                number, column.name, pa.ListArray.from_arrays(lists.offsets, numbers, mask=lists.is_null())
            )
    return matches_of(table, query)


@pytest.fixture(autouse=True)
def _texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runners, "to_table", with_texts)
    monkeypatch.setattr(runners, "matches_of", with_integers)


def _sample(seed: int) -> Sample:
    rng = Random(seed)
    sample = random_workload(rng)
    return with_ties(rng, sample) if seed % 2 else sample


@pytest.mark.parametrize("seed", range(SEED, SEED + WORKLOADS))
def test_the_engine_finds_what_the_oracle_finds(seed: int) -> None:
    sample = _sample(seed)
    sample = with_keeps(Random(seed), sample)
    schema = replace(sample.schema, attributes={**sample.schema.attributes, "id": Kind.STRING})
    workload = Workload.parse(sample.text)
    try:
        plan = optimize(workload, schema, optimizer="none")
    except QueryError:
        return
    queries = workload.bind(schema).detections
    for way in WAYS:
        found = way(plan, sample, queries, Random(seed + 1))
        for query in queries:
            expected = oracle.matches(query, sample.events)
            assert_same_matches(found[query.name], expected, about=f"seed {seed} {way.__name__}\n{sample}")


@pytest.mark.parametrize("kind", [test_derived_streams, test_random_families])
def test_derived_streams_and_families(kind, monkeypatch: pytest.MonkeyPatch) -> None:
    """Events of joins and pattern streams list ids of raw events, and stand in the order of these."""
    schema = replace(kind.SCHEMA, attributes={**kind.SCHEMA.attributes, "id": Kind.STRING})
    monkeypatch.setattr(kind, "SCHEMA", schema)
    count = WORKLOADS // 2
    found = []
    for seed in range(SEED + 500, SEED + 500 + count):
        one = kind.check(seed)
        found.append(one[0] if isinstance(one, tuple) else one)
    assert sum(number > 0 for number in found) >= count // 6


def _table(ids: list) -> pa.Table:
    return pa.table({"ts": pa.array([1, 2], pa.timestamp("us")), "type": ["A", "B"], "id": ids})


def test_a_match_has_one_id_wherever_it_is_found() -> None:
    workload = Workload.parse("QUERY q PATTERN SEQ(A a, B b) WITHIN 1 SECOND;")
    seen = set()
    for before in ([], ["x", "y"]):  # other texts come first, so that the codes are others
        ids = pa.array([*before, "5d1f4b9a-0a1b", "e"])
        times = pa.array(range(len(ids)), pa.timestamp("us"))
        table = pa.table({"ts": times, "type": [*(["C"] * len(before)), "A", "B"], "id": ids})
        plan = optimize(workload, _schema(Kind.STRING))
        (row,) = run(plan, table).to_arrow().to_pylist()
        assert row["events"] == [("a", ["5d1f4b9a-0a1b"]), ("b", ["e"])]
        seen.add(row["match_id"])
    assert len(seen) == 1


def _schema(kind: Kind) -> Schema:
    return Schema({"id": kind})


def test_ids_of_another_kind_than_planned_for_and_nulls() -> None:
    workload = Workload.parse("QUERY q PATTERN SEQ(A a, B b) WITHIN 1 SECOND;")
    with pytest.raises(EventsError, match="bound to ids that are strings"):
        run(optimize(workload, _schema(Kind.STRING)), _table([1, 2]))
    with pytest.raises(EventsError, match="bound to ids that are integers"):
        run(optimize(workload, _schema(Kind.INT)), _table(["1", "2"]))
    engine = Engine(optimize(workload, _schema(Kind.STRING)))
    engine.push(_table(["a", None]))
    assert [batch.column("reason").to_pylist() for batch in engine.take_rejected()] == [["id is null"]]


def test_ids_that_come_again_are_counted() -> None:
    workload = Workload.parse("QUERY q PATTERN SEQ(A a, B b) WITHIN 1 SECOND;")
    assert run(optimize(workload, _schema(Kind.STRING)), _table(["a", "a"])).repeated_ids == 1
