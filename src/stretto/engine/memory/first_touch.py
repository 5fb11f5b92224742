"""Pages of new memory, asked for together.

Memory that a process has never written to comes from the system page by page, each when it is first touched, and being
stopped for that takes about a third of what the page costs. Where it is known how much will be written, Linux (since
5.14) gives all pages in one call; elsewhere they come as they are touched.
"""

import ctypes
import mmap
import sys
from functools import cache
from typing import Any, Final

import numpy.typing as npt

POPULATE_WRITE: Final = 23
"""MADV_POPULATE_WRITE, which the module mmap has no name for."""


def ask_for_pages(array: npt.NDArray[Any], count: int) -> None:
    """Have the pages ready that the first `count` elements of each row of an array will be written to."""
    advise = _madvise()
    if advise is None or count <= 0:
        return
    address, row_bytes = array.ctypes.data, array.strides[0]
    size = count * array.itemsize
    # Rows that are written to almost to their end are one stretch.
    stretches = [(0, array.nbytes)] if size > row_bytes - mmap.PAGESIZE else []
    for start, length in stretches or [(row * row_bytes, size) for row in range(len(array))]:
        begin = address + start
        # Only whole pages: the first and the last may hold what others wrote.
        low, high = -(-begin // mmap.PAGESIZE), (begin + length) // mmap.PAGESIZE
        if low < high:
            advise(low * mmap.PAGESIZE, (high - low) * mmap.PAGESIZE, POPULATE_WRITE)


@cache
def _madvise() -> Any:
    """The system's call; None where there is no such thing. What it answers does not matter: pages then come later."""
    if not sys.platform.startswith("linux"):
        return None
    found = getattr(ctypes.CDLL(None), "madvise", None)
    if found is not None:
        found.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return found
