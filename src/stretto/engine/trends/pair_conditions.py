"""Conditions that only pairs can tell: which of them hold, for some ticks at a time."""

from collections.abc import Iterator, Sequence

import numpy as np

from stretto.engine.trends.cells import Cells
from stretto.engine.trends.conditions import StoreLookup, pairs_meet
from stretto.engine.trends.stores import FoundGroups, Ranked
from stretto.records import dataclass
from stretto.values.evaluate import Events
from stretto.values.rows import I64, Bool, spread

PAIRS = 1 << 22
"""Pairs that are known at a time; a single tick may need more."""
AT_ONCE = 1 << 18
"""Pairs that are evaluated together: what is computed on the way takes far more room than the answer."""

NO_PAIRS = np.zeros(1, np.bool_)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of some ticks: `holds[rows[target] + source]`; the rows of a read's targets begin at `at[read]`."""

    at: I64
    rows: I64
    holds: Bool


@dataclass(frozen=True, slots=True)
class ScannedRead:
    """A scanned read by its number: what it asks, the store, and what each target occurrence found there."""

    read: int
    look: StoreLookup
    ranked: Ranked
    found: FoundGroups


def pair_blocks(
    scans: Sequence[ScannedRead], reads: int, cells: Cells, events: Events
) -> Iterator[tuple[int, int, Pairs]]:
    """Runs of ticks, first and behind the last, with the pairs that hold in them; all ticks if nothing is scanned."""
    ticks = len(cells.tick_cell)
    row_at = np.full(reads, -1, np.int64)
    if not scans:
        yield 0, ticks, Pairs(row_at, np.zeros(0, np.int64), NO_PAIRS)
        return
    at = [cells.of_node[scan.look.target] for scan in scans]
    sizes = np.cumsum([0, *(len(occurrences) for occurrences in at)])
    row_at[[scan.read for scan in scans]] = sizes[:-1]
    row = np.zeros(int(sizes[-1]), np.int64)
    of_tick = np.zeros(ticks + 1, np.int64)
    for scan, occurrences in zip(scans, at, strict=True):
        np.add.at(of_tick, cells.tick[occurrences] + 1, scan.found[1])
    before = np.cumsum(of_tick)
    first = 0
    while first < ticks:
        last = max(int(np.searchsorted(before, before[first] + PAIRS, side="right")) - 1, first + 1)
        parts = []
        begin = 0
        for scan, occurrences, place in zip(scans, at, sizes[:-1].tolist(), strict=True):
            low, high = np.searchsorted(cells.tick[occurrences], (first, last)).tolist()
            counts = scan.found[1][low:high].astype(np.int64)
            row[place + low : place + high] = begin + np.cumsum(counts) - counts
            parts.append(_holding(scan, occurrences, low, high, cells, events))
            begin += len(parts[-1])
        yield first, last, Pairs(row_at, row, np.concatenate([*parts, NO_PAIRS]))
        first = last


def _holding(scan: ScannedRead, at: I64, low: int, high: int, cells: Cells, events: Events) -> Bool:
    """Which pairs hold for the targets with these numbers: for each, the earlier events of its group in time order."""
    groups, counts = scan.found[0][low:high], scan.found[1][low:high].astype(np.int64)
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    begins = scan.ranked.begins(groups)
    sources = cells.event[cells.of_node[scan.look.store.source][scan.ranked.in_time]]
    targets = cells.event[at[low:high]]
    total = int(offsets[-1])
    result = np.empty(total, np.bool_)
    assert scan.look.pairs is not None
    for start in range(0, total, AT_ONCE):
        stop = min(start + AT_ONCE, total)
        one = int(np.searchsorted(offsets, start, side="right")) - 1
        other = int(np.searchsorted(offsets, stop, side="left"))
        cut = np.clip(offsets[one : other + 1], start, stop)
        lengths = np.diff(cut)
        skipped = cut[:-1] - offsets[one:other]
        early = sources[spread(begins[one:other] + skipped, lengths, cut - start)]
        late = np.repeat(targets[one:other], lengths)
        result[start:stop] = pairs_meet(scan.look.pairs, early, late, events)
    return result
