"""The order in which matches are looked at: by when they were detected, by their times, and by their ids."""

from collections.abc import Iterator, Sequence

import numpy as np

from stretto.engine.results.match_chunks import NO_ID, MatchChunk
from stretto.values.rows import I64, Bool, Column, Sets, take_column
from stretto.values.strings import Strings


def in_order(chunk: MatchChunk, *, text_ids: bool = False) -> I64:
    """The numbers of the matches by `detected`, `end`, `start`, and then by the ids of each variable in turn.

    `text_ids`: ids are codes of texts, which order as these do.
    """
    times = [chunk.detected, chunk.end, chunk.start]
    order = _sorted(times)
    times = [column[order] for column in times]
    # Only among those of equal times do ids decide, and these stand next to each other.
    tied = _tied(times)
    if tied.any():
        rows = order[tied]
        order[tied] = rows[_sorted([*(column[tied] for column in times), *_bound(chunk, rows, text_ids)])]
    return order


def first_of_each(chunk: MatchChunk, numbers: I64, *, text_ids: bool = False) -> I64:
    """Of the matches that share a number, all of one `detected`, the first in that order: ascending."""
    rows = np.flatnonzero(np.bincount(numbers)[numbers] > 1)
    mine = numbers[rows]
    order = _sorted([mine, chunk.end[rows], chunk.start[rows], *_bound(chunk, rows, text_ids)])
    mine = mine[order]
    first = np.ones(len(numbers), np.bool_)
    first[rows[order[1:][mine[1:] == mine[:-1]]]] = False
    return np.flatnonzero(first)


def _sorted(keys: Sequence[I64]) -> I64:
    """The order of rows by their keys, the first one first. Often they lie in it, or do but for the first key."""
    order: I64 = np.arange(len(keys[0]))
    if _ascend(keys):
        return order
    order = np.argsort(keys[0], kind="stable")
    return order if _ascend([key[order] for key in keys]) else np.lexsort(keys[::-1])


def _ascend(keys: Sequence[I64]) -> bool:
    same = np.ones(max(len(keys[0]) - 1, 0), np.bool_)
    for key in keys:
        if (same & (key[1:] < key[:-1])).any():
            return False
        same &= key[1:] == key[:-1]
    return True


def _tied(keys: Sequence[I64]) -> Bool:
    """Which rows, in order, have the same keys as a neighbour."""
    tied = np.zeros(len(keys[0]), np.bool_)
    if len(tied):
        same = np.logical_and.reduce([key[1:] == key[:-1] for key in keys])
        tied[1:] |= same
        tied[:-1] |= same
    return tied


def _bound(chunk: MatchChunk, rows: I64, text_ids: bool) -> Iterator[I64]:
    """Columns that order these rows as their ids do."""
    for column in chunk.ids:
        ids = take_column(column, rows)
        yield from _keys(_ranked(ids, chunk.strings) if text_ids else ids)


def _ranked(column: Column, strings: Strings) -> Column:
    """Ids that are codes of texts as numbers that order as these do; what binds nothing stays before all."""
    if isinstance(column, Sets):
        return Sets(column.offsets, strings.ranks_among(column.values))
    there = column != NO_ID
    ranks = np.full(len(column), NO_ID, np.int64)
    ranks[there] = strings.ranks_among(column[there])
    return ranks


def _keys(column: Column) -> list[I64]:
    """Columns that order as the lists of ids do, a list before those that it begins."""
    if not isinstance(column, Sets):
        return [column.astype(np.int64)]
    lengths = column.lengths
    longest = int(lengths.max(initial=0))
    padded = np.full((len(lengths), longest), NO_ID, np.int64)
    padded[np.arange(longest) < lengths[:, None]] = column.values
    return list(padded.T)
