"""Generators of the papers' event streams: the same seed gives the same events, however they are cut.

Events are made in blocks of a fixed size, each with its own random numbers, so that memory stays bounded
and a longer stream starts with the shorter one.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from stretto.data.casts import TIME
from stretto.errors import EventsError, near
from stretto.generate.arrivals import F64, START_US, arrivals, coded
from stretto.generate.datacenter import datacenter_blocks
from stretto.generate.market import market_blocks
from stretto.generate.reshuffle import Reshuffle, reshuffled
from stretto.generate.rides import ride_blocks
from stretto.generate.ticks import tick_blocks
from stretto.generate.traffic import traffic_blocks

BLOCK = 1 << 16
RATE = 10.0
SYMBOLS = ("AAPL", "MSFT", "INTC", "FB", "IBM", "GOOG", "AMZN", "CSCO", "ORCL", "SAP", "HPQ", "DELL", "QCOM")


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """What a stream looks like. `rate` is in events per second, over all types; None is 10, or what the types of
    mcep-stocks and traffic make together, each at 2 to 47 per second.

    `types`: how many event types (uniform, zipf: 10), symbols (stocks: 13 and no more; mcep-stocks: 300) or points
    (traffic: 449; ticks: 300 symbols). `keys`: `k` stays below it (uniform, zipf). `exponent`: of Zipf's law.
    `machines`: in the data centre. `reshuffle`: how types change places as the stream goes on. `rates`: events per
    second of single types (rides, ticks); the others share the rest of `rate`, without which there is none. `drivers`:
    of rides (1000).
    """

    seed: int = 0
    rate: float | None = None
    types: int | None = None
    keys: int = 1000
    exponent: float = 1.0
    machines: int = 20
    reshuffle: Reshuffle | None = None
    rates: Mapping[str, float] | None = None
    drivers: int | None = None

    def __post_init__(self) -> None:
        for name in ("types", "keys", "machines", "drivers"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise EventsError(f"{name} must be at least 1, not {value}")
        if self.rate is not None and not 0 < self.rate < float("inf"):
            raise EventsError(f"the rate must be a positive number of events per second, not {self.rate}")
        if self.seed < 0:
            raise EventsError(f"the seed must not be negative: {self.seed}")
        if not 0 <= self.exponent < float("inf"):
            raise EventsError(f"the exponent must not be negative: {self.exponent}")


Blocks = Callable[[StreamOptions], Iterator[pa.RecordBatch]]


def generate(
    kind: str,
    events: int,
    seed: int = 0,
    rate: float | None = None,
    *,
    types: int | None = None,
    keys: int = 1000,
    exponent: float = 1.0,
    machines: int = 20,
    reshuffle: Reshuffle | None = None,
    rates: Mapping[str, float] | None = None,
    drivers: int | None = None,
) -> pa.Table:
    """The first `events` events of a stream, as one table in order of time.

    Kinds: `uniform` and `zipf` (types A, B, ..; attributes x in [0, 1) and k), `stocks`, `datacenter`, `mcep-stocks`,
    `traffic`, `rides`, `ticks`.
    """
    options = StreamOptions(seed, rate, types, keys, exponent, machines, reshuffle, rates, drivers)
    batches = list(generate_batches(kind, events, options))
    return pa.Table.from_batches(batches, schema_of(kind, options)).combine_chunks()


def generate_batches(
    kind: str, events: int, options: StreamOptions, batch: int = BLOCK
) -> Iterator[pa.RecordBatch]:
    """The same in batches of at most `batch` events."""
    if events < 0:
        raise EventsError(f"the number of events must not be negative: {events}")
    if batch < 1:
        raise EventsError(f"the size of a batch must be at least 1, not {batch}")
    return _cut(_blocks(kind, options), events, batch)


def schema_of(kind: str, options: StreamOptions) -> pa.Schema:
    """The columns of a stream."""
    schema: pa.Schema = next(_blocks(kind, options)).schema
    return schema


def _blocks(kind: str, options: StreamOptions) -> Iterator[pa.RecordBatch]:
    if kind not in STREAMS:
        hint = near(kind, STREAMS)
        raise EventsError(
            f"unknown stream `{kind}`" + (f", {hint}" if hint else f" (known: {', '.join(STREAMS)})")
        )
    if options.rates is not None and kind not in RATED:
        raise EventsError(f"{kind} has no rates of single types; {' and '.join(RATED)} have")
    blocks = STREAMS[kind](options)
    return blocks if options.reshuffle is None else reshuffled(blocks, options.reshuffle, options.seed)


def _cut(blocks: Iterator[pa.RecordBatch], events: int, size: int) -> Iterator[pa.RecordBatch]:
    left = events
    while left > 0:
        block = next(blocks)
        for start in range(0, min(left, block.num_rows), size):
            yield block.slice(start, min(size, left - start))
        left -= block.num_rows


def type_names(count: int) -> list[str]:
    """A, B, .. Z, AA, AB, .. as in the columns of a spreadsheet."""
    names: list[str] = []
    for number in range(1, count + 1):
        name, rest = "", number
        while rest:
            rest, digit = divmod(rest - 1, 26)
            name = chr(ord("A") + digit) + name
        names.append(name)
    return names


def _plain_blocks(options: StreamOptions, exponent: float) -> Iterator[pa.RecordBatch]:
    """Independent events whose i-th type has a share in proportion to i ** -exponent."""
    names = type_names(options.types or 10)
    bounds = _shares(len(names), exponent)
    clock, block = START_US, 0
    while True:
        random = np.random.default_rng([options.seed, block])
        ts = arrivals(random, BLOCK, options.rate or RATE, clock)
        columns = {
            "ts": pa.array(ts).cast(TIME),
            "type": coded(np.searchsorted(bounds, random.random(BLOCK), side="right"), names),
            "x": pa.array(random.random(BLOCK)),
            "k": pa.array(random.integers(0, options.keys, BLOCK)),
        }
        yield pa.RecordBatch.from_pydict(columns)
        clock, block = int(ts[-1]), block + 1


def _shares(count: int, exponent: float) -> F64:
    """Upper bounds in [0, 1] that cut a uniform number into codes; the last one is left out."""
    weights = np.arange(1, count + 1, dtype=np.float64) ** -exponent
    bounds: F64 = np.cumsum(weights / weights.sum())[:-1]
    return bounds


def _stock_blocks(options: StreamOptions) -> Iterator[pa.RecordBatch]:
    """Trades: a symbol as type, its price a random walk, a volume, and the side that traded."""
    count = options.types or len(SYMBOLS)
    if count > len(SYMBOLS):
        raise EventsError(f"stocks has at most {len(SYMBOLS)} symbols, not {count}")
    bounds = _shares(count, 0.5)  # some symbols trade more often than others
    start = np.random.default_rng([options.seed, 1 << 32])
    logs = np.log(start.uniform(20.0, 500.0, count))
    clock, block = START_US, 0
    while True:
        random = np.random.default_rng([options.seed, block])
        ts = arrivals(random, BLOCK, options.rate or RATE, clock)
        symbols = np.searchsorted(bounds, random.random(BLOCK), side="right")
        walk = random.normal(0.0, 5e-4, BLOCK)
        for symbol in range(count):
            mine = np.flatnonzero(symbols == symbol)
            walk[mine] = logs[symbol] + np.cumsum(walk[mine])
            logs[symbol] = walk[mine[-1]] if len(mine) else logs[symbol]
        columns = {
            "ts": pa.array(ts).cast(TIME),
            "type": coded(symbols, list(SYMBOLS[:count])),
            "price": pa.array(np.round(np.exp(walk), 2)),
            "volume": pa.array(100 * random.geometric(0.2, BLOCK)),
            "side": coded(random.integers(0, 2, BLOCK), ["buy", "sell"]),
        }
        yield pa.RecordBatch.from_pydict(columns)
        clock, block = int(ts[-1]), block + 1


STREAMS: Mapping[str, Blocks] = {
    "uniform": lambda options: _plain_blocks(options, 0.0),
    "zipf": lambda options: _plain_blocks(options, options.exponent),
    "stocks": _stock_blocks,
    "datacenter": lambda options: datacenter_blocks(
        options.seed, options.rate or RATE, options.machines, START_US
    ),
    "mcep-stocks": lambda options: market_blocks(options.seed, options.rate, options.types),
    "traffic": lambda options: traffic_blocks(options.seed, options.rate, options.types),
    "rides": lambda options: ride_blocks(options.seed, options.rate, options.rates, options.drivers, RATE),
    "ticks": lambda options: tick_blocks(options.seed, options.rate, options.rates, options.types, RATE),
}
RATED = ("rides", "ticks")
"""Streams whose types have rates that can be set one by one."""
