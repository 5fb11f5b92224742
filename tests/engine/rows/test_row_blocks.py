"""Blocks of rows with times in 32 bits, and memory that serves again."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.engine.kernels import when_to_compile
from stretto.engine.rows import row_blocks
from stretto.engine.run import Engine
from stretto.pattern.nodes import Window
from stretto.pattern.workload import Workload
from stretto.plan.optimize import optimize
from stretto.schema import Schema

HOUR_US = 3_600_000_000


@given(
    st.lists(st.integers(0, HOUR_US), min_size=1, max_size=40),
    st.integers(1, HOUR_US // 2),
    st.sampled_from([1, 1 << 40]),
)
def test_stretches_are_all_rows_and_their_times_fit(gaps, size, candidates):
    last = np.cumsum(np.array(gaps, np.int64)) - HOUR_US
    found = list(row_blocks.stretches(last, last - size, Window(size, "us"), candidates))
    assert [begin for begin, _, _ in found] == [0, *(end for _, end, _ in found[:-1])]
    assert found[-1][1] == len(last)
    for begin, end, since in found:
        assert begin < end
        if since is not None:
            assert since <= last[begin] - size
            assert last[end - 1] - since < 1 << 32
    assert candidates == 1 or all(since is not None for _, _, since in found)


@pytest.mark.parametrize("gap_us", [1, 100_000, 1_000_000, HOUR_US])
def test_matches_have_the_times_of_their_events(gap_us, monkeypatch):
    monkeypatch.setattr(when_to_compile, "always", True)
    rng = np.random.default_rng(gap_us)
    ts = np.cumsum(rng.integers(0, 2 * gap_us, 40_000)) - 7 * gap_us
    types = pa.array(np.array(["A", "B", "C"])[rng.integers(0, 3, len(ts))])
    events = pa.table({"ts": pa.array(ts).cast(pa.timestamp("us")), "type": types})
    for pattern in ("SEQ(A a, B b, C c)", "AND(A a, B b, C c)"):
        text = f"QUERY q PATTERN {pattern} WITHIN {5 * gap_us} MICROSECONDS;"
        engine = Engine(optimize(Workload.parse(text), Schema.of(events.schema, ("A", "B", "C"))))
        parts = [engine.push(batch) for batch in events.to_batches(max_chunksize=15_000)]
        matches = sum([*parts[1:], engine.flush()], parts[0])
        found = matches["q"]
        times = ts[np.array([found[name].to_numpy() for name in "abc"])]
        assert found.num_rows > 10_000
        for name, expected in (("start", times.min(axis=0)), ("end", times.max(axis=0))):
            np.testing.assert_array_equal(found[name].cast(pa.int64()).to_numpy(), expected)
        half = int(np.median(times.min(axis=0)))
        assert len(matches.started(half, 1 << 62)) == (times.min(axis=0) >= half).sum()


def test_new_blocks_are_never_the_memory_of_a_column_that_is_held():
    _, out = row_blocks.blocks_for(2, 10_000, 10_000, 0)
    column = out[1]
    del out
    blocks = [row_blocks.blocks_for(2, 10_000, 10_000, 0)[1] for _ in range(3)]
    assert not any(np.shares_memory(column, block) for block in blocks)
