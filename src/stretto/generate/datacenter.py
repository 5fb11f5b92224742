"""The data centre of MOTTO (sec. VII-A): packets on their way between machines, and readings of load.

A packet starts, is (mostly) delivered by the routers, ends at its sender and is acknowledged by its receiver;
some packets are lost, which may show as an error, and some acknowledgments never come.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stretto.data.casts import TIME
from stretto.records import dataclass

TYPES = ("start", "delivery", "end", "ack", "error", "cpu", "net")
START, DELIVERY, END, ACK, ERROR, CPU, NET = range(len(TYPES))

UNITS = 1 << 14
PACKET = 0.8  # the share of arrivals that are packets; the others are readings
DELIVERED = 0.97
ACKNOWLEDGED = 0.95
REPORTED = 0.7
EVENTS_PER_UNIT = PACKET * (2 + DELIVERED + DELIVERED * ACKNOWLEDGED + (1 - DELIVERED) * REPORTED) + (
    1 - PACKET
)

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Events:
    """Columns of equal length; a packet of -1 and a load of NaN stand for null."""

    ts: I64
    type: I64
    machine: I64
    packet: I64
    size: I64
    load: F64

    def take(self, index: I64) -> "_Events":
        return _Events(*(getattr(self, name)[index] for name in self.__slots__))

    def then(self, other: "_Events") -> "_Events":
        both = (np.concatenate([getattr(self, n), getattr(other, n)]) for n in self.__slots__)
        return _Events(*both)

    def batch(self) -> pa.RecordBatch:
        no_packet = self.packet < 0
        codes = pa.array(self.type.astype(np.int32))
        columns = {
            "ts": pa.array(self.ts).cast(TIME),
            "type": pa.DictionaryArray.from_arrays(codes, pa.array(TYPES, pa.string())),
            "machine": pa.array(self.machine),
            "packet": pa.array(self.packet, mask=no_packet),
            "size": pa.array(self.size, mask=no_packet),
            "load": pa.array(self.load, mask=np.isnan(self.load)),
        }
        return pa.RecordBatch.from_pydict(columns)


def datacenter_blocks(seed: int, rate: float, machines: int, start_us: int) -> Iterator[pa.RecordBatch]:
    """Events in order of time, without end, `rate` per second on average."""
    # A block spans some seconds, so that few events of one wait for the next.
    units = min(max(UNITS, int(4 * rate)), 64 * UNITS)
    clock, block, packets = start_us, 0, 0
    waiting: _Events | None = None
    while True:
        random = np.random.default_rng([seed, block])
        ts = clock + np.cumsum(random.exponential(1e6 * EVENTS_PER_UNIT / rate, units)).astype(np.int64)
        is_packet = random.random(units) < PACKET
        sent = _packets(random, ts[is_packet], packets, machines)
        events = sent.then(_readings(random, ts[~is_packet], machines))
        if waiting is not None:
            events = waiting.then(events)
        events = events.take(np.lexsort((events.type, events.packet, events.ts)))
        clock = int(ts[-1])
        # What comes in later blocks starts at this clock or after it.
        ready = int(np.searchsorted(events.ts, clock, side="left"))
        numbers = np.arange(len(events.ts))
        waiting = events.take(numbers[ready:])
        packets += int(is_packet.sum())
        block += 1
        if ready:
            yield events.take(numbers[:ready]).batch()


def _packets(random: np.random.Generator, start: I64, first: int, machines: int) -> _Events:
    count = len(start)
    delivered = random.random(count) < DELIVERED
    acknowledged = delivered & (random.random(count) < ACKNOWLEDGED)
    reported = ~delivered & (random.random(count) < REPORTED)
    delivery = start + _delay(random, count, 0.2)
    end = np.where(delivered, delivery, start) + _delay(random, count, 0.3)
    ack = end + _delay(random, count, 0.5)
    error = end + _delay(random, count, 1.0)
    sender, receiver = random.integers(0, machines, count), random.integers(0, machines, count)
    packet = first + np.arange(count)
    size = np.minimum(1 + random.exponential(1200.0, count).astype(np.int64), 65_535)
    everyone = np.ones(count, np.bool_)
    steps = (
        (START, start, sender, everyone),
        (DELIVERY, delivery, sender, delivered),
        (END, end, sender, everyone),
        (ACK, ack, receiver, acknowledged),
        (ERROR, error, sender, reported),
    )
    return _Events(
        np.concatenate([ts[keep] for _, ts, _, keep in steps]),
        np.concatenate([np.full(int(keep.sum()), code, np.int64) for code, _, _, keep in steps]),
        np.concatenate([machine[keep] for _, _, machine, keep in steps]),
        np.concatenate([packet[keep] for *_, keep in steps]),
        np.concatenate([size[keep] for *_, keep in steps]),
        np.full(sum(int(keep.sum()) for *_, keep in steps), np.nan),
    )


def _delay(random: np.random.Generator, count: int, seconds: float) -> I64:
    """At least a microsecond, so that every step of a packet is strictly later than the one before."""
    delay: I64 = 1 + random.exponential(1e6 * seconds, count).astype(np.int64)
    return delay


def _readings(random: np.random.Generator, ts: I64, machines: int) -> _Events:
    count = len(ts)
    kind = np.where(random.random(count) < 0.5, CPU, NET)
    none = np.full(count, -1, np.int64)
    return _Events(ts, kind, random.integers(0, machines, count), none, none, random.beta(2.0, 5.0, count))
