"""A day at an exchange: twenty symbols in five sectors, busy when it opens and when it closes.

Prices of a sector move together, and large trades come in flurries that run through a sector's symbols, so that there
is something to find.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
import pyarrow as pa

from stretto.data.casts import TIME
from stretto.generate.arrivals import F64, I64, Grouped, coded, shares_of

SECTORS: Final[Mapping[str, tuple[str, str, str, str]]] = {
    "chips": ("NVDA", "INTC", "AMD", "QCOM"),
    "software": ("MSFT", "ORCL", "SAP", "ADBE"),
    "web": ("GOOG", "AMZN", "META", "NFLX"),
    "banks": ("JPM", "BAC", "GS", "MS"),
    "energy": ("XOM", "CVX", "SHEL", "BP"),
}
SYMBOLS: Final = tuple(symbol for symbols in SECTORS.values() for symbol in symbols)
SHARES: Final = shares_of(np.tile([4.0, 3.0, 2.0, 1.5], len(SECTORS)))
"""Of the symbols among all trades: the first of a sector trades the most."""
OPENS_US: Final = 1_726_493_400_000_000  # 2024-09-16 13:30 UTC, when New York opens
OPEN_S: Final = 23_400  # six and a half hours
BLOCK_SHARE: Final = 0.12
"""The share of trades that are large: BLOCK shares and more."""
BLOCK: Final = 5_000
FLURRY_S: Final = 8.0


def day_of_trades(trades: int, seed: int = 0) -> pa.Table:
    """The trades of one day, in order of time, with the symbol as type.

    Attributes: `price`, `change` (to the symbol's trade before, in hundredths of a percent), `volume` and `side`.
    """
    random = np.random.default_rng(seed)
    ts = np.sort(OPENS_US + _moments(random, trades))
    large = random.random(trades) < BLOCK_SHARE
    symbols = random.choice(len(SYMBOLS), trades, p=SHARES)
    symbols = np.where(large, _flurries(ts, symbols, seed), symbols)
    price, change = _prices(random, symbols)
    volume = np.where(
        large, BLOCK + 100 * random.geometric(0.02, trades), 100 * random.geometric(0.2, trades)
    )
    return pa.table(
        {
            "ts": pa.array(ts).cast(TIME),
            "type": coded(symbols, list(SYMBOLS)),
            "price": pa.array(price),
            "change": pa.array(change),
            "volume": pa.array(volume),
            "side": coded(random.integers(0, 2, trades), ["buy", "sell"]),
        }
    )


def _moments(random: np.random.Generator, count: int) -> I64:
    """Microseconds after the opening; trading at noon is a third of that at both ends of the day."""
    even = random.random(count)
    ends = 0.5 + 0.5 * np.cbrt(2.0 * random.random(count) - 1.0)  # dense where it begins and ends
    chosen = np.where(random.random(count) < 0.5, even, ends)
    moments: I64 = (chosen * OPEN_S * 1e6).astype(np.int64)
    return moments


def _flurries(ts: I64, symbols: I64, seed: int) -> I64:
    """The same symbols, moved to the one sector whose turn it is; turns last some seconds."""
    turns = (ts - OPENS_US) // int(FLURRY_S * 1e6)
    sectors = np.random.default_rng([seed, 1]).integers(0, len(SECTORS), int(OPEN_S / FLURRY_S) + 1)[turns]
    moved: I64 = 4 * sectors + symbols % 4
    return moved


def _prices(random: np.random.Generator, symbols: I64) -> tuple[F64, F64]:
    """Prices to the cent, and their changes in hundredths of a percent."""
    grouped = Grouped.by(symbols)
    steps = np.round(random.normal(0.0, 40.0, len(symbols))).astype(np.int64)  # in millionths
    start = np.round(1e6 * np.log(random.uniform(20.0, 500.0, len(SYMBOLS)))).astype(np.int64)
    price = _to_cents(grouped.walk(steps, start.copy()))
    before = grouped.previous(price, _to_cents(start))
    change: F64 = np.round(1e4 * (price / before - 1.0), 2) + 0.0
    return price, change


def _to_cents(millionths: I64) -> F64:
    """The prices whose logarithms these are."""
    prices: F64 = np.exp(millionths.astype(np.float64) / 1e6)
    return np.round(prices, 2)
