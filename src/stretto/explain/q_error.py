"""How far estimates are off."""

from collections.abc import Sequence
from math import exp, log
from statistics import median
from typing import Any

from stretto.explain.numbers import number_text


def q_error(estimated: float, measured: float) -> float:
    """max(e/m, m/e): by which factor an estimate is off, 1 where it is right.

    Less than one row counts as one row on both sides: an estimate of 0.01 rows where none came is right, and one of 50
    where none came is off by 50.
    """
    one, other = max(estimated, 1.0), max(measured, 1.0)
    return max(one / other, other / one)


def geometric_mean(values: Sequence[float]) -> float:
    return exp(sum(map(log, values)) / len(values))


def errors_json(errors: Sequence[tuple[float, int]], what: str) -> dict[str, Any] | None:
    """Mean, median and worst of q-errors with the numbers of what they belong to, the worst last; None of none."""
    if not errors:
        return None
    values = [error for error, _ in errors]
    worst, number = errors[-1]
    return {"mean": geometric_mean(values), "median": median(values), "worst": worst, what: number}


def errors_text(errors: Sequence[tuple[float, int]], letter: str) -> str:
    """The same in words; there is at least one."""
    values = [error for error, _ in errors]
    worst, number = errors[-1]
    return (
        f"mean {q_error_text(geometric_mean(values))} (geometric), median {q_error_text(median(values))},"
        f" worst {q_error_text(worst)} at {letter}{number}"
    )


def q_error_text(error: float) -> str:
    return f"{error:.2f}" if error < 10 else number_text(error)
