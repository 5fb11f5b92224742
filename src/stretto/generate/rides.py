"""The ridesharing stream of MUSE (sec. 4): riders and drivers in 20 districts, with a rate for every type.

A driver makes one ride after another: a rider's Request, Accept, perhaps Cancel; else Arrive, Pickup, Pool when another
rider joins, Travel again and again, Dropoff, Pay, Rate. Who reports next is drawn evenly among the drivers, so that
the rides of a district run side by side. How many events of a type a ride has follows from the types' rates: the more
Travel there is for every other event, the longer are the runs of Travel between them.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import pyarrow as pa

from stretto.generate.arrivals import BLOCK, F64, I64, Grouped, blocks, coded, settle_rates
from stretto.records import dataclass
from stretto.values.hashing import GOLDEN, LANES

SHARES: Final[Mapping[str, float]] = MappingProxyType(
    {
        "Request": 0.020,
        "Accept": 0.018,
        "Cancel": 0.002,
        "Arrive": 0.015,
        "Pickup": 0.016,
        "Pool": 0.004,
        "Travel": 0.880,
        "Dropoff": 0.016,
        "Pay": 0.016,
        "Rate": 0.013,
    }
)
"""The types in the order of a ride, with their usual shares of all events."""
TYPES: Final = tuple(SHARES)
REQUEST, ACCEPT, CANCEL, TRAVEL, PAY = (
    TYPES.index(name) for name in ("Request", "Accept", "Cancel", "Travel", "Pay")
)
DISTRICTS: Final = 20
DRIVERS: Final = 1_000
RIDERS: Final = 10_000
AT_HOME: Final = 0.8
"""The share of rides in the driver's own district."""
LONGEST: Final = 1_000.0
"""Events of a ride on average where nothing but Travel has a rate."""
FASTEST: Final = 1_200  # tenths of km/h; a speed turns back there, and at 0


def ride_blocks(
    seed: int, rate: float | None, rates: Mapping[str, float] | None, drivers: int | None, otherwise: float
) -> Iterator[pa.RecordBatch]:
    """Events in order of time, without end: `driver`, `rider`, `district`, `speed` of Travel in km/h, and `price` of
    Request (what is offered) and of Pay.
    """
    settled = settle_rates(SHARES, rates, rate, otherwise)
    scripts = _Scripts(_Rides.of(settled), DRIVERS if drivers is None else drivers)
    speeds = np.random.default_rng([seed, 1 << 32]).integers(0, FASTEST, scripts.drivers)

    def columns(random: np.random.Generator, _: I64) -> dict[str, Any]:
        driver = random.integers(0, scripts.drivers, BLOCK)
        grouped = Grouped.by(driver)
        runs = scripts.take(random, np.bincount(driver, minlength=scripts.drivers))
        types, rides = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
        types[grouped.order], rides[grouped.order] = runs.type, runs.ride
        walked = grouped.walk(np.round(random.normal(0.0, 30.0, BLOCK)).astype(np.int64), speeds)
        speed = (FASTEST - np.abs(FASTEST - walked % (2 * FASTEST))) / 10.0
        price = np.round(random.gamma(4.0, 4.0, BLOCK), 2)
        return {
            "type": coded(types, list(TYPES)),
            "driver": pa.array(driver),
            "rider": pa.array(_drawn(seed, 1, rides, RIDERS)),
            "district": pa.array(_districts(seed, driver, rides)),
            "speed": pa.array(speed, mask=types != TRAVEL),
            "price": pa.array(price, mask=(types != REQUEST) & (types != PAY)),
        }

    return blocks(seed, float(settled.sum()), columns)


def _districts(seed: int, driver: I64, rides: I64) -> I64:
    home = _drawn(seed, 2, driver, DISTRICTS)
    away = _drawn(seed, 3, rides, DISTRICTS)
    found: I64 = np.where(_drawn(seed, 4, rides, 1_000) < 1_000 * AT_HOME, home, away)
    return found


def _drawn(seed: int, what: int, numbers: I64, below: int) -> I64:
    """A number in [0, below) that belongs to each of the numbers, whenever it is asked for (splitmix64)."""
    salt = np.random.default_rng([seed, what, 1 << 33]).integers(0, 1 << 63, dtype=np.uint64)
    mixed = LANES[0].mix(numbers.astype(np.uint64) * GOLDEN + salt)
    return (mixed % np.uint64(below)).astype(np.int64)


@dataclass(frozen=True, slots=True)
class _Rides:
    """How rides go: events of every type in a ride on average, after a Cancel none; how likely a Cancel is; and the
    types' shares of all events.
    """

    means: F64
    cancel: float
    shares: F64

    @classmethod
    def of(cls, rates: F64) -> "_Rides":
        """Rides per second are as few as they can be with at most one event of every type but Travel in each."""
        cancel = float(rates[CANCEL])
        after = np.delete(rates, [REQUEST, ACCEPT, CANCEL, TRAVEL])
        rides = max(float(rates[REQUEST]), float(rates[ACCEPT]), float(after.max()) + cancel)
        if rides <= cancel:  # nothing ends a ride but its length
            rides = cancel + float(rates[TRAVEL]) / LONGEST
        means = rates / max(rides - cancel, np.finfo(np.float64).tiny)
        means[: CANCEL + 1] = rates[: CANCEL + 1] / rides
        return cls(means, cancel / rides, rates / rates.sum())

    @property
    def length(self) -> float:
        """Events of a ride on average."""
        before, after = self.means[: CANCEL + 1].sum(), self.means[CANCEL + 1 :].sum()
        return float(before + (1.0 - self.cancel) * after)

    def counts(self, random: np.random.Generator, rides: int, *, cancelled: bool = True) -> I64:
        """Events per ride (row) and type (column)."""
        counts = (random.random((rides, len(TYPES))) < self.means).astype(np.int64)
        counts[:, TRAVEL] = random.geometric(1.0 / (1.0 + self.means[TRAVEL]), rides) - 1
        counts[:, CANCEL] *= cancelled
        counts[:, CANCEL + 1 :] *= 1 - counts[:, [CANCEL]]
        return counts

    def rests(self, random: np.random.Generator, rides: int) -> I64:
        """The same of rides that are under way, so that a stream begins as it goes on: a driver is found at a type as
        often as its events come, and what is left of a run of Travel is as long as a whole one.
        """
        counts = self.counts(random, rides, cancelled=False)
        at = random.choice(len(TYPES), rides, p=self.shares)
        everyone = np.arange(rides)
        counts[everyone, at] = np.where(at == TRAVEL, counts[everyone, at] + 1, 1)
        counts[at == CANCEL, CANCEL + 1 :] = 0
        counts[np.arange(len(TYPES)) < at[:, np.newaxis]] = 0
        return counts


@dataclass(frozen=True, slots=True)
class _RideRuns:
    """Runs of events of one type in one ride of one driver: those of a driver together, in order."""

    driver: I64
    type: I64
    ride: I64
    count: I64

    def then(self, other: "_RideRuns") -> "_RideRuns":
        both = _RideRuns(*(np.concatenate([getattr(self, n), getattr(other, n)]) for n in self.__slots__))
        return both.at(np.argsort(both.driver, kind="stable"))

    def at(self, index: I64) -> "_RideRuns":
        return _RideRuns(*(getattr(self, name)[index] for name in self.__slots__))

    def split(self, wanted: I64) -> tuple["_RideRuns", "_RideRuns"]:
        """The first events of every driver, as many as are wanted, each as a run of its own; and the rest."""
        ends = np.cumsum(self.count)
        first = np.searchsorted(self.driver, self.driver, side="left")
        before = (ends - self.count)[first]  # events of the drivers before
        starts = ends - self.count - before
        used = np.clip(wanted[self.driver] - starts, 0, self.count)
        taken = self.at(np.repeat(np.arange(len(used)), used))
        left = np.flatnonzero(self.count > used)
        kept = _RideRuns(self.driver[left], self.type[left], self.ride[left], (self.count - used)[left])
        return taken, kept


class _Scripts:
    """What every driver will report next, made when it is needed."""

    def __init__(self, rides: _Rides, drivers: int) -> None:
        self.rides, self.drivers = rides, drivers
        self._made = 0
        self._left: _RideRuns | None = None

    def take(self, random: np.random.Generator, wanted: I64) -> _RideRuns:
        """The next events of all drivers, those of one driver after those of the one before."""
        everyone = np.arange(self.drivers)
        left = self._left or self._runs(everyone, self.rides.rests(random, self.drivers))
        while True:
            there = np.bincount(left.driver, left.count, self.drivers).astype(np.int64)
            missing = np.maximum(wanted - there, 0)
            if not missing.any():
                break
            further = np.ceil(missing / self.rides.length).astype(np.int64) + (missing > 0)
            drivers = np.repeat(everyone, further)
            left = left.then(self._runs(drivers, self.rides.counts(random, len(drivers))))
        taken, self._left = left.split(wanted)
        return taken

    def _runs(self, drivers: I64, counts: I64) -> _RideRuns:
        """One ride per row of `counts`, each of the driver in the same place."""
        ride, kind = np.nonzero(counts)
        numbers = self._made + ride
        self._made += len(drivers)
        return _RideRuns(drivers[ride], kind.astype(np.int64), numbers, counts[ride, kind])
