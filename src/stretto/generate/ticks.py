"""A stock market whose trades and signals have their own rates, for trends within a symbol or a sector.

Prices are those of MCEP's market (`market`), but what an event is (a Trade most of the time, else a signal such as Halt
or Upgrade) is its type, and the symbol an attribute: trends run over the events of a symbol or of a sector.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

import numpy as np
import pyarrow as pa

from stretto.generate.arrivals import coded, settle_rates, shares_of
from stretto.generate.market import market_blocks

SHARES: Final[Mapping[str, float]] = MappingProxyType(
    {
        "Trade": 0.91,
        "Bid": 0.02,
        "Offer": 0.02,
        "Block": 0.01,
        "Cross": 0.01,
        "News": 0.01,
        "Upgrade": 0.005,
        "Downgrade": 0.005,
        "Halt": 0.005,
        "Resume": 0.005,
    }
)
"""The types with their usual shares of all events."""
TYPES: Final = tuple(SHARES)
SECTORS: Final = 20


def tick_blocks(
    seed: int, rate: float | None, rates: Mapping[str, float] | None, count: int | None, otherwise: float
) -> Iterator[pa.RecordBatch]:
    """Events in order of time, without end: `symbol`, its `sector`, its `price`, the difference `diff` to the price
    before, and a `volume`.
    """
    settled = settle_rates(SHARES, rates, rate, otherwise)
    shares = shares_of(settled)
    for block, trades in enumerate(market_blocks(seed, float(settled.sum()), count)):
        random = np.random.default_rng([seed, block, 1])
        symbol = trades["type"]
        columns = {
            "ts": trades["ts"],
            "type": coded(random.choice(len(TYPES), trades.num_rows, p=shares), list(TYPES)),
            "symbol": symbol,
            "sector": pa.array(symbol.indices.to_numpy().astype(np.int64) % SECTORS),
            "price": trades["price"],
            "diff": trades["diff"],
            "volume": pa.array(100 * random.geometric(0.2, trades.num_rows)),
        }
        yield pa.RecordBatch.from_pydict(columns)
