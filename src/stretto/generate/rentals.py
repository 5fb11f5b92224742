"""DecoPa's two real streams, drawn anew: nine types each, Poisson arrivals at the published rates.

What pairs of events have to satisfy is satisfied by 7 in 100 of them, as published: rentals that begin 6 km apart or
more, tasks of which one asks for more of a resource than the other by `MORE`.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

import numpy as np
import pyarrow as pa

from stretto.generate.arrivals import I64, blocks, coded, settle_rates, shares_of

RENTALS_PER_DAY: Final[Mapping[str, float]] = MappingProxyType(
    dict(zip("ABCDEFGHI", (4.5, 348.0, 2854.0, 35.0, 3120.0, 20833.0, 6.0, 244.0, 5950.0), strict=True))
)
TASKS_PER_WINDOW: Final[Mapping[str, float]] = MappingProxyType(
    dict(zip("ABCDEFGHI", (5002.8, 4761.0, 575.6, 190.8, 2849.6, 1265.0, 0.64, 0.01, 0.2208), strict=True))
)
"""Events of each type in a window: a day of rentals, ten minutes of tasks."""
DAY_S, TEN_MINUTES_S = 86_400.0, 600.0

CENTRE: Final = (40.74, -73.98)
KM_PER_DEGREE: Final = (111.2, 84.2)
"""Of latitude, and of longitude at the centre."""
SPREAD_KM: Final = 1.84
"""Of either coordinate: exp(-36 / (4 * 1.84²)) = 0.07 of all pairs are 6 km apart."""
MORE: Final = 2.09
"""Logarithms of what tasks ask for are normal: of all pairs 0.07 differ by so much in this direction."""


def rental_blocks(
    seed: int, rate: float | None, rates: Mapping[str, float] | None
) -> Iterator[pa.RecordBatch]:
    """Rentals without end, in order of time: `lat` and `lon` of where a bike was taken, `minutes` that it was kept."""

    def columns(random: np.random.Generator, ts: I64) -> dict[str, pa.Array]:
        places = [
            centre + random.normal(0.0, SPREAD_KM, len(ts)) / km
            for centre, km in zip(CENTRE, KM_PER_DEGREE, strict=True)
        ]
        return {
            "type": coded(random.choice(len(shares), len(ts), p=shares), list(RENTALS_PER_DAY)),
            "lat": pa.array(places[0]),
            "lon": pa.array(places[1]),
            "minutes": pa.array(np.round(random.exponential(14.0, len(ts)), 1)),
        }

    settled = settle_rates(RENTALS_PER_DAY, rates, rate, sum(RENTALS_PER_DAY.values()) / DAY_S)
    shares = shares_of(settled)
    return blocks(seed, float(settled.sum()), columns)


def task_blocks(seed: int, rate: float | None, rates: Mapping[str, float] | None) -> Iterator[pa.RecordBatch]:
    """Transitions of tasks without end, in order of time: logarithms of the `cpu`, `mem` and `disk` asked for."""

    def columns(random: np.random.Generator, ts: I64) -> dict[str, pa.Array]:
        asked = random.normal(size=(3, len(ts)))
        return {
            "type": coded(random.choice(len(shares), len(ts), p=shares), list(TASKS_PER_WINDOW)),
            **{name: pa.array(values) for name, values in zip(("cpu", "mem", "disk"), asked, strict=True)},
        }

    settled = settle_rates(TASKS_PER_WINDOW, rates, rate, sum(TASKS_PER_WINDOW.values()) / TEN_MINUTES_S)
    shares = shares_of(settled)
    return blocks(seed, float(settled.sum()), columns)
