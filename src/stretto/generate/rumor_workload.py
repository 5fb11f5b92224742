"""RUMOR's workloads (sec. 5.2, 5.3): queries that differ in constants and windows drawn by Zipf's law.

Smaller constants and longer windows are the likelier ones, so that many queries of a large workload are equal.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stretto.errors import StrettoError
from stretto.generate.workload_text import Written, need_shares
from stretto.records import dataclass
from stretto.text.parser import option_us

I64 = npt.NDArray[np.int64]
SECOND: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RumorOptions:
    """`constants`: constants are below it. `window`: the longest one; all are whole seconds. `zipf`: the exponent.

    `distinct` (rumor-1) draws all constants evenly instead. `table` (rumor-1): the queries are the rows of this file.
    `iterate` (rumor-2): the iteration mu in place of `;`. `capacity` (rumor-3): how many streams S1, S2, .. there are;
    `separate` ones are types of their own, others selections of S that all of its events pass. `sel` (rumor-hybrid):
    the share of smoothed readings at which a query starts; each start has a match at every step of the rise after it.
    """

    constants: int = 1_000
    window: str | None = None
    zipf: float = 1.5
    distinct: bool = False
    table: str | None = None
    iterate: bool = False
    capacity: int = 10
    separate: bool = False
    sel: float = 0.01

    def __post_init__(self) -> None:
        for name in ("constants", "capacity"):
            if getattr(self, name) < 1:
                raise StrettoError(f"{name} must be at least 1, not {getattr(self, name)}")
        if not 0.0 <= self.zipf < float("inf"):
            raise StrettoError(f"zipf must not be negative: {self.zipf}")
        need_shares(sel=self.sel)

    def longest(self, otherwise: int) -> int:
        """The longest window in seconds."""
        if self.window is None:
            return otherwise
        seconds, rest = divmod(option_us(self.window, "window", positive=True), SECOND)
        if rest:
            raise StrettoError(f"window: `{self.window}` is not a whole number of seconds")
        return seconds


@dataclass(frozen=True, slots=True)
class DrawnQueries:
    """The constants of queries, and their windows in seconds."""

    first: I64
    third: I64
    seconds: I64

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        return zip(self.first.tolist(), self.third.tolist(), self.seconds.tolist(), strict=True)


def drawn_queries(queries: int, seed: int, options: RumorOptions) -> DrawnQueries:
    """As Table 3 has them; a longer workload begins with a shorter one."""
    randoms = [np.random.default_rng([seed, column]) for column in range(3)]
    exponent = 0.0 if options.distinct else options.zipf
    first, third = (_ranks(random, queries, options.constants, exponent) for random in randoms[:2])
    longest = options.longest(1_000)
    return DrawnQueries(first, third, longest - _ranks(randoms[2], queries, longest, options.zipf))


def _ranks(random: np.random.Generator, count: int, size: int, exponent: float) -> I64:
    """Numbers from 0 up to `size`, by Zipf's law."""
    shares = np.cumsum(np.arange(1, size + 1, dtype=np.float64) ** -exponent)
    found: I64 = np.searchsorted(shares, random.random(count) * shares[-1], side="right")
    return np.minimum(found, size - 1)


def constants_table(queries: int, seed: int, options: RumorOptions) -> pa.Table:
    """The queries of rumor-1 as rows of a table."""
    drawn = drawn_queries(queries, seed, options)
    horizon = pa.array(drawn.seconds * SECOND).cast(pa.duration("us"))
    return pa.table(
        {"id": pa.array(np.arange(1, queries + 1)), "c1": drawn.first, "c3": drawn.third, "horizon": horizon}
    )


def selected_sequences(queries: int, seed: int, options: RumorOptions) -> list[Written]:
    """Workload 1: an S with one constant, then the next T with another."""
    return [
        Written(
            "SEQ(S a, T b)", f"{seconds} SECONDS", (f"a.a0 = {c1}", f"b.a0 = {c3}"), more=("SELECT  NEXT",)
        )
        for c1, c3, seconds in drawn_queries(queries, seed, options)
    ]


def table_query(path: str) -> str:
    """The same as one query for each row of a table."""
    return (
        f"CREATE TABLE rules FROM '{path.replace(chr(39), chr(39) * 2)}';\n\n"
        "QUERY rule FOR EACH rules r KEY r.id\nPATTERN SEQ(S a, T b)\n"
        "WHERE   a.a0 = r.c1 AND b.a0 = r.c3\nWITHIN  r.horizon\nSELECT  NEXT;\n"
    )


def equal_sequences(queries: int, seed: int, options: RumorOptions) -> list[Written]:
    """Workload 2: an S, then the next T with its value; or the run of those with rising values."""
    return [_equal("S", seconds, options) for _, _, seconds in drawn_queries(queries, seed, options)]


def channel_sequences(queries: int, seed: int, options: RumorOptions) -> list[Written]:
    """Workload 3: the same over streams that take turns."""
    return [
        _equal(f"S{number % options.capacity + 1}", seconds, options)
        for number, (_, _, seconds) in enumerate(drawn_queries(queries, seed, options))
    ]


def channel_streams(options: RumorOptions) -> tuple[str, ...]:
    """The streams of workload 3 as selections that all of S pass, none of them equal to another."""
    if options.separate:
        return ()
    return tuple(
        f"CREATE EVENT S{number} AS SELECT * FROM S WHERE a1 >= -{number};"  # noqa: S608 - a query of ours
        for number in range(1, options.capacity + 1)
    )


def _equal(stream: str, seconds: int, options: RumorOptions) -> Written:
    window, select = f"{seconds} SECONDS", "SELECT  NEXT"
    if not options.iterate:
        return Written(f"SEQ({stream} a, T b)", window, ("a.a0 = b.a0",), more=(select,))
    rising = "HAVING  FIRST(b).a1 > a.a1 AND b[i].a1 > b[i-1].a1"
    return Written(f"SEQ({stream} a, T b+)", window, ("a.a0 = b.a0",), more=(rising, select))


SMOOTHED: Final = (
    "CREATE STREAM smoothed AS SELECT pid, AVG(load) AS load FROM cpu GROUP BY pid WITHIN 60 SECONDS;"
)


def ramps(queries: int, seed: int, options: RumorOptions) -> list[Written]:
    """The hybrid workload: the smoothed load of a process rises, from readings that start the query to above 10.

    What starts a query is a share of the readings, another one for each query, that no index can tell.
    """
    random = np.random.default_rng([seed, 3])
    pattern, window = "SEQ(smoothed a, smoothed d+)", f"{options.longest(3_600)} SECONDS"
    rising = "HAVING  FIRST(d).load > a.load AND d[i].load > d[i-1].load AND LAST(d).load > 10"
    return [
        Written(
            pattern,
            window,
            ("[pid]", f"(FLOOR(a.load * 1000000) + {shift}) % 1000 < {round(1_000 * options.sel)}"),
            more=(rising, "SELECT  NEXT"),
        )
        for shift in random.integers(0, 1_000, queries).tolist()
    ]
