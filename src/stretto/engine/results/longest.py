"""Which matches are contained in others: an inverted index from events to matches, asked with the rarest event."""

import numpy as np

from stretto.engine.results.match_chunks import NO_ID, MatchChunk
from stretto.values.rows import I64, Bool, Column, Sets

BLOCK = 1 << 20
"""Pairs of an event and a match that are looked up together."""


def contained(chunk: MatchChunk, rows: I64) -> Bool:
    """Which of these matches another one of the chunk contains: all their events, in the same variables, and more."""
    if bound_alike(chunk) is not None:
        return np.zeros(len(rows), np.bool_)
    owner, token = _events(chunk)
    count = len(chunk)
    sizes = np.bincount(owner, minlength=count)
    # A match that contains another has each of its events, so also the one that the fewest matches have.
    tokens, numbers, degrees = np.unique(token, return_inverse=True, return_counts=True)
    numbers = numbers.reshape(-1)
    by_token = np.argsort(numbers, kind="stable")
    starts = np.zeros(len(tokens) + 1, np.int64)
    np.cumsum(degrees, out=starts[1:])
    by_owner = np.lexsort((degrees[numbers], owner))
    firsts = np.zeros(count + 1, np.int64)
    np.cumsum(sizes, out=firsts[1:])
    rarest = numbers[by_owner[firsts[rows]]]
    pairs = np.sort(numbers * count + owner)  # every event with every match that has it
    found = np.zeros(len(rows), np.bool_)
    work = np.cumsum(degrees[rarest] * sizes[rows])
    begin = 0
    while begin < len(rows):
        before = int(work[begin - 1]) if begin else 0
        end = max(int(np.searchsorted(work, before + BLOCK, side="right")), begin + 1)
        block = slice(begin, end)
        lengths = degrees[rarest[block]]
        mine = np.repeat(rows[block], lengths)
        offsets = np.repeat(starts[rarest[block]] - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths)
        others = owner[by_token[np.arange(len(mine)) + offsets]]
        larger = sizes[others] > sizes[mine]
        mine, others = mine[larger], others[larger]
        each = np.repeat(np.arange(len(mine)), sizes[mine])
        places = np.arange(len(each)) - np.repeat(np.cumsum(sizes[mine]) - sizes[mine], sizes[mine])
        wanted = numbers[by_owner[firsts[mine][each] + places]] * count + others[each]
        at = np.searchsorted(pairs, wanted)
        hit = (at < len(pairs)) & (pairs[np.minimum(at, len(pairs) - 1)] == wanted)
        all_there = np.bincount(each[hit], minlength=len(mine)) == sizes[mine]
        found[block] = np.isin(rows[block], mine[all_there])
        begin = end
    return found


def bound_alike(chunk: MatchChunk) -> tuple[int, ...] | None:
    """How many events each variable binds, where all matches have the same numbers: then none contains another."""
    found = []
    for column in _bound(chunk):
        if isinstance(column, Sets):
            lengths = column.lengths
            if np.ptp(lengths):
                return None
            found.append(int(lengths[0]))
        # 32 bits have no room for what says that nothing is bound.
        elif column.dtype == np.int64 and (column == NO_ID).any():
            return None
        else:
            found.append(1)
    return tuple(found)


def _bound(chunk: MatchChunk) -> tuple[Column, ...]:
    """Return what tells the events of each variable apart: their numbers where there are any, else their ids."""
    return chunk.events or chunk.ids


def _events(chunk: MatchChunk) -> tuple[I64, I64]:
    """Every event of every match: whose it is, and a number for the event together with its variable."""
    owners, variables, ids = [], [], []
    columns = _bound(chunk)
    for variable, column in enumerate(columns):
        if isinstance(column, Sets):
            owner, values = np.repeat(np.arange(len(chunk)), column.lengths), column.values
        else:
            owner = np.flatnonzero(column != NO_ID)
            values = column[owner]
        owners.append(owner)
        ids.append(values.astype(np.int64))
        variables.append(np.full(len(owner), variable, np.int64))
    everyone = np.concatenate(ids)
    _, number = np.unique(everyone, return_inverse=True)
    tokens: I64 = number.reshape(-1) * len(columns) + np.concatenate(variables)
    return np.concatenate(owners), tokens
