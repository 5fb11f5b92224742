"""MCEP's stream of stocks (sec. 6.1): every symbol is a type; a price, and its difference to the symbol's price before.

Most trades of a symbol leave its price where it was; how often it rises and how often it falls differs from symbol to
symbol, so that comparing two symbols' differences holds for 0.3% to over 90% of the pairs, as the paper measured. Rises
are small where they are frequent, so that no price runs away. Trading comes in bursts.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from stretto.generate.arrivals import BLOCK, F64, I64, Grouped, Sources, blocks, coded, sources
from stretto.records import dataclass

SYMBOLS = 300
RUN = 1 << 10
"""Events between two changes of the market's pace."""
PACES = np.array([0.55, 0.65, 0.75, 0.85, 0.95, 1.1, 1.35, 1.8])
"""Gaps between events relative to their mean, each in force for as many runs as any other."""
RAREST, MOST = 0.0015, 0.75
"""Shares of a symbol's trades that move its price in one direction."""
FLOOR = 100  # cents; a price turns back there


def symbols(count: int | None = None) -> Sources:
    """The symbols of the market with their rates."""
    return sources("S", SYMBOLS if count is None else count)


def chances(count: int | None = None) -> F64:
    """About how probable it is that the difference of one symbol (row) is less than that of another (column)."""
    moves = _Moves.of(SYMBOLS if count is None else count)
    falls, rises = moves.falls, moves.rises
    still = 1.0 - falls - rises
    same_way = np.outer(falls, falls) + np.outer(rises, rises)
    less: F64 = np.outer(falls, 1.0 - falls) + np.outer(still, rises) + 0.5 * same_way
    return less


def market_blocks(seed: int, rate: float | None, count: int | None) -> Iterator[pa.RecordBatch]:
    """Trades in order of time, without end: `price` and `diff` in a currency, exact to the cent."""
    listed = symbols(count)
    names = list(listed.names)
    moves = _Moves.of(len(names))
    start = np.random.default_rng([seed, 1 << 32])
    at = start.integers(2_000, 50_000, len(names))
    last = at / 100.0

    def columns(random: np.random.Generator, _: I64) -> dict[str, Any]:
        codes = random.choice(len(names), BLOCK, p=listed.shares)
        grouped = Grouped.by(codes)
        walked = grouped.walk(moves.steps(random, codes), at)
        price = (FLOOR + np.abs(walked - FLOOR)) / 100.0
        return {
            "type": coded(codes, names),
            "price": pa.array(price),
            "diff": pa.array(np.round(price - grouped.previous(price, last), 2) + 0.0),
        }

    return blocks(seed, rate or listed.total, columns, _bursts)


def _bursts(random: np.random.Generator, ts: I64) -> I64:
    """The same events at a changing pace; over eight runs the mean pace is the given one."""
    gaps = np.diff(ts, prepend=0)
    paces = np.concatenate([random.permutation(PACES) for _ in range(BLOCK // RUN // len(PACES))])
    slowed: I64 = np.cumsum(gaps * np.repeat(paces / PACES.mean(), RUN)).astype(np.int64)
    return slowed


@dataclass(frozen=True, slots=True)
class _Moves:
    """Per symbol the shares of falls and rises among its trades, and their mean sizes in cents."""

    falls: F64
    rises: F64
    fall: F64
    rise: F64

    @classmethod
    def of(cls, count: int) -> "_Moves":
        random = np.random.default_rng([7, count])
        falls, rises = RAREST * (MOST / RAREST) ** random.random((2, count))
        both = np.maximum(falls + rises, 1.0)
        falls, rises = falls / both, rises / both
        even = np.minimum(falls, rises)
        return cls(falls, rises, 1.5 * rises / even, 1.5 * falls / even)

    def steps(self, random: np.random.Generator, codes: I64) -> I64:
        """A move in cents for every trade; 0 for most."""
        luck = random.random(len(codes))
        down, up = luck < self.falls[codes], luck > 1.0 - self.rises[codes]
        means = np.where(down, self.fall[codes], self.rise[codes])
        sizes = random.geometric(1.0 / means)
        steps: I64 = np.where(down, -sizes, np.where(up, sizes, 0))
        return steps
