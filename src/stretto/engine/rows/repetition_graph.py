"""Which repetition may precede which: the graph whose paths are the chains that a Repeat adds to its rows."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from stretto.engine.memory.limits import Meter
from stretto.engine.rows.band import Band
from stretto.engine.rows.sets import as_sets
from stretto.records import dataclass
from stretto.values.evaluate import Events
from stretto.values.rows import I64, Column, Rows

BITS = 40
"""A row of a block and a row number in a band make one sorted integer; the number has this many bits."""

_NONE = np.empty(0, np.int64)


class Elements(Protocol):
    """What repetitions are taken from: rows by number."""

    def column(self, numbers: I64, column: int) -> Column: ...

    def first_ts(self, numbers: I64) -> I64: ...

    def last_ts(self, numbers: I64) -> I64: ...


@dataclass(frozen=True, slots=True)
class ChainGraph:
    """The nodes are pairs of a base row and an element that may stand in its chain, sorted by both.

    `roots` and `nodes` are ranges of `links` (of nodes, if that is empty): what may directly precede the last
    repetition of each base row, and each node. See `kernels.chains`.
    """

    row: I64
    number: I64
    roots: tuple[I64, I64]
    nodes: tuple[I64, I64]
    links: I64


@dataclass(frozen=True, slots=True)
class ChainReach:
    """Per base row: the band's rows [lo, hi) that its chain may hold by time, from the first coordinate `floor` on."""

    lo: I64
    hi: I64
    floor: I64

    def take(self, index: I64 | slice) -> "ChainReach":
        return ChainReach(self.lo[index], self.hi[index], self.floor[index])


def no_graph(rows: int) -> ChainGraph:
    """Nothing precedes anything."""
    zeros = np.zeros(rows, np.int64)
    return ChainGraph(_NONE, _NONE, (zeros, zeros), (_NONE, _NONE), _NONE)


# ---- without terms between neighbours --------------------------------------------------------------------------


def ordered_graphs(
    band: Band, base: Rows, reach: ChainReach, events: Events, meter: Meter, *, single: bool
) -> Iterator[tuple[slice, ChainGraph]]:
    """Graphs of successive slices of the base rows, where order in time is all that neighbours need.

    An element's predecessors are then those of the row's elements that ended before it, a range. `single`: elements
    are single events.
    """
    done, held = 0, _NONE
    for index, numbers in band.pairs(base, reach.lo, reach.hi, events, meter, reach.floor):
        keys = np.concatenate([held, (index << BITS) | numbers])
        if not (keys[1:] > keys[:-1]).all():  # found by hash
            keys.sort()
        last = int(index[-1]) if len(index) else done  # its candidates may go on in the next block
        whole = int(np.searchsorted(keys, last << BITS))
        yield slice(done, last), ordered_graph(band, keys[:whole], done, last, single=single)
        done, held = last, keys[whole:]
    yield slice(done, len(base)), ordered_graph(band, held, done, len(base), single=single)


def ordered_graph(band: Elements, keys: I64, start: int, stop: int, *, single: bool) -> ChainGraph:
    """The graph of base rows `start`..`stop` - 1, given the sorted keys of their nodes."""
    row, number = (keys >> BITS) - start, keys & ((1 << BITS) - 1)
    offsets = np.zeros(stop - start + 1, np.int64)
    np.cumsum(np.bincount(row, minlength=stop - start), out=offsets[1:])
    if single or not isinstance(band, Band):
        before = _first_of_time(row, band.last_ts(number))
    else:
        before = np.searchsorted(keys, (keys - number) | band.search_time(band.first_ts(number), "left"))
    return ChainGraph(row, number, (offsets[:-1], offsets[1:]), (offsets[row], before), _NONE)


def _first_of_time(row: I64, ts: I64) -> I64:
    """Per node, the first one of the same row and time: those before it are earlier."""
    new = np.ones(len(row), np.bool_)
    new[1:] = (row[1:] != row[:-1]) | (ts[1:] != ts[:-1])
    if new.all():
        return np.arange(len(row))
    return np.maximum.accumulate(np.where(new, np.arange(len(row)), 0))


# ---- with terms between neighbours -----------------------------------------------------------------------------


def linked_graph(
    band: Band,
    base: Rows,
    final: Sequence[int],
    reach: ChainReach,
    events: Events,
    meter: Meter,
    *,
    most: int,
    sets: Sequence[bool],
    limit: int,
) -> ChainGraph | None:
    """The graph of all elements that a chain of at most `most` can reach, found backwards from the base rows.

    The band's probing rows are a base row and then the later neighbour, whose columns are `sets` where these say so.
    None if there are more than `limit` links.
    """
    later = _shaped([base.columns[c] for c in final], sets)
    probe = Rows(base.first, base.last, (*base.columns, *later))
    rows = np.arange(len(base))
    sources, targets = _links(band, probe, rows, reach, events, meter, limit)
    roots = np.bincount(sources, minlength=len(base))
    root_targets, found = targets, len(targets)
    known = new = np.unique(targets)
    all_sources, all_targets = [], []
    for _ in range(1, most):
        if not len(new) or found > limit:
            break
        row, number = new >> BITS, new & ((1 << BITS) - 1)
        element = band.rows(number)
        reached = reach.take(row)
        reached = ChainReach(reached.lo, band.search_time(element.first, "left"), reached.floor)
        columns = (*base.take(row).columns, *_shaped(element.columns, sets))
        sources, targets = _links(
            band, Rows(element.first, element.last, columns), row, reached, events, meter, limit - found
        )
        all_sources.append(new[sources])
        all_targets.append(targets)
        found += len(targets)
        new = np.setdiff1d(targets, known)
        known = np.union1d(known, new)
    if found > limit:
        return None
    return _linked_graph(known, roots, root_targets, all_sources, all_targets)


def _links(
    band: Band, probe: Rows, row: I64, reach: ChainReach, events: Events, meter: Meter, limit: int
) -> tuple[I64, I64]:
    """Pairs (index into probe, key of a node) of a repetition and what may directly precede it."""
    sources, targets, found = [_NONE], [_NONE], 0
    for index, numbers in band.pairs(probe, reach.lo, reach.hi, events, meter, reach.floor):
        sources.append(index)
        targets.append((row[index] << BITS) | numbers)
        found += len(index)
        if found > limit:
            break
    return np.concatenate(sources), np.concatenate(targets)


def _linked_graph(
    known: I64, roots: I64, root_targets: I64, sources: Sequence[I64], targets: Sequence[I64]
) -> ChainGraph:
    later = np.searchsorted(known, np.concatenate([_NONE, *sources]))
    earlier = np.searchsorted(known, np.concatenate([_NONE, *targets]))
    order = np.argsort(later, kind="stable")
    links = np.concatenate([np.searchsorted(known, root_targets), earlier[order]])
    bounds = np.cumsum(np.concatenate([[0], roots, np.bincount(later, minlength=len(known))]))
    n = len(roots)
    return ChainGraph(
        known >> BITS,
        known & ((1 << BITS) - 1),
        (bounds[:n], bounds[1 : n + 1]),
        (bounds[n:-1], bounds[n + 1 :]),
        links,
    )


def _shaped(columns: Sequence[Column], sets: Sequence[bool]) -> tuple[Column, ...]:
    return tuple(as_sets(column) if is_set else column for column, is_set in zip(columns, sets, strict=True))
