"""Events grouped by a small code: a stable counting sort (Knuth, The Art of Computer Programming 3, section 5.2)."""

import numpy as np
import numpy.typing as npt

from stretto.values.loops import loop
from stretto.values.rows import I64


def split_by_code_reference(codes: npt.NDArray[np.int32], count: int, least: int) -> tuple[I64, I64]:
    """Indices of `codes` grouped by code, ascending in each group, and where each group starts (count + 1 numbers).

    Codes below `least` are of what nobody asks for: their groups are empty.
    """
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(codes[codes >= least], minlength=count), out=starts[1:])
    asked = np.flatnonzero(codes >= least)
    return asked[np.argsort(codes[asked], kind="stable")], starts


def recoded_reference(codes: npt.NDArray[np.int32], other: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """For each code the one that stands at its place in `other`; the last one where there is no such place."""
    found: npt.NDArray[np.int32] = other.take(np.minimum(codes.view(np.uint32), len(other) - 1))
    return found


@loop
def recoded(
    codes: npt.NDArray[np.int32], other: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32]:  # pragma: no cover - compiled
    """As the reference, in one pass."""
    found = np.empty(codes.shape[0], np.int32)
    last = np.uint32(other.shape[0] - 1)
    for i in range(codes.shape[0]):
        found[i] = other[min(np.uint32(codes[i]), last)]
    return found


@loop
def split_by_code(
    codes: npt.NDArray[np.int32], count: int, least: int
) -> tuple[I64, I64]:  # pragma: no cover - compiled
    """As the reference. What is asked for is picked out first, without a branch: often it is the smaller part."""
    asked = np.empty(codes.shape[0], np.int64)
    n = np.uint64(0)
    for i in range(codes.shape[0]):
        asked[n] = i
        n += np.uint64(codes[i] >= least)
    starts = np.zeros(count + 1, np.int64)
    for k in range(n):
        starts[codes[asked[k]] + 1] += 1
    for c in range(count):  # from sizes to places: each group begins where those before it end
        starts[c + 1] += starts[c]
    at = starts.copy()
    order = np.empty(int(n), np.int64)
    for k in range(n):
        code = codes[asked[k]]
        order[at[code]] = asked[k]
        at[code] += 1
    return order, starts
