"""What an engine has given out stays as it is, whatever comes later."""

import numpy as np
import pyarrow as pa
import pytest

import stretto
from stretto.engine.run import Engine

PAIR = "QUERY pair PATTERN SEQ(tick a, tick b) WHERE b.x = a.x + 1 WITHIN 60 us;"


def ticks(n: int, types: tuple[str, ...] = ("tick",)) -> pa.Table:
    """An event every 10 microseconds, so that an id tells the time."""
    return pa.table(
        {
            "ts": pa.array(np.arange(n) * 10, pa.timestamp("us")),
            "type": [types[i % len(types)] for i in range(n)],
            "x": np.arange(n),
        }
    )


def engine_for(text: str, events: pa.Table, **options) -> Engine:
    return Engine(stretto.optimize(stretto.Workload.parse(text), stretto.Stats.of(events)), **options)


def check_times(table: pa.Table) -> None:
    """The times of matches of `a` and maybe `b` are those of their events."""
    bound = [table[name].to_numpy(zero_copy_only=False) for name in ("a", "b") if name in table.column_names]
    ids = np.fmax.reduce(bound)  # an unbound variable is NaN
    for name, expected in (("start", bound[0]), ("end", ids), ("detected", ids)):
        np.testing.assert_array_equal(table[name].cast(pa.int64()).to_numpy(), expected * 10, name)


@pytest.mark.parametrize(
    "text",
    [
        f"QUERY q PATTERN tick a WITHIN 60 us; {PAIR}",
        "QUERY q PATTERN SEQ(tick a, tick b?) WITHIN 10 us;",
        "QUERY q PATTERN OR(tick a, SEQ(tick a, tick b)) WITHIN 10 us;",
    ],
)
def test_one_type_in_many_steps(text):
    events = ticks(20_000)
    engine = engine_for(text, events, step=1_000)
    found = engine.push(events)
    early = found["q"].slice(0, 5_000)
    found.extend(engine.flush())
    check_times(found["q"])
    check_times(early)


def test_one_event_at_a_time():
    events = ticks(5_000, ("tick", "tock"))
    engine = engine_for(
        "QUERY q PATTERN tick a WITHIN 60 us; QUERY r PATTERN SEQ(tick a, tock b) WITHIN 60 us;", events
    )
    found, tables = engine.nothing(), []
    for i in range(len(events)):
        new = engine.push(events.slice(i, 1))
        tables.append(new["q"])
        found.extend(new)
    found.extend(engine.flush())
    assert found.counts()["q"] == 2_500
    check_times(found["q"])
    check_times(pa.concat_tables(tables))
    check_times(found["r"])
