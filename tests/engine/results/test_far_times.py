"""Matches of years that Python does not have, as iteration gives them."""

import pyarrow as pa

import stretto
from stretto.values.times import YEAR_10000_US


def test_matches_of_far_years_have_their_times_as_texts() -> None:
    times = [1, 2, YEAR_10000_US + 5, YEAR_10000_US + 6]
    events = pa.table({"ts": pa.array(times, pa.timestamp("us")), "type": ["A", "B"] * 2})
    matches = stretto.run("QUERY q PATTERN SEQ(A a, B b) WITHIN 1 HOUR RETURN a.ts AS at;", events)
    near, far = list(matches)
    assert matches[1] == far
    assert matches[:2] == [near, far]
    assert list(near) == list(far)
    assert far["start"] == "+10000-01-01 00:00:00.000005"
    assert far["returned"] == {"at": "+10000-01-01T00:00:00.000005"}
    assert "+10000-01-01 00:00:00.000006" in matches._repr_html_()
