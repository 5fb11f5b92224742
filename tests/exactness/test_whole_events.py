"""RETURN * and a.*: whole events come with the matches, as the oracle has them, in every runner and every form.

STRETTO_EVENTS says how many random workloads are tried, STRETTO_SEED from which seed on.
"""

import json
import os
import re
from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest
from tests.exactness import test_derived_streams, test_random_families
from tests.exactness.test_engine import check, whole_with_ids
from tests.support.runners import RUNNERS
from tests.support.strategies import Sample, random_workload, with_ties
from tests.support.stream_strategies import random_streams

import stretto
from stretto.data.json_write import json_lines
from stretto.data.typed import typed_matches

WORKLOADS = int(os.environ.get("STRETTO_EVENTS", "40"))
SEED = int(os.environ.get("STRETTO_SEED", "7200000"))
CHUNK = 20


def returning_events(rng: Random, text: str) -> str:
    """The same queries with whole events in their RETURN; some with KEEP."""
    statements = []
    for statement in re.split(r"(?<=;)\n", text):
        if statement.startswith("QUERY"):
            found = re.sub(r"\s*RETURN [^;]*?(?=;|\n|WITHIN|WHERE|SELECT)", " ", statement)
            keep = rng.choice(("", "", "", " KEEP APART", " LIMIT 3 PER 5 us"))
            statement = f"{found[:-1]} RETURN *{keep};"  # noqa: PLW2901 - the same one, with more
        statements.append(statement)
    return "\n".join(statements)


@pytest.mark.parametrize("start", range(SEED, SEED + WORKLOADS, CHUNK))
def test_events_are_what_the_oracle_says(start: int) -> None:
    found = []
    for seed in range(start, min(start + CHUNK, SEED + WORKLOADS)):
        rng = Random(seed)
        sample: Sample = random_workload(rng)
        runners = RUNNERS
        if seed % 4 == 1:
            sample, runners = with_ties(rng, sample), (whole_with_ids, *RUNNERS[1:])
        found.append(check(replace(sample, text=returning_events(rng, sample.text)), seed, runners))
    assert sum(count > 0 for count in found) >= CHUNK // 3


def test_over_derived_streams_and_in_families(monkeypatch: pytest.MonkeyPatch) -> None:
    family = test_random_families.random_family

    def streams(rng: Random):
        sample = random_streams(rng)
        lines = [line if "RETURN" in line else line[:-1] + " RETURN *;" for line in sample.text.split("\n")]
        text = "\n".join(
            line if old.startswith("QUERY") else old
            for line, old in zip(lines, sample.text.split("\n"), strict=True)
        )
        return replace(sample, text=text)

    monkeypatch.setattr(test_derived_streams, "random_streams", streams)
    monkeypatch.setattr(
        test_random_families,
        "random_family",
        lambda rng: re.sub(
            r"(RETURN .*)?;", lambda one: f"{one[1]}, a.*;" if one[1] else "RETURN *;", family(rng)
        ),
    )
    counts = [test_derived_streams.check(seed) for seed in range(SEED, SEED + WORKLOADS // 4)]
    counts += [test_random_families.check(seed)[0] for seed in range(SEED, SEED + WORKLOADS // 4)]
    assert sum(count > 0 for count in counts) >= len(counts) // 6


EVENTS = pa.table(
    {
        "ts": pa.array([1, 2, 3, 4, 5], pa.timestamp("s")),
        "type": ["A", "B", "B", "A", "C"],
        "x": [1.5, 0.25, None, 2.0, 3.0],
        "s": ["a", "b'\"\\", None, "ü", "z"],
        "took": pa.array([1, None, 3, 4, 5], pa.duration("us")),
        "args": [["a", "\x1f"], None, [], ["x", None], ["r"]],
        "p": [{"name": "u", "q": {"z": 1}}] * 5,
    }
)


def test_tables_files_and_json_say_the_same() -> None:
    text = "QUERY q PATTERN SEQ(A a, B b*, C c) WITHIN 1 MINUTE RETURN a.* AS first, *, c.ts - a.ts AS took;"
    workload = stretto.Workload.parse(text)
    assert stretto.Workload.from_json(workload.to_json()).to_text() == workload.to_text()
    found = stretto.run(workload, EVENTS)
    table = found["q"]
    assert table.schema.field("took").type == pa.duration("us")
    assert table.schema.field("b.*").type.value_type == table.schema.field("a.*").type
    (batch,) = found.to_arrow().combine_chunks().to_batches()
    read = typed_matches(batch, found._outputs["q"])
    by_ids = sorted(table.to_pylist(), key=lambda row: (row["a"], row["b"] or []))
    assert sorted(read.to_pylist(), key=lambda row: (row["a"], row["b"] or [])) == by_ids
    assert by_ids[0]["first"] == by_ids[0]["a.*"]
    assert by_ids[0]["first"]["args"] == ["a", "\x1f"]
    assert by_ids[0]["first"]["p.q.z"] == 1
    bare = next(row for row in by_ids if row["b"] is None)
    assert bare["b.*"] is None
    lines = [json.loads(line) for line in json_lines(table.combine_chunks().to_batches()[0]).to_pylist()]
    returned = [json.loads(row) for row in batch.column("returned").to_pylist()]
    for line, row in zip(lines, returned, strict=True):
        assert {name: line[name] for name in row} == row
    assert returned[0]["took"] == 4_000_000


def test_a_query_built_in_python() -> None:
    a, b = stretto.E("A", "a"), stretto.E("B", "b")
    query = stretto.query("q", stretto.SEQ(a, b)).within("1 minute").returning("a.*", "b.x")
    assert stretto.run(stretto.Workload.parse("").add(query), EVENTS)["q"].to_pylist()[0]["a.*"]["s"] == "a"
