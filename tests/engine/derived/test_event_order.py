"""The one order of events, merged or sorted: by time, then by id, then by the name of the stream."""

import numpy as np
import pytest

from stretto.engine.derived.event_order import MOST_MERGED, RankedEvents, in_total_order
from stretto.engine.kernels import when_to_compile
from stretto.engine.stream.arena import Block
from stretto.values.strings import Strings
from stretto.values.vector import Vector


def part(rng: np.random.Generator, size: int, rank: int, number: int, *, is_sorted: bool) -> RankedEvents:
    """Events in order of time; of one time in order of their ids, or in any order."""
    ts, ids = np.sort(rng.integers(0, 20, size)), rng.integers(0, 6, size)
    order = np.lexsort((ids, ts)) if is_sorted else np.arange(size)
    own = {"n": Vector(np.arange(size) + 1000 * number)}
    block = Block(ts, np.full(size, rank, np.int32), ids[order], own)
    return RankedEvents(block, block, np.full(size, rank))


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("is_sorted", [True, False])
def test_parts_come_in_one_order(monkeypatch: pytest.MonkeyPatch, compiled: bool, is_sorted: bool) -> None:
    monkeypatch.setattr(when_to_compile, "always", compiled)
    rng = np.random.default_rng(3)
    for trial in range(60):
        sizes = rng.integers(0, 25, rng.integers(1, MOST_MERGED + 2))
        ranks = rng.permutation(len(sizes)).tolist()
        parts = [
            part(rng, size, rank, number, is_sorted=is_sorted or trial % 2 == number % 2)
            for number, (size, rank) in enumerate(zip(sizes.tolist(), ranks, strict=True))
        ]
        found = in_total_order(parts, Strings(), text_ids=False)
        rows = [
            (ts, event, rank, n)
            for one in parts
            for ts, event, rank, n in zip(
                one.events.ts.tolist(),
                np.asarray(one.events.ids).tolist(),
                one.ranks.tolist(),
                one.events.attributes["n"].data.tolist(),
                strict=True,
            )
        ]
        if sum(size > 0 for size in sizes) > 1:  # one part alone stays as it is
            rows.sort(key=lambda row: row[:3])
        columns = found.ts, np.asarray(found.ids), found.types, found.attributes["n"].data
        assert list(zip(*(column.tolist() for column in columns), strict=True)) == rows
