"""Vectors: nulls, constants and truth."""

import numpy as np

from stretto.schema import Kind
from stretto.values.vector import Vector, concat_vectors, constant, known, passes, scattered

TRUTH = Vector(np.array([True, True, False]), np.array([True, False, True]))


def test_only_what_is_true_and_known_passes() -> None:
    assert passes(TRUTH).tolist() == [True, False, False]
    assert passes(Vector(np.array([True, False]))).tolist() == [True, False]


def test_take_by_number_and_by_mask() -> None:
    taken = TRUTH.take(np.array([2, 0]))
    assert taken.data.tolist() == [False, True]
    assert taken.nulls.tolist() == [False, False]
    assert TRUTH.take(np.array([False, True, False])).nulls.tolist() == [True]


def test_a_constant_takes_the_length_of_its_neighbours() -> None:
    five = constant(5, Kind.INT)
    assert five.take(np.array([0, 1])).over(3).data.tolist() == [5, 5, 5]
    assert five.over(0).data.dtype == np.int64
    assert constant(None, Kind.STRING).over(2).nulls.tolist() == [True, True]


def test_known_is_none_without_nulls() -> None:
    assert known(constant(1, Kind.INT), constant(2, Kind.INT)) is None
    valid = known(TRUTH, constant(1, Kind.INT), TRUTH.take(np.array([1, 2, 0])))
    assert valid is not None
    assert valid.tolist() == [False, False, True]


def test_scattered_is_null_where_nothing_was_put() -> None:
    at_rows = scattered(Vector(np.array([7, 8])), np.array([3, 1]), 4)
    assert at_rows.nulls.tolist() == [True, False, True, False]
    assert at_rows.data[[1, 3]].tolist() == [8, 7]
    by_mask = scattered(constant(2, Kind.INT), np.array([True, False]), 2)
    assert (by_mask.data[0], by_mask.nulls.tolist()) == (2, [False, True])


def test_concat_keeps_nulls() -> None:
    assert concat_vectors([TRUTH, Vector(np.array([True]))]).nulls.tolist() == [False, True, False, False]
    assert concat_vectors([Vector(np.array([1])), Vector(np.array([2]))]).valid is None
