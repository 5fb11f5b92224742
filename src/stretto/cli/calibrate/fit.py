"""Prices that explain measured times: least squares, none below zero."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from stretto.memo.prices import Prices
from stretto.records import dataclass

F64 = npt.NDArray[np.float64]

TIE = 0.2
"""How much the relative change of a price weighs, where the relative error of a trial weighs 1."""
SWEEPS = 5_000


@dataclass(frozen=True, slots=True)
class Fit:
    """Prices, and for each trial the predicted time divided by the measured one."""

    prices: Prices
    ratios: tuple[float, ...]

    @property
    def error(self) -> float:
        """The mean of |log2(predicted / measured)|, as a factor: 1.1 is ten percent off."""
        return float(2 ** np.mean(np.abs(np.log2(self.ratios))))


def fit_prices(work: F64, nanoseconds: Sequence[float], old: Prices) -> Fit:
    """The prices that give the least relative errors.

    Where the trials say little they stay near the old ones, times how much slower than these the machine is in all.
    """
    times = np.asarray(nanoseconds, np.float64)
    start = np.maximum(np.array(old.values()), 1e-3)
    start *= np.median(times / (work @ start))
    relative = work * start / times[:, None]
    design = np.vstack([relative, TIE * np.eye(len(start))])
    wanted = np.concatenate([np.ones(len(times)), np.full(len(start), TIE)])
    found = non_negative_least_squares(design, wanted)
    return Fit(Prices.of([float(price) for price in found * start]), tuple(map(float, relative @ found)))


def non_negative_least_squares(design: F64, wanted: F64) -> F64:
    """The x >= 0 with the least |design x - wanted|, one coordinate after another until nothing moves."""
    gram, target = design.T @ design, design.T @ wanted
    x = np.ones(design.shape[1])
    for _ in range(SWEEPS):
        moved = 0.0
        for i in range(len(x)):
            if gram[i, i] > 0:
                new = max(0.0, x[i] + (target[i] - gram[i] @ x) / gram[i, i])
                moved = max(moved, abs(new - x[i]))
                x[i] = new
        if moved < 1e-9:
            break
    return x
