"""Aggregates of blocks are those of their streams one by one, whatever is kept and however steps are cut."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from stretto.engine.derived import block_sums
from stretto.engine.derived.block_sums import ClassBlocks
from stretto.engine.derived.block_window import BlockWindow
from stretto.engine.derived.channel_aggregates import ChannelAggregates
from stretto.engine.kernels import when_to_compile
from stretto.engine.run import Engine
from stretto.pattern.workload import Workload
from stretto.plan.optimize import optimize
from stretto.schema import Kind, Schema

SCHEMA = Schema({"a": Kind.INT, "b": Kind.INT, "c": Kind.INT}, frozenset({"S"}))
LARGE = 1 << 62


def aggregates(where: Callable[[int], str]) -> Workload:
    texts = [
        f"CREATE STREAM s{i} AS SELECT a, AVG(b) AS v, SUM(b) AS t, COUNT(b) AS m, COUNT(*) AS n "
        f"FROM S WHERE {where(i)} GROUP BY a WITHIN 40 us;"
        f"QUERY q{i} PATTERN s{i} x WHERE x.n > 0 WITHIN 1 us "
        f"RETURN x.v AS v, x.t AS t, x.m AS m, x.n AS n;"
        for i in range(6)
    ]
    return Workload.parse("\n".join(texts))


def events(count: int = 400) -> pa.Table:
    """Later events are of sets of streams that there were not before; sums leave 64 bits, keys and values are null."""
    rng = np.random.default_rng(7)
    b = [None if rng.random() < 0.1 else int(rng.choice([1, -7, 40, LARGE, -LARGE])) for _ in range(count)]
    a = [None if rng.random() < 0.05 else int(rng.integers(0, 4)) for _ in range(count)]
    return pa.table(
        {
            "ts": pa.array(np.arange(count) * 2 // 3, pa.timestamp("us")),
            "type": ["S"] * count,
            "a": pa.array(a, pa.int64()),
            "b": pa.array(b, pa.int64()),
            "c": np.sort(rng.integers(0, 8, count))[::-1] + rng.integers(0, 2, count),
        }
    )


def found(workload: Workload, optimizer: str, size: int) -> list[str]:
    engine = Engine(optimize(workload, SCHEMA, optimizer))
    table, rows = events(), []
    for start in range(0, table.num_rows, size):
        rows += engine.push(table.slice(start, size)).to_arrow().to_pylist()
    rows += engine.flush().to_arrow().to_pylist()
    return sorted(str(row) for row in rows)


NESTED, DISJOINT = "c >= {}", "c = {}"


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("fewest", [0, 1 << 16])
@pytest.mark.parametrize("where", [NESTED, DISJOINT, "c != {}"])
def test_blocks_have_what_their_streams_have(
    monkeypatch: pytest.MonkeyPatch, where: str, fewest: int, compiled: bool
) -> None:
    monkeypatch.setattr(when_to_compile, "always", compiled)
    monkeypatch.setattr(block_sums, "FEWEST_DENSE", fewest)
    workload = aggregates(where.format)
    expected = found(workload, "none", 400)
    assert len(expected) > 200
    for size in (400, 33, 1):
        assert found(workload, "rumor", size) == expected


@pytest.mark.parametrize(("fewest", "stays"), [(0, False), (1 << 16, True)])
def test_sparse_blocks_have_copies_of_events(
    monkeypatch: pytest.MonkeyPatch, fewest: int, stays: bool
) -> None:
    monkeypatch.setattr(block_sums, "FEWEST_DENSE", fewest)
    seen = []
    step = ChannelAggregates.step

    def watched(self, *given):
        made = step(self, *given)
        seen.append(self._once_each is not None)
        return made

    monkeypatch.setattr(ChannelAggregates, "step", watched)
    found(aggregates(DISJOINT.format), "rumor", 100)
    assert seen[-1] == stays


def test_an_event_is_kept_once(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = []
    step = BlockWindow.step

    def watched(self, *given):
        made = step(self, *given)
        kept.append(len(self._events))
        return made

    monkeypatch.setattr(BlockWindow, "step", watched)
    found(aggregates(NESTED.format), "rumor", 400)
    assert 0 < max(kept) <= events().num_rows


def test_pairs_of_classes_and_blocks() -> None:
    known = ClassBlocks.of([np.array(of, np.int64) for of in ([0, 1, 2, 5], [], [3], [5, 6])], 7)
    ends, first, last = known.ranges
    assert ends.tolist() == [0, 2, 2, 3, 4]
    assert list(zip(first.tolist(), last.tolist(), strict=True)) == [(0, 2), (5, 5), (3, 3), (5, 6)]
    classes = np.array([3, 1, 0, 2])
    owners, blocks = known.listed(classes)
    assert owners.tolist() == [0, 0, 2, 2, 2, 2, 3]
    assert blocks.tolist() == [5, 6, 0, 1, 2, 5, 3]
    some = np.array([1, 2, 5, 6])
    picked = known.picked(classes, some)
    assert [one.tolist() for one in picked] == [owners[some].tolist(), blocks[some].tolist()]
