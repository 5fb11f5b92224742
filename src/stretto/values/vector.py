"""Vectors: the values of an expression over many rows, and which of them are null."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stretto.records import dataclass
from stretto.schema import Kind
from stretto.values.rows import Bool

Data = npt.NDArray[Any]

DTYPES = {
    Kind.INT: np.dtype(np.int64),
    Kind.FLOAT: np.dtype(np.float64),
    Kind.STRING: np.dtype(np.int64),
    Kind.BOOL: np.dtype(np.bool_),
    Kind.TIME: np.dtype(np.int64),
    Kind.DURATION: np.dtype(np.int64),
    Kind.STRINGS: np.dtype(np.int64),
    Kind.INTS: np.dtype(np.int64),
    Kind.FLOATS: np.dtype(np.int64),
}


@dataclass(frozen=True, slots=True)
class Vector:
    """Values, and where they are not null; `valid` None says that none is null.

    Integers, times, durations (microseconds), strings and lists (codes of the engine's `Strings`) are int64, doubles
    float64, truth values bool. Data under a null is arbitrary. A constant is a vector without a dimension; it
    stands for as many rows as its neighbours have, and `over` gives it their length.
    """

    data: Data
    valid: Bool | None = None

    def __len__(self) -> int:
        return len(self.data)

    def take(self, index: npt.NDArray[Any] | slice) -> "Vector":
        """The values of these rows (numbers, a mask or a slice); a constant stays itself."""
        if self.data.ndim == 0:
            return self
        return Vector(self.data[index], None if self.valid is None else self.valid[index])

    def over(self, n: int) -> "Vector":
        """The vector with exactly `n` rows: a constant is repeated, any other has them."""
        if self.data.ndim:
            return self
        return Vector(np.full(n, self.data), None if self.valid is None else np.full(n, self.valid))

    @property
    def nulls(self) -> Bool:
        return np.zeros(self.data.shape, np.bool_) if self.valid is None else ~self.valid


def constant(value: float | None, kind: Kind) -> Vector:
    """A constant; None is null. A string is given as its code."""
    if value is None:
        return Vector(np.zeros((), DTYPES[kind]), np.zeros((), np.bool_))
    return Vector(np.array(value, DTYPES[kind]))


def known(*vectors: Vector) -> Bool | None:
    """Where all of the vectors are not null; None: everywhere."""
    valid: Bool | None = None
    for vector in vectors:
        if vector.valid is not None:
            valid = vector.valid if valid is None else valid & vector.valid
    return valid


def passes(vector: Vector) -> Bool:
    """Where a truth value is true: neither false nor null."""
    truth: Bool = vector.data
    return truth if vector.valid is None else truth & vector.valid


def scattered(values: Vector, index: npt.NDArray[Any], n: int) -> Vector:
    """`n` rows that hold `values`, in order, at `index` (row numbers or a mask), and null elsewhere."""
    given = values.over(int(np.count_nonzero(index)) if index.dtype == np.bool_ else len(index))
    data = np.zeros(n, given.data.dtype)
    data[index] = given.data
    valid = np.zeros(n, np.bool_)
    valid[index] = True if given.valid is None else given.valid
    return Vector(data, valid)


def concat_vectors(parts: Sequence[Vector]) -> Vector:
    """Vectors of one kind, none of them a constant, one after another (at least one)."""
    if len(parts) == 1:
        return parts[0]
    data = np.concatenate([part.data for part in parts])
    if all(part.valid is None for part in parts):
        return Vector(data)
    return Vector(data, np.concatenate([~part.nulls for part in parts]))
