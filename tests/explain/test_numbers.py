"""Figures of estimates as short text."""

import pytest

from stretto.explain.numbers import (
    bytes_text,
    columns,
    factor_text,
    number_text,
    rate_text,
    rows_text,
    share_text,
    time_text,
)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (0.0123, "0.012"),
        (3.44, "3.4"),
        (9.96, "10"),
        (340, "340"),
        (999.4, "999"),
        (999.9, "1,000"),
        (1234, "1,234"),
        (123_456, "123,456"),
        (5.6e7, "56 million"),
        (1e-5, "1.0e-05"),
        (3e15, "3.0e+15"),
        (float("inf"), "inf"),
    ],
)
def test_numbers(number: float, text: str) -> None:
    assert number_text(number) == text


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0 ns"),
        (850, "850 ns"),
        (1200, "1.2 us"),
        (3.4e7, "34 ms"),
        (5.6e9, "5.6 s"),
        (119e9, "119 s"),
        (120e9, "2 min"),
        (3.4 * 60e9, "3.4 min"),
        (1.2e12, "20 min"),
        (5 * 3600e9, "5 hours"),
        (4.7 * 86400e9, "4.7 days"),
    ],
)
def test_times(nanoseconds: float, text: str) -> None:
    assert time_text(nanoseconds) == text


def test_rates_shares_and_factors() -> None:
    assert [rate_text(rows) for rows in (0, 0.0001, 1 / 1800, 1234)] == [
        "0/s",
        "8.6/day",
        "2/hour",
        "1,234/s",
    ]
    assert [rows_text(rows) for rows in (0, 0.01, 0.34, 1, 1204, 3e6)] == [
        "0 rows",
        "0 rows",
        "0.3 rows",
        "1 row",
        "1,204 rows",
        "3 million rows",
    ]
    assert [bytes_text(size) for size in (0, 850, 1_200_000)] == ["0 B", "850 B", "1.2 MB"]
    assert [share_text(part, 100) for part in (0, 0.01, 0.44, 9.96, 93.2)] == [
        "0%",
        "<0.1%",
        "0.4%",
        "10%",
        "93%",
    ]
    assert share_text(1, 0) == "0%"
    assert [factor_text(factor) for factor in (0.071, 1.022, 3.24, 14.2)] == [
        "0.071x",
        "1.02x",
        "3.2x",
        "14x",
    ]
    assert factor_text(1204) == "1,204x"


def test_columns() -> None:
    assert list(columns([["", "a"], ["long", "12"]])) == ["       a", "long  12"]
