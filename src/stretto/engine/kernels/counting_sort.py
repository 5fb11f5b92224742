"""Events grouped by a small code: a stable counting sort (Knuth, The Art of Computer Programming 3, section 5.2)."""

import numpy as np
import numpy.typing as npt
from numba import njit

from stretto.values.rows import I64


def split_by_code_reference(codes: npt.NDArray[np.int32], count: int) -> tuple[I64, I64]:
    """Indices of `codes` grouped by code, ascending in each group, and where each group starts (count + 1 numbers)."""
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(codes, minlength=count), out=starts[1:])
    return np.argsort(codes, kind="stable").astype(np.int64), starts


@njit(cache=True, nogil=True)
def split_by_code(codes: npt.NDArray[np.int32], count: int) -> tuple[I64, I64]:
    """As the reference, in two passes over the codes."""
    starts = np.zeros(count + 1, np.int64)
    for code in codes:
        starts[code + 1] += 1
    for c in range(count):  # from sizes to places: each group begins where those before it end
        starts[c + 1] += starts[c]
    at = starts.copy()
    order = np.empty(codes.shape[0], np.int64)
    for i in range(codes.shape[0]):
        order[at[codes[i]]] = i
        at[codes[i]] += 1
    return order, starts
