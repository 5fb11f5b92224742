"""The order of events in which positions are counted: by time, then by the ids behind them, then by stream."""

import numpy as np

from stretto.engine.results.leaf_ids import leaf_ids, side_by_side
from stretto.engine.results.matches import NO_ID
from stretto.engine.stream.arena import Block
from stretto.plan.leaves import StreamLeaf
from stretto.values.rows import I64, Sets
from stretto.values.strings import Strings

Keys = tuple[Sets, I64]
"""The ids behind each event, one after another, and the rank of its stream."""


def no_keys() -> Keys:
    none = np.zeros(0, np.int64)
    return Sets(np.zeros(1, np.int64), none), none


def tie_keys(events: Block, leaves: tuple[StreamLeaf, ...], stream: int, strings: Strings) -> Keys:
    """By what the events of one stream are told apart from others of their time."""
    n = len(events)
    ranks = np.full(n, stream)
    if not leaves:
        return Sets(np.arange(n + 1), np.asarray(events.ids, np.int64)), ranks
    parts = [leaf_ids(leaf, events.attributes[leaf.column], strings) for leaf in leaves]
    return side_by_side(parts, n), ranks


def in_total_order(ts: I64, keys: list[Keys]) -> I64:
    """The events one after another: those of one time by their ids, the first that differ, then by stream."""
    lengths = np.concatenate([ids.lengths for ids, _ in keys])
    values = np.concatenate([ids.values for ids, _ in keys])
    ranks = np.concatenate([rank for _, rank in keys])
    offsets = np.append(0, np.cumsum(lengths))
    width = int(lengths.max(initial=0))
    columns = []
    for place in range(width):
        has = lengths > place
        column = np.full(len(ts), NO_ID)  # a shorter list comes before those that go on
        column[has] = values[offsets[:-1][has] + place]
        columns.append(column)
    return np.lexsort((ranks, *reversed(columns), ts))
