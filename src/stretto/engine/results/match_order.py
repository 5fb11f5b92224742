"""The order in which matches are looked at: by when they were detected, by their times, and by their ids."""

from collections.abc import Iterator, Sequence

import numpy as np

from stretto.engine.kernels.least_rows import (
    least_of_each,
    least_of_each_reference,
    sorted_runs,
    sorted_runs_reference,
)
from stretto.engine.kernels.when_to_compile import is_due
from stretto.engine.results.match_chunks import NO_ID, MatchChunk
from stretto.values.rows import I64, Bool, Column, Sets, take_column
from stretto.values.strings import Strings

SHORT = 64
"""Matches of one time that are sorted by insertion."""


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
    walk = least_of_each if is_due(least_of_each, len(chunk)) else least_of_each_reference
    return np.flatnonzero(walk(numbers, _columns(chunk, text_ids)))


def in_runs(chunk: MatchChunk, ends: I64, *, text_ids: bool = False) -> I64:
    """The numbers of matches in that order, where those of one `detected` lie next to each other, up to these ends."""
    by_hand = int(np.diff(ends, prepend=0).max(initial=0)) <= SHORT and is_due(sorted_runs, len(chunk))
    walk = sorted_runs if by_hand else sorted_runs_reference
    order: I64 = walk(ends, _columns(chunk, text_ids))
    return order


def _columns(chunk: MatchChunk, text_ids: bool) -> I64:
    """What orders matches of one `detected`."""
    return np.stack([chunk.end, chunk.start, *_bound(chunk, None, text_ids)])


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


def _bound(chunk: MatchChunk, rows: I64 | None, text_ids: bool) -> Iterator[I64]:
    """Columns that order these rows, or all of them, as their ids do."""
    for column in chunk.ids:
        ids = column if rows is None else take_column(column, rows)
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
        return [column.astype(np.int64, copy=False)]
    lengths = column.lengths
    longest = int(lengths.max(initial=0))
    padded = np.full((len(lengths), longest), NO_ID, np.int64)
    padded[np.arange(longest) < lengths[:, None]] = column.values
    return list(padded.T)
