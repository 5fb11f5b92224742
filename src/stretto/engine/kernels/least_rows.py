"""The least of few rows by several columns of numbers, the first column first, among those that belong together."""

import numpy as np

from stretto.values.loops import loop
from stretto.values.rows import I64, Bool


def least_of_each_reference(number: I64, columns: I64) -> Bool:
    """Which rows are the least of those with their number; of equal ones the first. Numbers are counted from 0."""
    order = np.lexsort((*columns[::-1], number))
    least = np.zeros(len(number), np.bool_)
    ordered = number[order]
    least[order[np.append(True, ordered[1:] != ordered[:-1])[: len(order)]]] = True
    return least


@loop
def least_of_each(number: I64, columns: I64) -> Bool:  # pragma: no cover - compiled
    """As the reference."""
    count = 0
    for row in range(number.shape[0]):
        count = max(count, number[row] + 1)
    best = np.full(count, -1, np.int64)
    least = np.zeros(number.shape[0], np.bool_)
    for row in range(number.shape[0]):
        other = best[number[row]]
        if other < 0 or _is_less(columns, row, other):
            if other >= 0:
                least[other] = False
            least[row] = True
            best[number[row]] = row
    return least


def sorted_runs_reference(ends: I64, columns: I64) -> I64:
    """The rows of each run in their order, run by run; equal ones as they lie. A run begins where the last one ends."""
    run = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
    order: I64 = np.lexsort((*columns[::-1], run))
    return order


@loop
def sorted_runs(ends: I64, columns: I64) -> I64:  # pragma: no cover - compiled
    """As the reference, by insertion: for short runs."""
    order = np.arange(columns.shape[1])
    begin = 0
    for end in ends:
        for row in range(begin + 1, end):
            place = row
            while place > begin and _is_less(columns, row, order[place - 1]):
                order[place] = order[place - 1]
                place -= 1
            order[place] = row
        begin = end
    return order


@loop
def _is_less(columns: I64, row: int, other: int) -> bool:  # pragma: no cover - compiled
    for column in range(columns.shape[0]):
        if columns[column, row] != columns[column, other]:
            return bool(columns[column, row] < columns[column, other])
    return False
