"""What the generators of streams have in common: types with rates, arrivals, and blocks of events.

The rates of MCEP's data (sec. 6.1) lie between 2 and 47 events per second. Here they are spread evenly over the
logarithms of that range and belong to the types, not to the seed of a stream: a workload that picks its types by their
rates fits every stream with as many types.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stretto.data.casts import TIME
from stretto.errors import EventsError, instead_of
from stretto.records import dataclass

START_US = 1_577_836_800_000_000  # 2020-01-01, UTC
BLOCK = 1 << 16
LOWEST, HIGHEST = 2.0, 47.0  # events per second

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]
V = TypeVar("V", npt.NDArray[np.float64], npt.NDArray[np.int64])


@dataclass(frozen=True, slots=True)
class Sources:
    """Types of events by name, each with its events per second."""

    names: tuple[str, ...]
    rates: tuple[float, ...]

    @property
    def total(self) -> float:
        """Events per second over all types."""
        return sum(self.rates)

    @property
    def shares(self) -> F64:
        """The shares of the types among all events."""
        return shares_of(np.array(self.rates))


def sources(letter: str, count: int) -> Sources:
    """`count` types, named by a letter and a number, whose rates are evenly spread on a logarithmic scale."""
    random = np.random.default_rng([ord(letter), count])
    steps = random.permutation((np.arange(count) + 0.5) / count)
    rates = LOWEST * (HIGHEST / LOWEST) ** steps
    digits = len(str(count))
    names = tuple(f"{letter}{number:0{digits}d}" for number in range(1, count + 1))
    return Sources(names, tuple(map(float, rates)))


def settle_rates(
    usual: Mapping[str, float], given: Mapping[str, float] | None, total: float | None, otherwise: float
) -> F64:
    """Events per second of every type, in the order of `usual`, which holds their usual shares.

    Types with a given rate have it; the others share the rest of `total` as usual. Without a total there is no rest:
    only the given types occur. With neither, all types share `otherwise`.
    """
    given = given or {}
    for name, rate in given.items():
        if name not in usual:
            raise EventsError(f"the stream has no type `{name}`{instead_of(name, usual)}")
        if not 0.0 <= rate < float("inf"):
            raise EventsError(f"the rate of {name} must not be negative: {rate}")
    named = sum(given.values())
    whole = total if total is not None else named if given else otherwise
    if named > whole * (1.0 + 1e-9):
        raise EventsError(
            f"the rates of single types come to {named:g} per second, more than {whole:g} in all"
        )
    rest = {name: share for name, share in usual.items() if name not in given}
    left, shares = max(whole - named, 0.0), sum(rest.values())
    rates = np.array([given[name] if name in given else left * usual[name] / shares for name in usual])
    if not rates.sum() > 0.0:
        raise EventsError("at least one type must have a rate above 0")
    return rates


def shares_of(weights: F64) -> F64:
    """Weights as shares of their sum."""
    shares: F64 = weights / weights.sum()
    return shares


def arrivals(random: np.random.Generator, count: int, rate: float) -> I64:
    """Times of a Poisson process, in microseconds; several may fall on one microsecond."""
    return np.cumsum(random.exponential(1e6 / rate, count)).astype(np.int64)


def blocks(
    seed: int,
    rate: float,
    columns: Callable[[np.random.Generator, I64], Mapping[str, Any]],
    paced: Callable[[np.random.Generator, I64], I64] = lambda _, ts: ts,
) -> Iterator[pa.RecordBatch]:
    """A stream without end, BLOCK events at a time, each block with its own random numbers.

    Events arrive with a rate, at times that `paced` may change; `columns` gives the other columns of a block.
    """
    clock = START_US
    for block in itertools.count():
        random = np.random.default_rng([seed, block])
        ts = clock + paced(random, arrivals(random, BLOCK, rate))
        yield pa.RecordBatch.from_pydict({"ts": pa.array(ts).cast(TIME), **columns(random, ts)})
        clock = int(ts[-1])


def coded(codes: I64, names: list[str]) -> pa.DictionaryArray:
    """Codes as dictionary<int32, string>."""
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(names, pa.string()))


@dataclass(frozen=True, slots=True)
class Grouped:
    """The events of a block, type by type and in order of time; `first` marks where a type begins."""

    codes: I64
    order: I64
    first: Bool

    @classmethod
    def by(cls, codes: I64) -> "Grouped":
        order = np.argsort(codes, kind="stable")
        in_order = codes[order]
        first = np.ones(len(codes), np.bool_)
        first[1:] = in_order[1:] != in_order[:-1]
        return cls(in_order, order, first)

    def walk(self, steps: I64, at: I64) -> I64:
        """Where each type's walk is after each of its steps; `at` holds where the walks are, and is updated."""
        ordered = steps[self.order]
        run = np.cumsum(ordered)
        before = (run - ordered)[self.first]
        lengths = np.diff(np.append(np.flatnonzero(self.first), len(ordered)))
        walked: I64 = run - np.repeat(before, lengths) + at[self.codes]
        at[self.codes] = walked  # the last one of a type stays
        return self._back(walked)

    def previous(self, values: F64, last: F64) -> F64:
        """The value before each one of the same type; `last` holds those before the block, and is updated."""
        ordered = values[self.order]
        before = np.empty_like(ordered)
        before[1:] = ordered[:-1]
        before[self.first] = last[self.codes[self.first]]
        last[self.codes] = ordered
        return self._back(before)

    def _back(self, ordered: V) -> V:
        values = np.empty_like(ordered)
        values[self.order] = ordered
        return values
