"""Texts as long as somebody wants them to be: results come in blocks whose texts are bounded."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto import Schema, Workload, optimize, run
from stretto.data import sinks
from stretto.data.sinks import open_sink
from stretto.values import strings as strings_module
from stretto.values.strings import Strings, stretches

LONG = "x" * 100
BOUND = 6 * 250


@pytest.fixture
def bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of two and a half long texts."""
    monkeypatch.setattr(strings_module, "BLOCK_BYTES", BOUND)


def events(n: int) -> pa.Table:
    texts = [LONG, *[None if i % 7 == 3 else f"b{i % 5}" for i in range(n)]]
    return pa.table({"ts": pa.array(range(n + 1), pa.timestamp("us")), "type": ["A", *["B"] * n], "s": texts})


def found(text: str, table: pa.Table):
    return run(optimize(Workload.parse(text), Schema.of(table.schema, {"A", "B"}), "none"), table)


MATCHES = "QUERY q PATTERN SEQ(A a, B b) WITHIN 1 s RETURN a.s AS one, b.s AS other, b.ts AS t;"


def test_matches(bounded: None) -> None:
    matches = found(MATCHES, events(20))
    batches = list(matches.batches())
    assert [batch.num_rows for batch in batches] == [2] * 10
    table = matches["q"]
    assert table["one"].to_pylist() == [LONG] * 20
    assert table["other"].to_pylist()[2:5] == ["b2", None, "b4"]
    assert max(len(chunk) for chunk in table["one"].chunks) == 2


def test_totals(bounded: None) -> None:
    table = pa.table({"ts": pa.array([0, 1], pa.timestamp("us")), "type": ["A", "A"], "s": [LONG, "short"]})
    text = "QUERY q PATTERN A a+ GROUP BY s WITHIN 10 us SLIDE 1 us RETURN COUNT(*);"
    totals = found(text, table)
    rows = totals.totals()
    assert rows.num_rows == 20
    assert max(batch.num_rows for batch in totals.total_batches()) < 20
    assert sorted(set(rows["group"].to_pylist())) == ['{"s": "short"}', f'{{"s": "{LONG}"}}']
    assert len({(row["window_start"], row["group"]) for row in rows.to_pylist()}) == 20


def test_lines(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setattr(sinks, "STEP_BYTES", 300)
    batch = pa.record_batch({"s": [LONG, "a", LONG, None, LONG]})
    steps = []
    written = sinks.json_lines
    monkeypatch.setattr(
        sinks, "json_lines", lambda piece, raw: steps.append(len(piece)) or written(piece, raw)
    )
    with open_sink(tmp_path / "m.jsonl") as sink:
        sink.write(batch)
    assert steps == [4, 1]
    assert len((tmp_path / "m.jsonl").read_text().splitlines()) == 5


@given(st.lists(st.none() | st.integers(0, 40), max_size=60), st.integers(1, 20), st.integers(1, 100))
def test_stretches_follow_each_other_and_are_small(sizes: list[int | None], most: int, bound: int) -> None:
    strings = Strings()
    vector = strings.encode(pa.array([None if n is None else "x" * n for n in sizes], pa.string()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strings_module, "BLOCK_BYTES", 6 * bound)
        parts = list(stretches([vector, vector], strings, len(sizes), most))
    assert [i for at in parts for i in range(len(sizes))[at]] == list(range(len(sizes)))
    for at in parts:
        own = [2 * (n or 0) for n in sizes[at]]
        assert 1 <= len(own) <= most
        assert len(own) == 1 or sum(own) <= bound
