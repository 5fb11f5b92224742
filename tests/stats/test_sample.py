"""A sample by position: windows, types, values and codes."""

import numpy as np
import pyarrow as pa
from tests.stats.worlds import piece_of

from stretto.pattern.nodes import Stream, Window
from stretto.schema import Schema
from stretto.stats.sample import NULL, Sample

FIRST = pa.table(
    {
        "ts": [0, 10, 10, 25],
        "type": ["A", "B", "A", "B"],
        "x": [1.0, 2.0, None, 4.0],
        "k": [7, 7, 8, None],
        "w": ["a", "b", None, "a"],
    }
)
SECOND = pa.table({"ts": [20, 100], "type": ["A", "A"], "x": [0.0, 9.0], "k": [8, 7], "w": ["b", "b"]})
LOOSE = pa.table({"ts": [50], "type": ["C"], "x": [3.0], "k": [8], "w": ["c"]})
SAMPLE = Sample([FIRST, SECOND], LOOSE, Schema.of(FIRST.schema))


def test_windows_stay_in_their_stretch() -> None:
    reach = SAMPLE.reach(Window(15))
    assert reach.low.tolist() == [0, 0, 0, 1, 4, 5]
    assert reach.high.tolist() == [3, 4, 4, 4, 5, 6]
    by_number = SAMPLE.reach(Window(2, "events"))
    assert by_number.low.tolist() == [0, 0, 1, 2, 4, 4]
    assert by_number.high.tolist() == [2, 3, 4, 4, 6, 6]
    assert SAMPLE.reach(Window(1 << 62)).high.tolist() == [4, 4, 4, 4, 6, 6]
    assert set(SAMPLE.reach(None).high.tolist()) == {7}


def test_events_of_one_time_are_in_no_order() -> None:
    assert SAMPLE.before.tolist() == [0, 1, 1, 3, 4, 5]
    assert SAMPLE.after.tolist() == [1, 3, 3, 4, 5, 6]


def test_members_of_streams() -> None:
    found = SAMPLE.members(Stream("A"))
    assert (found.positions.tolist(), found.inside) == ([0, 2, 4, 5], 4)
    stream = piece_of("A a WHERE a.x > 0.5 WITHIN 1s").slots[0].source
    assert SAMPLE.members(stream).positions.tolist() == [0, 5]
    assert SAMPLE.members(Stream("C")).inside == 0
    assert SAMPLE.members(Stream("Z")).positions.tolist() == []
    assert SAMPLE.ranks(Stream("B")).tolist() == [0, 0, 1, 1, 2, 2, 2, 2]


def test_codes_are_equal_where_values_are() -> None:
    left, right = SAMPLE.codes("k", "k")
    assert left is not None
    assert left.tolist() == right.tolist()
    assert left[0] == left[1] == left[5] != left[2]
    assert left[3] == NULL
    keys, positions = SAMPLE.index(Stream("A"), "k", "k")
    assert positions.tolist() == [0, 5, 2, 4]
    assert (np.diff(keys) > 0).all()
    words, _ = SAMPLE.codes("w", "w")
    assert words[0] == words[3]
    assert words[2] == NULL
    one, other = SAMPLE.codes("x", "k")
    assert one[5] != other[5]
