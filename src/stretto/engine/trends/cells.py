"""Windows that are closed together: their events by cell (a window and a partition) and time."""

import numpy as np

from stretto.engine.kernels.counting_sort import split_by_code
from stretto.engine.trends.kept_events import KeptEvents
from stretto.engine.trends.numbers import I32
from stretto.records import dataclass
from stretto.values.rows import I64, Bool, spread


@dataclass(frozen=True, slots=True)
class Cells:
    """Occurrences (an event at a node), by cell, then time; cells are numbered from 0. All have occurrences.

    `event`: its number among the kept ones. A tick is all occurrences of one cell and time. `of_node[p]`: the
    occurrences at node p; `number`: the place of an occurrence in that list.
    """

    start: I64
    key: I64
    cell: I64
    event: I64
    node: I32
    tick_first: I64
    tick_cell: I64
    tick: I64
    number: I64
    of_node: tuple[I64, ...]

    def __len__(self) -> int:
        return len(self.start)

    def only(self, chosen: Bool) -> "Cells":
        """Some of the cells."""
        if chosen.all():
            return self
        places = np.cumsum(chosen) - 1
        kept = chosen[self.cell]
        starts = np.zeros(len(self.cell), np.bool_)
        starts[self.tick_first[:-1]] = True
        return _cells(
            self.start[chosen],
            self.key[chosen],
            places[self.cell[kept]],
            self.event[kept],
            self.node[kept],
            starts[kept],
            len(self.of_node),
        )


def cells_of(kept: KeptEvents, starts: I64, window_us: int, nodes: int) -> Cells:
    """The cells of the windows with these starts."""
    low = np.searchsorted(kept.borrowed_ts, starts)
    lengths = np.searchsorted(kept.borrowed_ts, starts + window_us) - low
    offsets = _offsets(lengths)
    event = spread(low, lengths, offsets)
    window = np.repeat(np.arange(len(starts)), lengths)
    key = kept.borrowed_keys[event]
    many = int(key.max(initial=0)) + 1
    code = window * many + key
    if many > 1:
        order = np.argsort(code, kind="stable")
        event, code = event[order], code[order]
    fresh = _changes(code)
    at = np.flatnonzero(fresh)
    ticks = fresh | _changes(kept.borrowed_ts[event])
    start, key = starts[code[at] // many], code[at] % many
    cell = np.cumsum(fresh) - 1
    counts = kept.borrowed_counts[event]
    if (counts == 1).all() and len(kept.borrowed_nodes) == len(kept):
        return _cells(start, key, cell, event, kept.borrowed_nodes[event], ticks, nodes)
    first = _offsets(kept.borrowed_counts)[:-1]
    offsets = _offsets(counts)
    begins = np.zeros(int(offsets[-1]), np.bool_)
    begins[offsets[:-1]] = ticks
    node = kept.borrowed_nodes[spread(first[event], counts, offsets)]
    return _cells(start, key, np.repeat(cell, counts), np.repeat(event, counts), node, begins, nodes)


def _cells(start: I64, key: I64, cell: I64, event: I64, node: I32, begins: Bool, nodes: int) -> Cells:
    at = np.flatnonzero(begins)
    order, first = split_by_code(node, nodes, 0)
    number = np.empty(len(node), np.int64)
    number[order] = np.arange(len(node)) - np.repeat(first[:-1], np.diff(first))
    of_node = tuple(order[first[p] : first[p + 1]] for p in range(nodes))
    ends = np.append(at, len(node))
    return Cells(start, key, cell, event, node, ends, cell[at], np.cumsum(begins) - 1, number, of_node)


def _changes(values: I64) -> Bool:
    """Where a value differs from the one before it; true at the first."""
    changes = np.ones(len(values), np.bool_)
    changes[1:] = values[1:] != values[:-1]
    return changes


def _offsets(lengths: I64) -> I64:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def windows_between(ts: I64, window_us: int, slide_us: int, first: int | None, last: int) -> I64:
    """Numbers of the windows with an event at one of these ascending times, from `first` (None: any) to `last`."""
    low = (ts - window_us) // slide_us + 1
    high = np.minimum(ts // slide_us, last)
    if first is not None:
        low = np.maximum(low, first)
    if len(ts) > 1:
        # A window counts at the first event in it: later ones begin behind the last window of those before them.
        np.maximum(low[1:], np.maximum.accumulate(high)[:-1] + 1, out=low[1:])
    counts = np.maximum(high - low + 1, 0)
    return spread(low, counts, _offsets(counts))
