"""Figures of estimates as short text."""

import pytest

from stretto.explain.numbers import columns, factor_text, number_text, rate_text, share_text, time_text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (0.0123, "0.012"),
        (3.44, "3.4"),
        (9.96, "10"),
        (340, "340"),
        (999.4, "999"),
        (999.9, "1k"),
        (1234, "1.2k"),
        (123_456, "123k"),
        (5.6e7, "56M"),
        (3e15, "3.0e+15"),
        (float("inf"), "inf"),
    ],
)
def test_numbers(number: float, text: str) -> None:
    assert number_text(number) == text


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [(0, "0ns"), (850, "850ns"), (1200, "1.2us"), (3.4e7, "34ms"), (5.6e9, "5.6s"), (1.2e12, "1.2ks")],
)
def test_times(nanoseconds: float, text: str) -> None:
    assert time_text(nanoseconds) == text


def test_rates_shares_and_factors() -> None:
    assert [rate_text(rows) for rows in (0, 0.0001, 1234)] == ["0/s", "<0.001/s", "1.2k/s"]
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


def test_columns() -> None:
    assert list(columns([["", "a"], ["long", "12"]])) == ["       a", "long  12"]
