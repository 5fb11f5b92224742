"""Decimals are compared as doubles; a warning says so where doubles do not tell them apart."""

import warnings
from decimal import Decimal

import pyarrow as pa
import pytest

import stretto
from stretto.errors import StrettoWarning

QUERY = "QUERY q PATTERN SEQ(A a, B b) WHERE a.d = b.d WITHIN 1 HOUR;"


def events(first: str, second: str, kind: pa.DataType) -> pa.Table:
    values = pa.array([Decimal(first), Decimal(second), None], kind)
    return pa.table({"ts": pa.array([1, 2, 3], pa.timestamp("us")), "type": ["A", "B", "C"], "d": values})


def test_many_digits_are_warned_of() -> None:
    far = events("12345678901234567890.12", "12345678901234567890.13", pa.decimal128(30, 2))
    with pytest.warns(StrettoWarning, match="column `d` holds decimals of more than 15 digits"):
        stretto.run(QUERY, far)


@pytest.mark.parametrize(("digits", "first"), [(38, "1234567890123.45"), (15, "9999999999999.99")])
def test_few_digits_are_told_apart(digits: int, first: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", StrettoWarning)
        found = stretto.run(
            QUERY, events(first, str(Decimal(first) - Decimal("0.01")), pa.decimal128(digits, 2))
        )
        assert len(found) == 0
        assert len(stretto.run(QUERY, events(first, first, pa.decimal128(digits, 2)))) == 1
