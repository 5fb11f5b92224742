"""Strings: codes stand for texts, ranks for their order."""

import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.values.strings import Strings

TEXT = st.text(max_size=3) | st.sampled_from(["a", "b", "\U0001f600", "\uffff"])
TEXTS = st.lists(st.none() | TEXT, max_size=20)
TYPES = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]


@settings(deadline=None)
@given(st.lists(TEXTS, max_size=4), st.sampled_from(TYPES))
def test_texts_come_back(batches, arrow_type) -> None:
    strings = Strings()
    encoded = [strings.encode(pa.array(batch, pa.string()).cast(arrow_type)) for batch in batches]
    for batch, vector in zip(batches, encoded, strict=True):
        assert strings.texts(vector.data, vector.valid).to_pylist() == batch
    assert len(strings) == len({text for batch in batches for text in batch} - {None})


@settings(deadline=None)
@given(st.lists(TEXTS, max_size=4))
def test_ranks_order_as_texts_do(batches) -> None:
    strings = Strings()
    for batch in batches:
        texts = [text for text in batch if text is not None]
        codes = strings.encode(pa.array(texts, pa.string())).data
        ranks = strings.rank(codes)
        assert [texts[i] for i in np.argsort(ranks, kind="stable")] == sorted(texts)
        np.testing.assert_array_equal(strings.ranked(ranks), codes)


def test_equal_texts_have_one_code_whatever_their_source() -> None:
    strings = Strings()
    a = strings.code("a")
    chunked = pa.chunked_array([["b", "a"], ["a", None]])
    assert strings.encode(chunked).data[:3].tolist() == [strings.code("b"), a, a]
    assert strings.code("a") == a
    assert len(strings) == 2


def test_a_dictionary_may_hold_nulls_and_repeat_a_text() -> None:
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None], pa.int32()), pa.array(["x", None, "x"]))
    strings = Strings()
    vector = strings.encode(array)
    assert vector.valid is not None
    assert vector.valid.tolist() == [True, False, True, False]
    assert vector.data[0] == vector.data[2]


def test_codes_under_nulls_are_harmless() -> None:
    strings = Strings()
    assert strings.rank(np.array([7, -3])).shape == (2,)
    strings.code("a")
    assert strings.rank(np.array([7, -3])).shape == (2,)
    assert strings.texts(np.array([0, 99]), np.array([True, False])).to_pylist() == ["a", None]


@pytest.mark.parametrize("arrow_type", TYPES, ids=str)
def test_nothing_and_nothing_but_nulls(arrow_type) -> None:
    strings = Strings()
    assert len(strings.encode(pa.array([], pa.string()).cast(arrow_type))) == 0
    vector = strings.encode(pa.array([None, None], pa.string()).cast(arrow_type))
    assert vector.valid is not None
    assert not vector.valid.any()


def test_strings_survive_pickling() -> None:
    strings = Strings()
    codes = strings.encode(pa.array(["b", "a"])).data
    assert pickle.loads(pickle.dumps(strings)).texts(codes).to_pylist() == ["b", "a"]
