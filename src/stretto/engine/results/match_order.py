"""The order in which matches are looked at: by when they were detected, by their times, and by their ids."""

import numpy as np

from stretto.engine.results.match_chunks import NO_ID, MatchChunk
from stretto.values.rows import I64, Column, Sets, take_column
from stretto.values.strings import Strings


def in_order(chunk: MatchChunk, *, text_ids: bool = False) -> I64:
    """The numbers of the matches by `detected`, `end`, `start`, and then by the ids of each variable in turn.

    `text_ids`: ids are codes of texts, which order as these do.
    """
    order: I64 = np.lexsort((chunk.start, chunk.end, chunk.detected))
    times = [times[order] for times in (chunk.detected, chunk.end, chunk.start)]
    same = np.ones(max(len(order) - 1, 0), np.bool_)
    for column in times:
        same &= column[1:] == column[:-1]
    if not same.any():
        return order
    # Only among those of equal times do ids decide, and these stand next to each other.
    tied = np.zeros(len(order), np.bool_)
    tied[1:] |= same
    tied[:-1] |= same
    places = np.flatnonzero(tied)
    rows = order[places]
    keys = [times[tied] for times in times]
    bound = [take_column(column, rows) for column in chunk.ids]
    if text_ids:
        bound = [_ranked(column, chunk.strings) for column in bound]
    keys += [key for column in bound for key in _keys(column)]
    order[places] = rows[np.lexsort(keys[::-1])]
    return order


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
