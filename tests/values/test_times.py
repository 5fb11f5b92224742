"""Times as texts: every one of them can be read back."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.data.casts import to_time
from stretto.values.texts import time_texts, value_texts
from stretto.values.times import END_OF_TIME, START_OF_TIME, time_text

SECOND = 1_000_000
DAY = 86_400 * SECOND
INT64 = np.iinfo(np.int64)


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (0, "1970-01-01 00:00:00.000000"),
        (253_402_300_800_000_000 - 1, "9999-12-31 23:59:59.999999"),
        (253_402_300_800_000_000, "+10000-01-01 00:00:00.000000"),
        (-62_135_596_800_000_000, "0001-01-01 00:00:00.000000"),
        (-62_167_219_200_000_000, "0000-01-01 00:00:00.000000"),
        (-62_167_219_200_000_000 - 1, "-0001-12-31 23:59:59.999999"),
        (END_OF_TIME - 1, "+148108-07-06 14:00:27.387903"),
        (START_OF_TIME + 1, "-144169-06-28 09:59:32.612097"),
        (int(INT64.max), "+294247-01-10 04:00:54.775807"),
    ],
)
def test_one_time(us: int, text: str) -> None:
    assert time_text(us) == text
    assert time_texts(pa.array([us, None], pa.timestamp("us"))).to_pylist() == [text, None]


@given(st.lists(st.none() | st.integers(START_OF_TIME + 1, END_OF_TIME - 1), min_size=1))
def test_a_time_reads_back_as_itself(us: list[int | None]) -> None:
    times = pa.array(us, pa.timestamp("us"))
    for texts in (time_texts(times), time_texts(times.cast(pa.timestamp("us", "UTC")))):
        again, bad = to_time(texts)
        assert bad is None
        assert again.cast(pa.int64()).to_pylist() == us


def test_far_texts_may_have_zones_and_finer_digits() -> None:
    texts = pa.array(
        ["+12345-01-01T01:00:00+01:00", "+12345-01-01", "-0044-03-15T00:00:00.123456789Z", "2024-01-01"]
    )
    again, bad = to_time(texts)
    assert bad is None
    assert value_texts(again).to_pylist() == [
        "+12345-01-01 00:00:00.000000",
        "+12345-01-01 00:00:00.000000",
        "-0044-03-15 00:00:00.123456",
        "2024-01-01 00:00:00.000000",
    ]


def test_texts_of_no_time() -> None:
    texts = pa.array(["+999999-01-01", "+12345-13-01", "12345-01-01", "+123-01-01", "+12345-01-01 and more"])
    again, bad = to_time(texts)
    assert bad is not None
    assert bad.all()
    assert again.null_count == len(texts)


def test_dates_and_what_no_microseconds_hold() -> None:
    days = pa.array([0, 10_000_000, 2**31 - 1, None], pa.int32()).view(pa.date32())
    assert value_texts(days).to_pylist() == ["1970-01-01", "+29349-01-26", "2147483647 days since 1970", None]
    seconds = pa.array([1, -(2**50)], pa.timestamp("s"))
    assert value_texts(seconds).to_pylist() == ["1970-01-01 00:00:01", f"{-(2**50)} seconds since 1970"]
