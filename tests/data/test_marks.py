"""Times of every so many-th event, and how long a number of events usually takes."""

from math import inf

import numpy as np
import pytest

from stretto.data.marks import MOST, TimeMarks


@pytest.mark.parametrize("cut", [1_000, 7_777, 100_000])
def test_marks_are_evenly_spread_however_the_events_are_cut(cut: int) -> None:
    times = np.arange(100_000, dtype=np.int64) * 10
    marks = TimeMarks()
    for start in range(0, len(times), cut):
        marks = marks.extended(times[start : start + cut])
    assert len(marks.marks) <= MOST
    assert marks.rows == len(times)
    assert marks.marks.tolist() == times[:: marks.every].tolist()
    assert marks.usual_length(25_000) == pytest.approx(250_000)
    assert marks.usual_length(200_000) == inf


def test_the_usual_length_is_that_of_most_places() -> None:
    slow, fast = np.arange(3_000) * 1_000, 3_000_000 + np.arange(20_000)
    assert TimeMarks().extended(np.concatenate([slow, fast])).usual_length(500) == pytest.approx(
        500, rel=0.01
    )
