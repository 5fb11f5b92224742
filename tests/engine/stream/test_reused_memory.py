"""A caller may write to its NumPy arrays again as soon as a batch made of them was pushed, though Arrow shares them."""

import numpy as np
import pyarrow as pa
import pytest

from stretto.engine.run import Engine
from stretto.pattern.workload import Workload
from stretto.plan.optimize import optimize
from stretto.stats.profile import Stats

COUNT = 8_000
QUERY = "QUERY q PATTERN SEQ(A a, B b) WHERE a.x < b.x AND a.k = b.k WITHIN 20 ms;"


def batches(*, again: bool):
    """Four batches; `again`: all in the same arrays, which hold nothing but rubbish between two."""
    random = np.random.default_rng(1)
    ts, x, k = np.zeros(COUNT, "datetime64[us]"), np.zeros(COUNT), np.zeros(COUNT, np.int64)
    for number in range(4):
        if not again:
            ts, x, k = ts.copy(), x.copy(), k.copy()
        ts[:] = ((np.arange(COUNT) + number * COUNT) * 1000).astype("datetime64[us]")
        x[:], k[:] = random.random(COUNT), random.integers(0, 5, COUNT)
        types = pa.array(random.choice(["A", "B"], COUNT))
        yield pa.RecordBatch.from_pydict({"ts": ts, "type": types, "x": x, "k": k})
        if again:
            x[:], k[:] = -1.0, 77


@pytest.mark.parametrize("lateness_us", [0, 5_000, 5_000_000])
def test_arrays_that_are_written_to_again(lateness_us: int) -> None:
    plan = optimize(Workload.parse(QUERY), Stats.of(pa.Table.from_batches([next(batches(again=False))])))
    found = []
    for again in (False, True):
        engine = Engine(plan, lateness_us=lateness_us)
        matches = [engine.push(batch) for batch in batches(again=again)]
        found.append(sorted(map(str, [row for part in [*matches, engine.flush()] for row in part])))
    assert len(found[0]) > 1_000
    assert found[0] == found[1]
