"""One pass over events: counts, span, and complete stretches as the sample."""

import numpy as np
import pyarrow as pa
from tests.stats.worlds import poisson

from stretto.pattern.nodes import Window
from stretto.schema import Schema
from stretto.stats.sampling import LOOSE, NUMBER, Stretches, stretches_for


def fed(table: pa.Table, size: int, batch: int = 1000, seed: int = 0) -> Stretches:
    stretches = Stretches(Schema.of(table.schema), table.num_rows, size, seed)
    for one in table.to_batches(batch):
        stretches.add(one)
    return stretches


def test_batches_do_not_matter() -> None:
    table = poisson(5000, seed=1)
    one, other = fed(table, 800), fed(table, 800, batch=77)
    assert one.rates() == other.rates()
    assert one.seconds == other.seconds
    np.testing.assert_array_equal(one.sample().ts, other.sample().ts)


def test_stretches_are_complete_and_spread_over_the_stream() -> None:
    table = poisson(50_000, seed=2)
    sample = fed(table, 8000).sample()
    assert sample.inside == 8000
    ts = table["ts"].to_numpy()
    starts = np.searchsorted(ts, sample.ts[: sample.inside : 1000])
    for i, start in enumerate(starts):
        np.testing.assert_array_equal(sample.ts[i * 1000 : (i + 1) * 1000], ts[start : start + 1000])
        assert i * 50_000 / NUMBER <= start < (i + 1) * 50_000 / NUMBER


def test_rare_types_get_events_of_their_own() -> None:
    table = poisson(60_000, seed=3)
    names = np.array(table["type"].to_pylist(), object)
    names[::100] = "rare"
    table = table.set_column(1, "type", pa.array(names.tolist(), pa.string()))
    stretches = fed(table, 1000)
    sample = stretches.sample()
    assert stretches.events == 60_000
    assert len(sample._by_type["rare"]) >= LOOSE
    assert sample.inside == 1000


def test_disorder_and_nulls() -> None:
    table = pa.table({"ts": [3, 1, None, 2, 5], "type": ["A", "B", "A", None, "A"], "x": [1.0, 2, 3, 4, 5]})
    sample = fed(table, 100).sample()
    assert sample.ts.tolist() == [1, 3, 5]
    assert sample.values("x", np.arange(3)).data.tolist() == [2.0, 1.0, 5.0]


def test_no_events() -> None:
    table = poisson(10).slice(0, 0)
    stretches = fed(table, 10)
    assert (stretches.sample(), stretches.seconds, stretches.rates()) == (None, 0.0, {})


def test_long_windows_have_fewer_and_longer_stretches() -> None:
    def usual_us(events: int) -> float:
        return 10.0 * events

    found = [stretches_for([Window(size, "us")], usual_us, 8000) for size in (2_500, 2_501, 10_001, 1 << 40)]
    assert found == [8, 4, 1, 1]
    assert stretches_for([Window(1_001, "events")], usual_us, 8000) == 1
