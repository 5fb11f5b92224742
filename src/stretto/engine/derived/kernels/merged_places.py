"""Where sorted values stand among sorted others: one walk through both."""

import numpy as np

from stretto.values.loops import loop
from stretto.values.rows import I64


@loop
def places_after(array: I64, values: I64) -> I64:
    """Per value, how many entries are not greater; neither the entries nor the values decrease.

    The first place is searched for, since a long window may lie before it.
    """
    places = np.empty(values.shape[0], np.int64)
    at, n = 0, array.shape[0]
    if values.shape[0]:
        at = np.searchsorted(array, values[0], side="right")
    for i in range(values.shape[0]):
        value = values[i]
        while at < n and array[at] <= value:
            at += 1
        places[i] = at
    return places
