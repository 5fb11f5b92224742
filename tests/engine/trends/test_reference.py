"""Records by reference are read as the named tuples that they are."""

import gc
from typing import NamedTuple

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from stretto.engine.trends.kernels.reference import by_reference
from stretto.values.rows import F64, I64


class Inner(NamedTuple):
    table: F64
    flags: np.ndarray


class Outer(NamedTuple):
    numbers: I64
    inner: Inner
    size: int
    more: I64


@njit
def seen(record: Outer) -> tuple[int, float, int, int, int]:
    table = record.inner.table
    total = 0.0
    for i in range(table.shape[0]):
        for j in range(table.shape[1]):
            total += (i + 1) * (j + 10) * table[i, j]
    return record.numbers.sum(), total, len(record.inner.flags), record.size, record.more[-1]


@njit
def put(record: Outer, i: int, j: int, value: float) -> None:
    record.inner.table[i, j] = value
    record.inner.flags[i] = True


@njit
def misread(record: Outer) -> int:
    return record.nothing


def record_of(n: int) -> Outer:
    table = np.arange(6.0 * n).reshape(2, 3 * n)
    return Outer(np.arange(n), Inner(table, np.zeros(n + 2, np.bool_)), -7, np.arange(5))


@pytest.mark.parametrize("n", [0, 1, 4])
def test_every_field_is_read(n: int) -> None:
    record = record_of(n)
    assert seen(by_reference(record)) == seen.py_func(record)


def test_arrays_are_written() -> None:
    record = record_of(2)
    put(by_reference(record), 1, 4, 0.5)
    assert record.inner.table[1].tolist() == [6.0, 7.0, 8.0, 9.0, 0.5, 11.0]
    assert record.inner.flags.tolist() == [False, True, False, False]


def test_what_is_referred_to_stays() -> None:
    references = [by_reference(record_of(n)) for n in range(1, 200)]
    gc.collect()
    for n, reference in enumerate(references, 1):
        assert seen(reference) == seen.py_func(record_of(n))


def test_one_loop_is_compiled_for_records_alike() -> None:
    for n in (1, 2, 3):
        seen(by_reference(record_of(n)))
    assert len(seen.signatures) == 1


def test_arrays_in_another_order_are_refused() -> None:
    record = record_of(2)
    turned = record._replace(inner=record.inner._replace(table=record.inner.table.T))
    with pytest.raises(ValueError, match="the array `table` is not in C order"):
        by_reference(turned)


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(TypingError, match="nothing"):
        misread(by_reference(record_of(1)))
