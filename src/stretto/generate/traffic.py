"""MCEP's stream of traffic (sec. 6.1): every observation point is a type; the mean speed and the number of vehicles.

Vehicles follow the hours of the day, and speed goes down where vehicles go up, at some points more strictly than at
others. `speed_diff` and `vehicles_diff` are the differences to the point's observation before, so that two observations
of which one has the greater difference in both violate the rule: 0.5% to 15% of the pairs do, in each direction.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from stretto.generate.arrivals import BLOCK, F64, I64, START_US, Grouped, Sources, blocks, coded, sources
from stretto.records import dataclass

POINTS = 449
DAY_US = 86_400_000_000
RUSH = ((8.0, 1.3), (16.5, 1.8))
"""Hours of the day at which traffic is heaviest, and how wide around them."""
LOOSE = (2e-5, 0.1)
"""How far the correlation of speed and vehicles is from -1, at the strictest and at the loosest point."""


def points(count: int | None = None) -> Sources:
    """The observation points with their rates."""
    return sources("P", POINTS if count is None else count)


def chances(count: int | None = None) -> F64:
    """About how probable it is that both differences of one point (row) are less than those of another (column)."""
    roads = _Roads.of(POINTS if count is None else count)
    vehicles, speed = roads.full, roads.free
    both = roads.strict * vehicles * speed
    spread = np.sqrt(np.add.outer(vehicles**2, vehicles**2) * np.add.outer(speed**2, speed**2))
    less: F64 = 0.25 - np.arcsin(np.add.outer(both, both) / spread) / (2.0 * np.pi)
    return less


def traffic_blocks(seed: int, rate: float | None, count: int | None) -> Iterator[pa.RecordBatch]:
    """Observations in order of time, without end: speeds in km/h, vehicles of the last minutes."""
    observed = points(count)
    names = list(observed.names)
    roads = _Roads.of(len(names))
    everyone = np.arange(len(names))
    still = np.zeros((2, len(names)))
    last_speed, last_vehicles = roads.observe(everyone, np.full(len(names), START_US), still)

    def columns(random: np.random.Generator, ts: I64) -> dict[str, Any]:
        codes = random.choice(len(names), BLOCK, p=observed.shares)
        speed, vehicles = roads.observe(codes, ts, random.normal(size=(2, BLOCK)))
        grouped = Grouped.by(codes)
        return {
            "type": coded(codes, names),
            "speed": pa.array(speed),
            "vehicles": pa.array(vehicles.astype(np.int64)),
            "speed_diff": pa.array(np.round(speed - grouped.previous(speed, last_speed), 2) + 0.0),
            "vehicles_diff": pa.array(
                (vehicles - grouped.previous(vehicles, last_vehicles)).astype(np.int64)
            ),
        }

    return blocks(seed, rate or observed.total, columns)


@dataclass(frozen=True, slots=True)
class _Roads:
    """Per point: speed when empty, vehicles when full, and how strictly the one follows the other."""

    free: F64
    full: F64
    strict: F64

    @classmethod
    def of(cls, count: int) -> "_Roads":
        random = np.random.default_rng([9, count])
        low, high = LOOSE
        strict = 1.0 - low * (high / low) ** random.random(count)
        return cls(random.uniform(60.0, 110.0, count), random.uniform(500.0, 900.0, count), strict)

    def observe(self, codes: I64, ts: I64, noise: F64) -> tuple[F64, F64]:
        """Speeds and vehicles; two standard normal numbers per observation tell how it deviates."""
        more, apart = noise
        strict, full, free = self.strict[codes], self.full[codes], self.free[codes]
        share = np.clip(0.15 + 0.6 * _busy(ts) + 0.05 * more, 0.0, 1.0)
        slower = 0.15 + 0.6 * _busy(ts) + 0.05 * (strict * more - np.sqrt(1.0 - strict**2) * apart)
        vehicles: F64 = np.round(share * full)
        speed: F64 = np.round(free * (1.0 - 0.7 * np.clip(slower, 0.0, 1.0)), 2)
        return speed, vehicles


def _busy(ts: I64) -> F64:
    """How heavy the traffic is at a time of the day, from 0 to about 1."""
    hour = (ts % DAY_US) / 3.6e9
    busy: F64 = sum((np.exp(-(((hour - peak) / width) ** 2)) for peak, width in RUSH), np.zeros(len(ts)))
    return busy
