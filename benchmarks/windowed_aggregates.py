"""Windowed aggregates against DuckDB's window functions, both on one thread, by CPU time.

    python benchmarks/windowed_aggregates.py [EVENTS] [FUNCTION ..]

Answers are compared before anything is timed. DuckDB has the whole table; ours takes it in steps of 65,536 events.
"""

import sys
from dataclasses import dataclass
from time import process_time

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stretto.engine.derived.levels import Function, InputAggregate, Level
from stretto.engine.derived.window_aggregates import WindowAggregates
from stretto.schema import Kind
from stretto.values.vector import Vector

STEP = 65_536
SEED = 1
SECOND = 1_000_000
CLOSE = 1e-9  # of DuckDB's sums, which are not exact
REPEAT = 3


@dataclass(frozen=True, slots=True)
class Setting:
    """An event a millisecond; `share` of them have key 0, the others one of the keys; seconds of a window."""

    name: str
    keys: int
    window_s: int
    share: float = 0.0


def settings(events: int) -> tuple[Setting, ...]:
    return (
        Setting("1,000 keys, 60 events of a key", 1_000, 60),
        Setting("1,000 keys, 100 events of a key", 1_000, 100),
        Setting("one key has 90%", 1_000, 60, 0.9),
        Setting("one key, 100,000 events", 1, 100),
        Setting("all keys are different", events, 60),
    )


def events_of(setting: Setting, count: int) -> pa.Table:
    random = np.random.default_rng(SEED)
    keys = random.permutation(count) if setting.keys >= count else random.integers(0, setting.keys, count)
    keys = np.where(random.random(count) < setting.share, 0, keys)
    times = np.arange(count, dtype=np.int64) * 1_000
    return pa.table({"ts": times, "k": keys.astype(np.int64), "x": random.normal(50, 20, count)})


def ours(events: pa.Table, window_us: int, function: Function) -> npt.NDArray[np.float64]:
    ts, k, x = (events.column(name).to_numpy() for name in ("ts", "k", "x"))
    level = Level((0,), window_us, (InputAggregate(function, 0),))
    operator = WindowAggregates([Kind.INT], [Kind.FLOAT], [level])
    found = []
    for at in range(0, len(ts), STEP):
        part = slice(at, at + STEP)
        (rows,) = operator.step(ts[part], [Vector(k[part])], [Vector(x[part])])
        values = rows.values[0]
        found.append(np.where(values.nulls, np.nan, values.data))
    return np.concatenate(found)


def theirs(connection: duckdb.DuckDBPyConnection, window_us: int, function: Function) -> pa.Table:
    frame = f"PARTITION BY k ORDER BY ts RANGE BETWEEN {window_us - 1} PRECEDING AND CURRENT ROW"
    return connection.sql(f"SELECT ts, {function}(x) OVER ({frame}) AS y FROM events").to_arrow_table()


def measured(setting: Setting, count: int, function: Function) -> tuple[float, float]:
    """CPU seconds of ours and of DuckDB, whose answers were compared."""
    table = events_of(setting, count)
    connection = duckdb.connect()
    connection.execute("SET threads=1")
    connection.register("given", table)
    connection.execute("CREATE TABLE events AS SELECT * FROM given")
    window_us = setting.window_s * SECOND
    expected = theirs(connection, window_us, function).sort_by("ts").column("y").to_numpy()
    np.testing.assert_allclose(
        ours(table, window_us, function), expected.astype(float), rtol=CLOSE, atol=CLOSE
    )
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(REPEAT):
        started = process_time()
        ours(table, window_us, function)
        seconds[0].append(process_time() - started)
        started = process_time()
        theirs(connection, window_us, function)
        seconds[1].append(process_time() - started)
    return min(seconds[0]), min(seconds[1])


def compare(setting: Setting, count: int, function: Function) -> str:
    """A line of the table: CPU seconds of both, and theirs by ours."""
    mine, other = measured(setting, count, function)
    return f"{setting.name:34}{function:8}{mine:8.2f}{other:8.2f}{other / mine:8.1f}"


def main(count: int = 2_000_000, *functions: str) -> None:
    print(f"{count:,} events, seed {SEED}; CPU seconds, best of {REPEAT}")
    print(f"{'':42}{'ours':>8}{'DuckDB':>8}{'ratio':>8}")
    for name in functions or (Function.AVG,):
        for setting in settings(count):
            print(compare(setting, count, Function(name)), flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]), *sys.argv[2:])
