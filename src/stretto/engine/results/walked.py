"""Matches of a step in the order in which they were detected, read as they lie: most are dropped by their times."""

from collections.abc import Sequence

import numpy as np

from stretto.engine.results.match_chunks import MatchChunk, wide_column
from stretto.engine.rows.row_blocks import rises
from stretto.values.rows import I64, Column, Sets, concat_columns, take_column, whole_times
from stretto.values.vector import concat_vectors

Times = tuple[I64, I64, int]
"""When matches were detected, what those of one time are looked at by, and the time that both are counted from."""


def in_turn(parts: Sequence[Times]) -> tuple[Sequence[Times], I64 | None]:
    """The times of matches by when these were detected, and in which order that is; None: that in which they lie."""
    ends = [since + int(time) for detected, _, since in parts for time in (detected[0], detected[-1])]
    if sorted(ends) == ends and all(rises(detected) for detected, _, _ in parts):
        return [_alike(*part) for part in parts], None
    detected = np.concatenate([whole_times(times, since) for times, _, since in parts])
    rank = np.concatenate([whole_times(ranks, since) for _, ranks, since in parts])
    order = np.argsort(detected, kind="stable")
    return [(detected[order], rank[order], 0)], order


def _alike(detected: I64, rank: I64, since: int) -> Times:
    """Both in arrays of one kind, so that there are two loops to compile at most."""
    if detected.dtype != rank.dtype:
        detected, rank, since = whole_times(detected, since), whole_times(rank, since), 0
    return np.ascontiguousarray(detected), np.ascontiguousarray(rank), since


def picked(chunks: Sequence[MatchChunk], rows: I64, shown: Sequence[int]) -> MatchChunk | None:
    """Some matches by their numbers, ascending, over all chunks, with these of the returned values; all in 64 bits."""
    starts = np.cumsum([0, *map(len, chunks)])
    cuts = np.searchsorted(rows, starts).tolist()
    parts = [
        (chunk, rows[begin:end] - start)
        for chunk, start, begin, end in zip(chunks, starts.tolist(), cuts, cuts[1:], strict=False)
        if begin < end
    ]
    if not parts:
        return None
    # Column by column, and none is widened before it is picked from: rows are few, and so should the calls be.
    ids = tuple(
        _column([(chunk.ids[number], at) for chunk, at in parts]) for number in range(len(chunks[0].ids))
    )
    start = np.concatenate([whole_times(chunk.start[at], chunk.since) for chunk, at in parts])
    detected = end = np.concatenate([whole_times(chunk.end[at], chunk.since) for chunk, at in parts])
    if any(chunk.detected is not chunk.end for chunk, _ in parts):
        detected = np.concatenate([whole_times(chunk.detected[at], chunk.since) for chunk, at in parts])
    returned = tuple(concat_vectors([chunk.returned[i].take(at) for chunk, at in parts]) for i in shown)
    return MatchChunk(ids, start, end, detected, returned, chunks[0].strings)


def _column(parts: Sequence[tuple[Column, I64]]) -> Column:
    singles = [column[at] for column, at in parts if not isinstance(column, Sets)]
    if singles:
        return np.concatenate(singles, dtype=np.int64)
    return wide_column(concat_columns([take_column(column, at) for column, at in parts]))
