"""Hashes of texts depend on the texts alone."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from stretto.values.hashing import LANES, text_hashes


@given(st.lists(st.text(max_size=40), max_size=12), st.integers(0, 3))
def test_the_same_text_has_the_same_hash_wherever_it_stands(texts: list[str], skip: int) -> None:
    array = pa.array([*("skipped",) * skip, *texts], pa.string()).slice(skip)
    for lane in LANES:
        found = text_hashes(array, lane).tolist()
        assert found == [text_hashes(pa.array([text]), lane).tolist()[0] for text in texts]
        assert len(set(found)) == len(set(texts))
