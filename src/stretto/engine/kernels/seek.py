"""Places of many values in a sorted array, found from one to the next."""

import numpy as np
from numba import njit

from stretto.engine.rows import I64


def seek_reference(array: I64, values: I64, *, after: bool) -> I64:
    """Per value, how many entries of the sorted array are less than it (`after`: at most it)."""
    return np.searchsorted(array, values, side="right" if after else "left")


@njit(cache=True, nogil=True)
def seek(array: I64, values: I64, after: int) -> I64:
    """As the reference. Steps double from the last place on: values in order cost a comparison or two each."""
    n = array.shape[0]
    places = np.empty(values.shape[0], np.int64)
    at = 0
    for i in range(values.shape[0]):
        # The place of v is the first entry >= v, or > v, which is >= v + 1 for integers.
        value = values[i]
        step = 1
        if at < n and (array[at] < value or (after and array[at] == value)):
            low = at + 1
            high = at + 1
            while high < n and (array[high] < value or (after and array[high] == value)):
                low = high + 1
                high += step
                step *= 2
            high = min(high, n)
        else:
            high = at
            low = at
            while low > 0 and not (array[low - 1] < value or (after and array[low - 1] == value)):
                high = low - 1
                low = max(high - step, 0)
                step *= 2
        while low < high:
            middle = (low + high) // 2
            if array[middle] < value or (after and array[middle] == value):
                low = middle + 1
            else:
                high = middle
        places[i] = low
        at = low
    return places
