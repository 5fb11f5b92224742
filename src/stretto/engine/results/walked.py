"""Matches of a step in the order in which they were detected, read as they lie: most are dropped by their times."""

from collections.abc import Sequence

import numpy as np

from stretto.engine.results.match_chunks import MatchChunk, joined_chunks
from stretto.engine.rows.row_blocks import rises
from stretto.values.rows import I64, whole_times

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


def picked(chunks: Sequence[MatchChunk], rows: I64) -> MatchChunk | None:
    """Some matches by their numbers, ascending, over all chunks."""
    starts = np.cumsum([0, *map(len, chunks)])
    cuts = np.searchsorted(rows, starts).tolist()
    found = []
    for number, chunk in enumerate(chunks):
        at = rows[cuts[number] : cuts[number + 1]] - starts[number]
        if len(at):
            found.append(chunk.take(at).wide())
    return joined_chunks(found)
