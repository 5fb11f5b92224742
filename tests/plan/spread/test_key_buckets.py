"""Buckets: equal values meet, in any type of column, any batch, and any process."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from stretto.plan.spread.key_buckets import buckets_of

TEXTS = st.lists(st.one_of(st.none(), st.text(max_size=8)), max_size=30)


def buckets(column, count: int = 1000) -> list[int]:
    return buckets_of(pa.record_batch({"k": column}), ("k",), count).tolist()


@given(TEXTS)
def test_texts_meet_however_they_are_kept(texts: list[str | None]) -> None:
    plain = buckets(pa.array(texts, pa.string()))
    assert plain == buckets(pa.array(texts, pa.large_string()))
    assert plain == buckets(pa.array(texts, pa.string()).dictionary_encode())
    assert plain == buckets(pa.array(["before", *texts, "after"], pa.string()).slice(1, len(texts)))
    one_by_one = [buckets(pa.array([text], pa.string()))[0] for text in texts]
    assert plain == one_by_one


def test_different_texts_are_spread() -> None:
    found = buckets(pa.array([f"user{i}" for i in range(10_000)]), 16)
    counts = np.bincount(found, minlength=16)
    assert counts.min() > 500


def test_different_numbers_are_spread() -> None:
    for column in (pa.array(range(10_000)), pa.array(np.arange(10_000) / 7.0)):
        counts = np.bincount(buckets(column, 16), minlength=16)
        assert counts.min() > 500


def test_both_zeros_are_one_value() -> None:
    zero, minus = buckets(pa.array([0.0, -0.0]))
    assert zero == minus


def test_times_dates_and_booleans() -> None:
    at = [86_400_000_000, 0]
    assert buckets(pa.array(at, pa.timestamp("us"))) == buckets(pa.array([1, 0], pa.date32()))
    assert len(set(buckets(pa.array([True, False, None])))) == 3
    assert buckets(pa.array([1, 2], pa.int8())) == buckets(pa.array([1, 2], pa.int64()))


def test_several_attributes() -> None:
    batch = pa.record_batch({"a": ["x", "x", "y", None], "b": [1, 2, 1, 1]})
    found = buckets_of(batch, ("a", "b"), 1 << 40).tolist()
    assert len(set(found)) == 4


def test_buckets_are_the_same_for_good() -> None:
    """A stream that starts again must find its keys where they were."""
    assert buckets(pa.array(["a", "", None, "ü"])) == buckets(pa.array(["a", "", None, "ü"]))
    assert buckets(pa.array([1, 2, 3])) == GOLDEN_NUMBERS
    assert buckets(pa.array(["a", "b", ""])) == GOLDEN_TEXTS


GOLDEN_NUMBERS = [752, 946, 921]
GOLDEN_TEXTS = [929, 612, 796]
