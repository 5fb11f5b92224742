"""The least rows among those that belong together: loops and their twins agree, with ties and without rows."""

import numpy as np
import pytest

from stretto.engine.kernels.least_rows import (
    least_of_each,
    least_of_each_reference,
    sorted_runs,
    sorted_runs_reference,
)


@pytest.mark.parametrize("seed", range(30))
def test_the_least_of_each_number_is_marked(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, width = int(rng.integers(0, 40)), int(rng.integers(1, 4))
    number, columns = rng.integers(0, 9, count), rng.integers(-2, 2, (width, count))
    rows = [(own, *row, place) for place, (own, row) in enumerate(zip(number, columns.T, strict=True))]
    expected = {min(row for row in rows if row[0] == own)[-1] for own in set(number.tolist())}
    for walk in (least_of_each, least_of_each_reference):
        assert set(np.flatnonzero(walk(number, columns)).tolist()) == expected


@pytest.mark.parametrize("seed", range(30))
def test_runs_are_sorted_each_by_itself_and_equal_rows_stay(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ends = np.cumsum(rng.integers(1, 9, int(rng.integers(0, 6))))
    count = int(ends[-1]) if len(ends) else 0
    columns = rng.integers(-2, 2, (int(rng.integers(1, 4)), count))
    expected = [
        row
        for begin, end in zip([0, *ends.tolist()], ends.tolist(), strict=False)
        for row in sorted(range(begin, end), key=lambda row: (*columns[:, row].tolist(), row))
    ]
    for walk in (sorted_runs, sorted_runs_reference):
        assert walk(ends, columns).tolist() == expected
