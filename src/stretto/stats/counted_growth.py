"""What repetitions make of a match of the core: chains of candidates, counted for each drawn tuple."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from stretto.pattern.piece import Piece
from stretto.pattern.predicates import Expr, columns_of
from stretto.stats.candidates import CandidateSets, candidates, places
from stretto.stats.drawn_tuples import TupleFrame, Tuples
from stretto.stats.growth import CAP, Repeated, with_earlier
from stretto.stats.sample import Sample
from stretto.stats.term_clusters import relate, whole_cluster
from stretto.values.evaluate import holds
from stretto.values.rows import F64, I64

PAIRS: Final = 1 << 17  # pairs of candidates that are looked at
TUPLES: Final = 32  # tuples that tell something


class Chains(NamedTuple):
    """The repetitions of one slot: the frame of one more event, its terms, those between neighbours, and bounds.

    The further event has the last column. Terms between neighbours read the later event in the column `slot`.
    """

    frame: TupleFrame
    slot: int
    each: tuple[Expr, ...]
    adjacent: tuple[Expr, ...]
    low: int
    high: int | None


class Growth(NamedTuple):
    """Matches by tuple, and how many events they have in all beside those of the tuple."""

    matches: F64
    more: F64


def chains_of(piece: Piece, repeated: Repeated) -> Chains:
    """The repetitions of a slot of a piece of single events."""
    (slot,) = repeated.slots
    one = with_earlier(piece, Repeated(repeated.slots, 1, None, repeated.each), 1)
    cluster = whole_cluster(one, relate(one))
    behind = len(piece.slots)
    each = tuple(term for term in cluster.terms if behind in columns_of(term))
    return Chains(cluster.frame, slot, each, repeated.adjacent, repeated.low, repeated.high)


def growth(sample: Sample, tuples: Tuples, chains: Sequence[Chains]) -> Growth | None:
    """What some of the tuples, the first ones, grow to; None where that are too few to tell."""
    found = [_grown(sample, tuples, one) for one in chains]
    number = min(len(one.matches) for one in found)
    if np.count_nonzero(tuples.weights[:number]) < TUPLES:
        return None
    matches, more = np.ones(number), np.zeros(number)
    for one in found:
        # Sets of one slot go with each of the others'.
        more = more * one.matches[:number] + one.more[:number] * matches
        matches = matches * one.matches[:number]
    return Growth(np.minimum(matches, CAP), np.minimum(more, CAP * CAP))


def _grown(sample: Sample, tuples: Tuples, chains: Chains) -> Growth:
    found = candidates(sample, chains.frame, tuples, chains.each)
    found, pairs = _pairs(found)
    columns = [column[: found.tuples] for column in tuples.columns]
    last = _fits(sample, chains, columns, found.row, columns[chains.slot][found.row], found.events)
    earlier, later = pairs
    one, other = found.events[earlier], found.events[later]
    in_order = sample.ts[one] < sample.ts[other]
    earlier, later = earlier[in_order], later[in_order]
    fits = _fits(sample, chains, columns, found.row[earlier], found.events[later], found.events[earlier])
    kept = fits > 0.0
    return _summed(found, last, earlier[kept], later[kept], chains)


def _pairs(found: CandidateSets) -> tuple[CandidateSets, tuple[I64, I64]]:
    """Each two candidates of one tuple, the earlier first; of as many tuples as `PAIRS` allows."""
    counts = np.bincount(found.row, minlength=found.tuples)
    until = max(int(np.searchsorted(np.cumsum(counts * (counts - 1) // 2), PAIRS, "right")), 1)
    found, counts = found.first(until), counts[:until]
    behind = np.repeat(counts, counts) - places(counts) - 1
    earlier = np.repeat(np.arange(len(found.row)), behind)
    return found, (earlier, earlier + 1 + places(behind))


def _fits(sample: Sample, chains: Chains, columns: Sequence[I64], row: I64, later: I64, earlier: I64) -> F64:
    """1 where the terms between neighbours hold, else 0."""
    if not chains.adjacent or not len(row):
        return np.ones(len(row))
    read = [column[row] for column in columns]
    read[chains.slot] = later
    return holds(chains.adjacent, (*read, earlier), len(row), sample).astype(np.float64)


def _summed(found: CandidateSets, last: F64, earlier: I64, later: I64, chains: Chains) -> Growth:
    """The number of chains by length, summed over the lengths that are allowed."""
    # `ending` counts the chains of j events by their first one: each is led on by those that may stand before it.
    least = max(chains.low - 1, 0)
    most = len(found.row) if chains.high is None else chains.high - 1
    matches = np.full(found.tuples, float(least == 0))
    more = np.zeros(found.tuples)
    ending = last
    for j in range(1, most + 1):
        if not ending.any():
            break
        if j >= least:
            here = np.bincount(found.row, weights=ending, minlength=found.tuples)
            matches += here
            more += j * here
        ending = np.minimum(
            np.bincount(earlier, weights=ending[later], minlength=len(found.row)).astype(np.float64), CAP
        )
    return Growth(matches, more)
