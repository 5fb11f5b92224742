"""Generators of the papers' event streams: the same seed gives the same events, however they are cut.

Events are made in blocks of a fixed size, each with its own random numbers, so that memory stays bounded
and a longer stream starts with the shorter one.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from stretto.errors import EventsError, instead_of
from stretto.generate.arrivals import BLOCK, F64, I64, START_US, blocks, coded, shares_of
from stretto.generate.datacenter import datacenter_blocks
from stretto.generate.market import market_blocks
from stretto.generate.rentals import rental_blocks, task_blocks
from stretto.generate.reshuffle import Reshuffle, reshuffled
from stretto.generate.rides import ride_blocks
from stretto.generate.rumor_streams import alternating_blocks, counter_blocks
from stretto.generate.ticks import tick_blocks
from stretto.generate.traffic import traffic_blocks
from stretto.records import dataclass

RATE = 10.0
STOCK_RATE, DATACENTER_RATE = 1.0, 5.0
"""Events per second at which the windows of MOTTO's queries, 10 seconds, hold about one event of each type. At ten
times the rate of stocks the same queries have hundreds of matches per event.
"""
SYMBOLS = ("AAPL", "MSFT", "INTC", "FB", "IBM", "GOOG", "AMZN", "CSCO", "ORCL", "SAP", "HPQ", "DELL", "QCOM")


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """What a stream looks like. `rate` is in events per second, over all types; None is 10, or what the types of
    mcep-stocks and traffic make together, each at 2 to 47 per second; rumor and counters have their own.

    `types`: how many event types (uniform, zipf: 10), symbols (stocks: 13 and no more; mcep-stocks, ticks: 300), points
    (traffic: 449), streams beside T (rumor: one, S) or processes (counters: 104). `keys`: `k` stays below it (uniform,
    zipf), or all attributes do (rumor). `exponent`: of Zipf's law. `machines`: in the data centre. `reshuffle`: how
    types change places as the stream goes on. `rates`: events per second of single types (rides, ticks, rentals,
    tasks); the others share the rest of `rate`, if that is given. `drivers`: of rides (1000).
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


def generate(kind: str, events: int, seed: int = 0, rate: float | None = None, **options: Any) -> pa.Table:
    """The first `events` events of a stream, as one table in order of time; further options are StreamOptions.

    Kinds: `uniform` and `zipf` (types A, B, ..; attributes x in [0, 1) and k), `stocks`, `datacenter`, `mcep-stocks`,
    `traffic`, `rides`, `ticks`, `rumor`, `counters`, and DecoPa's `rentals` and `tasks`.
    """
    wanted = StreamOptions(seed, rate, **options)
    batches = list(generate_batches(kind, events, wanted))
    return pa.Table.from_batches(batches, schema_of(kind, wanted)).combine_chunks()


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
        raise EventsError(f"unknown stream `{kind}`{instead_of(kind, STREAMS)}")
    if options.rates is not None and kind not in RATED:
        raise EventsError(f"{kind} has no rates of single types; {' and '.join(RATED)} have")
    if options.rate is not None and kind in PACED:
        raise EventsError(f"{kind} has its own rate: an event a second of each stream or process")
    made = STREAMS[kind](options)
    return made if options.reshuffle is None else reshuffled(made, options.reshuffle, options.seed)


def _cut(whole: Iterator[pa.RecordBatch], events: int, size: int) -> Iterator[pa.RecordBatch]:
    left = events
    while left > 0:
        block = next(whole)
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
    shares = _zipf(len(names), exponent)

    def columns(random: np.random.Generator, _: I64) -> dict[str, Any]:
        return {
            "type": coded(random.choice(len(names), BLOCK, p=shares), names),
            "x": pa.array(random.random(BLOCK)),
            "k": pa.array(random.integers(0, options.keys, BLOCK)),
        }

    return blocks(options.seed, options.rate or RATE, columns)


def _zipf(count: int, exponent: float) -> F64:
    """The shares of `count` types by Zipf's law."""
    return shares_of(np.arange(1, count + 1, dtype=np.float64) ** -exponent)


def _stock_blocks(options: StreamOptions) -> Iterator[pa.RecordBatch]:
    """Trades: a symbol as type, its price a random walk, a volume, and the side that traded."""
    count = options.types or len(SYMBOLS)
    if count > len(SYMBOLS):
        raise EventsError(f"stocks has at most {len(SYMBOLS)} symbols, not {count}")
    shares = _zipf(count, 0.5)  # some symbols trade more often than others
    start = np.random.default_rng([options.seed, 1 << 32])
    logs = np.log(start.uniform(20.0, 500.0, count))

    def columns(random: np.random.Generator, _: I64) -> dict[str, Any]:
        symbols = random.choice(count, BLOCK, p=shares)
        walk = random.normal(0.0, 5e-4, BLOCK)
        for symbol in range(count):
            mine = np.flatnonzero(symbols == symbol)
            walk[mine] = logs[symbol] + np.cumsum(walk[mine])
            logs[symbol] = walk[mine[-1]] if len(mine) else logs[symbol]
        return {
            "type": coded(symbols, list(SYMBOLS[:count])),
            "price": pa.array(np.round(np.exp(walk), 2)),
            "volume": pa.array(100 * random.geometric(0.2, BLOCK)),
            "side": coded(random.integers(0, 2, BLOCK), ["buy", "sell"]),
        }

    return blocks(options.seed, options.rate or STOCK_RATE, columns)


STREAMS: Mapping[str, Blocks] = {
    "uniform": lambda options: _plain_blocks(options, 0.0),
    "zipf": lambda options: _plain_blocks(options, options.exponent),
    "stocks": _stock_blocks,
    "datacenter": lambda options: datacenter_blocks(
        options.seed, options.rate or DATACENTER_RATE, options.machines, START_US
    ),
    "mcep-stocks": lambda options: market_blocks(options.seed, options.rate, options.types),
    "traffic": lambda options: traffic_blocks(options.seed, options.rate, options.types),
    "rides": lambda options: ride_blocks(options.seed, options.rate, options.rates, options.drivers, RATE),
    "rumor": lambda options: alternating_blocks(options.seed, options.types, options.keys),
    "counters": lambda options: counter_blocks(options.seed, options.types),
    "ticks": lambda options: tick_blocks(options.seed, options.rate, options.rates, options.types, RATE),
    "rentals": lambda options: rental_blocks(options.seed, options.rate, options.rates),
    "tasks": lambda options: task_blocks(options.seed, options.rate, options.rates),
}
RATED = ("rides", "ticks", "rentals", "tasks")
"""Streams whose types have rates that can be set one by one."""
PACED = ("rumor", "counters")
"""Streams whose events come at fixed times."""
