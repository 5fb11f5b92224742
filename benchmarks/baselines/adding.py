"""Numbers added up by window and group with NumPy, for the baselines, which have all their numbers at hand."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stretto.engine.results.totals import TOTALS
from stretto.values.rows import F64, I64

Numbers = npt.NDArray[Any]

HALF: Final = 32
"""Integers are added in halves of so many bits, neither of which can leave 64 bits."""
EXACT_BELOW: Final = 1 << 63


@dataclass(frozen=True, slots=True)
class Grouping:
    """Rows in the order of their keys; `first` is where each key begins, `keys` has each key once."""

    order: I64
    first: I64
    keys: tuple[I64, ...]

    @classmethod
    def by(cls, *columns: I64) -> "Grouping":
        order = np.lexsort(columns[::-1])
        ordered = [column[order] for column in columns]
        new = np.ones(len(order), np.bool_)
        new[1:] = np.any([column[1:] != column[:-1] for column in ordered], axis=0)
        first = np.flatnonzero(new)
        return cls(order, first, tuple(column[first] for column in ordered))

    def reduce(self, values: Numbers, how: np.ufunc) -> Numbers:
        """One value per key."""
        found: Numbers = how.reduceat(values[self.order], self.first) if len(self.first) else values[:0]
        return found


def halves(values: I64) -> tuple[I64, I64]:
    """Integers as the sum of a higher half, times 2^32, and a lower one."""
    return values >> HALF, values & ((1 << HALF) - 1)


def joined(high: I64, low: I64) -> list[int]:
    """The integers of summed halves, of any size."""
    return [(h << HALF) + l for h, l in zip(high.tolist(), low.tolist(), strict=True)]


@dataclass(frozen=True, slots=True)
class Answer:
    """One aggregate's values: numbers, the digits of those that are exact integers, logarithms of counts."""

    value: pa.Array
    exact: pa.Array
    log2: pa.Array


def integers(values: Sequence[int | None]) -> Answer:
    """Sums of integers, with their digits while they are below 2^63."""
    return _digits(values, [one is not None and abs(one) < EXACT_BELOW for one in values])


def extremes(values: Sequence[int | None]) -> Answer:
    """Integers of events, with all their digits."""
    return _digits(values, [one is not None for one in values])


def _digits(values: Sequence[int | None], exact: Sequence[bool]) -> Answer:
    digits = [str(one) if shown else None for one, shown in zip(values, exact, strict=True)]
    doubles = [None if one is None else float(one) for one in values]
    return Answer(pa.array(doubles, pa.float64()), pa.array(digits, pa.string()), _nothing(len(values)))


def counts(values: Sequence[int]) -> Answer:
    """Integers with their logarithms too."""
    plain = integers(values)
    with np.errstate(divide="ignore"):
        log2 = np.log2(np.array([float(one) for one in values]))
    return Answer(plain.value, plain.exact, pa.array(log2, mask=np.isneginf(log2)))


def doubles(values: F64, known: npt.NDArray[np.bool_]) -> Answer:
    """Doubles, null where they are not known."""
    n = len(values)
    return Answer(pa.array(values, mask=~known), pa.nulls(n, pa.string()), _nothing(n))


def _nothing(n: int) -> pa.Array:
    return pa.nulls(n, pa.float64())


def rows(
    query: str, name: str, start: I64, window_us: int, group: pa.Array, answer: Answer
) -> pa.RecordBatch:
    """Rows of the result: one per window and group."""
    n = len(start)
    return pa.RecordBatch.from_arrays(
        [
            pa.repeat(pa.scalar(query, pa.string()), n),
            pa.array(start).view(pa.timestamp("us")),
            pa.array(start + window_us).view(pa.timestamp("us")),
            group,
            pa.repeat(pa.scalar(name, pa.string()), n),
            answer.value,
            answer.exact,
            answer.log2,
        ],
        schema=TOTALS,
    )
