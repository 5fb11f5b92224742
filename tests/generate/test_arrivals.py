"""Types with rates of their own, and values carried from block to block."""

import numpy as np
import pytest

from stretto.generate.arrivals import HIGHEST, LOWEST, Grouped, sources


def test_rates_fill_the_range_evenly_on_a_logarithmic_scale() -> None:
    found = sources("S", 300)
    rates = np.sort(found.rates)
    assert LOWEST < rates[0] < rates[-1] < HIGHEST
    middle = (LOWEST * HIGHEST) ** 0.5
    assert (rates < middle).sum() == 150
    assert found.names[:2] == ("S001", "S002")
    assert sources("S", 300) == found


def test_shares_go_by_rate() -> None:
    found = sources("P", 4)
    codes = np.random.default_rng(0).choice(4, 100_000, p=found.shares)
    shares = np.bincount(codes) / 100_000
    assert shares == pytest.approx(np.array(found.rates) / found.total, abs=0.01)


def test_walks_and_previous_values_go_on_in_the_next_block() -> None:
    random = np.random.default_rng(3)
    codes, steps = random.integers(0, 5, 60), random.integers(-9, 9, 60)
    at, last = np.arange(5) * 100, np.arange(5) * 1.5
    here, before = at.copy(), last.copy()
    walked: list[int] = []
    previous: list[float] = []
    for code, step in zip(codes, steps, strict=True):
        here[code] += step
        walked.append(here[code])
        previous.append(before[code])
        before[code] = step
    for part in (slice(0, 23), slice(23, 60)):
        grouped = Grouped.by(codes[part])
        assert grouped.walk(steps[part], at).tolist() == walked[part]
        assert grouped.previous(steps[part].astype(np.float64), last).tolist() == previous[part]
    assert at.tolist() == here.tolist()
