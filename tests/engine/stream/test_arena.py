"""Columns that grow: what is appended is what is read, whether it was copied or is read where it lies."""

import pickle

import numpy as np
import pyarrow as pa
import pytest

from stretto.engine.memory import reuse
from stretto.engine.stream.arena import LENT_FROM, Growing

COUNT = 4 * LENT_FROM


@pytest.fixture(autouse=True)
def _no_debug(monkeypatch):
    monkeypatch.setattr(reuse, "debug", False)  # there everything is copied


def lent(*sizes, of=None):
    """Pieces of one array that nobody may write to."""
    whole = pa.array(np.arange(COUNT)).to_numpy() if of is None else of
    ends = np.cumsum(sizes)
    return [whole[end - size : end] for size, end in zip(sizes, ends, strict=True)]


def grown(*pieces):
    array = Growing(np.int64)
    for piece in pieces:
        array.append(piece, len(piece), lent=True)
    return array


def test_pieces_of_one_array_are_read_where_they_lie():
    pieces = lent(LENT_FROM, 7, LENT_FROM)
    array = grown(*pieces)
    assert np.shares_memory(array.borrowed, pieces[0])
    assert array.borrowed.tolist() == list(range(2 * LENT_FROM + 7))
    array.forget(5)
    assert array.borrowed[0] == 5


@pytest.mark.parametrize(
    "then",
    [np.arange(7), np.arange(COUNT)[3:][:7], np.arange(COUNT, dtype=np.int32)[:7]],
    ids=["whole", "piece of another", "other type"],
)
def test_what_lies_elsewhere_is_copied_with_all_before_it(then):
    (piece,) = lent(LENT_FROM)
    array = grown(piece)
    array.forget(10)
    array.append(then, len(then), lent=True)
    assert not np.shares_memory(array.borrowed, piece)
    assert array.borrowed.tolist() == [*range(10, LENT_FROM), *then.tolist()]
    assert piece.tolist() == list(range(LENT_FROM))


def test_a_piece_that_leaves_some_out_is_copied():
    whole = pa.array(np.arange(COUNT)).to_numpy()
    array = grown(whole[:LENT_FROM], whole[LENT_FROM + 1 : LENT_FROM + 9])
    assert array.borrowed.tolist() == [*range(LENT_FROM), *range(LENT_FROM + 1, LENT_FROM + 9)]


def test_short_pieces_and_those_behind_others_are_copied():
    short, long = lent(5, LENT_FROM)
    array = grown(short, long)
    assert not np.shares_memory(array.borrowed, long)
    assert array.borrowed.tolist() == list(range(LENT_FROM + 5))


def test_what_is_left_of_an_array_is_copied():
    pieces = lent(COUNT)
    array = grown(*pieces)
    assert np.shares_memory(array.borrowed, pieces[0])
    array.forget(COUNT - 9)
    array.settle()
    assert not np.shares_memory(array.borrowed, pieces[0])
    assert array.borrowed.tolist() == list(range(COUNT - 9, COUNT))
    assert array.nbytes < 2 * COUNT


def test_room_that_is_needed_ahead_counts_what_is_copied_with_it():
    array = grown(*lent(LENT_FROM))
    assert array.ahead(10) >= 8 * (LENT_FROM + 10)


def test_what_is_stored_of_a_longer_array_is_what_is_read():
    array = grown(*lent(COUNT))
    array.forget(COUNT - 100)
    stored = pickle.dumps(array, protocol=5)
    assert len(stored) < 8 * COUNT // 4
    again = pickle.loads(stored)
    again.append(np.array([7]), 1, lent=True)
    assert again.borrowed.tolist() == [*range(COUNT - 100, COUNT), 7]
