"""Pages that are asked for together: whatever the system answers, what stood in the memory stays."""

import numpy as np
import pytest

from stretto.engine.memory.first_touch import ask_for_pages


@pytest.mark.parametrize("count", [-3, 0, 1, 1_000, 5_000])
def test_what_is_there_stays(count):
    whole = np.arange(5 * 5_000, dtype=np.int64).reshape(5, 5_000)
    before = whole.copy()
    ask_for_pages(whole[1:4], count)
    np.testing.assert_array_equal(whole, before)


def test_new_memory_is_there_to_be_written():
    room = np.empty((3, 1 << 17), np.int32)
    ask_for_pages(room, 1 << 17)
    ask_for_pages(np.empty((2, 0), np.int64), 0)
    room[:] = 7
    assert room.sum() == 7 * room.size
