"""RUMOR's streams (sec. 5): S and T in turn with attributes of whole numbers, and performance counters of processes.

S comes at even, T at odd seconds; with `types` there are so many streams S1, S2, .. whose events of one time are equal
but for their type, which is what a channel would have held as one. Counters: every process has one reading a second,
a walk between 0 and 100.
"""

import itertools
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa

from stretto.data.casts import TIME
from stretto.generate.arrivals import BLOCK, I64, START_US, coded

ATTRIBUTES: Final = 10
PROCESSES: Final = 104
SECOND: Final = 1_000_000


def alternating_blocks(seed: int, streams: int | None, values: int) -> Iterator[pa.RecordBatch]:
    """S and T in turn, or S1 to Sn and T; attributes a0 to a9 are below `values`."""
    names = ["S"] if streams is None else [f"S{number}" for number in range(1, streams + 1)]
    rounds = max(BLOCK // (len(names) + 1), 1)
    codes = np.tile(np.arange(len(names) + 1), rounds)
    # The events of a round: one content for all streams, another one for T.
    content = 2 * np.repeat(np.arange(rounds), len(names) + 1) + (codes == len(names))
    for block in itertools.count():
        random = np.random.default_rng([seed, block])
        drawn = random.integers(0, values, (ATTRIBUTES, 2 * rounds))
        ts = START_US + (2 * rounds * block + content) * SECOND
        columns: dict[str, Any] = {"ts": pa.array(ts).cast(TIME), "type": coded(codes, [*names, "T"])}
        columns |= {f"a{number}": pa.array(column[content]) for number, column in enumerate(drawn)}
        yield pa.RecordBatch.from_pydict(columns)


def counter_blocks(seed: int, processes: int | None) -> Iterator[pa.RecordBatch]:
    """One reading of every process each second, one process after the other."""
    count = processes or PROCESSES
    seconds = max(BLOCK // count, 1)
    start = np.random.default_rng([seed, 1 << 32])
    at = start.uniform(0.0, 200.0, count)
    pids = 1_000 + 4 * np.sort(start.permutation(8 * count)[:count])
    offsets = np.arange(count, dtype=np.int64) * SECOND // count
    for block in itertools.count():
        random = np.random.default_rng([seed, block])
        walk = at + np.cumsum(random.normal(0.0, 1.5, (seconds, count)), axis=0)
        at = walk[-1]
        # A walk that is reflected at 0 and at 100.
        load = 100.0 - np.abs(walk % 200.0 - 100.0)
        ts: I64 = START_US + (seconds * block + np.arange(seconds))[:, None] * SECOND + offsets
        yield pa.RecordBatch.from_pydict(
            {
                "ts": pa.array(ts.ravel()).cast(TIME),
                "type": coded(np.zeros(seconds * count, np.int64), ["cpu"]),
                "pid": pa.array(np.tile(pids, seconds)),
                "load": pa.array(np.round(load, 2).ravel()),
            }
        )
