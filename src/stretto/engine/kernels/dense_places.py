"""Numbers of keys that have places of their own in a table."""

import numpy as np
import numpy.typing as npt

from stretto.values.loops import loop
from stretto.values.rows import I64


@loop
def found_at_places(
    keys: I64, least: int, numbers: npt.NDArray[np.int32]
) -> I64:  # pragma: no cover - compiled
    """The number at each key's place, which is its distance from the least one; -1 where there is no such place."""
    found = np.empty(keys.shape[0], np.int64)
    most = least + numbers.shape[0]
    for i in range(keys.shape[0]):
        key = keys[i]
        found[i] = numbers[key - least] if least <= key < most else -1
    return found
