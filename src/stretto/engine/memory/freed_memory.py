"""Memory that was freed stays with the process, as the next block of a step is written to it.

A block of pairs is a dozen arrays of half a megabyte, made and freed hundreds of times in a step. What glibc's malloc
does with them depends on what the process did before: it gives freed memory back to the system from 128 KiB on, until
an array of up to 32 MiB has been freed, and from then on from twice the size of that one. Memory that was given back
comes again page by page, filled with zeros. Every process is to be as one that has freed an array of 32 MiB.
"""

import ctypes
import os
import sys
from functools import cache
from typing import Final

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""glibc's names for the settings: M_TRIM_THRESHOLD and M_MMAP_THRESHOLD."""
MOST_FROM_HEAP: Final = 32 << 20
"""The most that glibc's own adaptation comes to, on 64 bits; larger arrays are given back when they are freed."""
TOLD_BY: Final = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")


@cache
def keep_freed_memory() -> None:
    """Set this once for the process, unless one of those variables tells malloc what to do."""
    if not sys.platform.startswith("linux") or any(map(os.environ.get, TOLD_BY)):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # another C library may have none
    if mallopt is not None:
        mallopt(MMAP_THRESHOLD, MOST_FROM_HEAP)
        mallopt(TRIM_THRESHOLD, 2 * MOST_FROM_HEAP)
