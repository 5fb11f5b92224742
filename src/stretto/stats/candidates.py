"""Drawn tuples, and the events of a sample that may stand in one more slot beside each of them."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from stretto.pattern.predicates import Expr
from stretto.records import dataclass
from stretto.stats.drawn_tuples import Link, TupleFrame, Tuples, room_for
from stretto.stats.sample import Sample
from stretto.values.evaluate import holds
from stretto.values.rows import I64, Bool

MOST: Final = 1 << 17  # pairs of a tuple and an event that are looked at


@dataclass(frozen=True, slots=True)
class CandidateSets:
    """Events for one more slot of the first `tuples` tuples: the tuple of each, and its position; in order of both."""

    tuples: int
    row: I64
    events: I64

    def first(self, tuples: int) -> "CandidateSets":
        """Those of fewer tuples."""
        until = int(np.searchsorted(self.row, tuples))
        return CandidateSets(tuples, self.row[:until], self.events[:until])


def mixed(tuples: Tuples) -> Tuples:
    """Tuples in an order by chance: drawn ones stand in order of time, so that the first ones tell little."""
    order = np.random.default_rng(len(tuples.weights)).permutation(len(tuples.weights))
    columns = tuple(column[order] for column in tuples.columns)
    return Tuples(columns, tuples.weights[order], tuples.size, tuples.error)


def candidates(
    sample: Sample, frame: TupleFrame, tuples: Tuples, terms: Sequence[Expr], *, anywhere: bool = False
) -> CandidateSets:
    """The events for the last slot of the frame that satisfy the terms, for as many tuples as `MOST` allows.

    Tuples of no weight have none. `anywhere`: from the first event of the tuple on, within the window.
    """
    columns = tuples.columns
    start, end, positions = room_for(sample, frame, columns, anywhere=anywhere)
    counts = np.where(tuples.weights > 0, np.maximum(end - start, 0), 0)
    until = max(int(np.searchsorted(np.cumsum(counts), MOST, "right")), 1)
    counts, start = counts[:until], start[:until]
    row = np.repeat(np.arange(until), counts)
    events: I64 = positions[start[row] + places(counts)]
    drawn = [column[row] for column in columns]
    passed = np.ones(len(row), np.bool_)
    kind = frame.streams[len(columns)].type
    for stream, column in zip(frame.streams, drawn, strict=False):
        if stream.type == kind:
            passed &= column != events
    links = [link for link in frame.given if len(columns) in (link.left, link.right)]
    for link in links[1:]:
        passed &= _agree(sample, link, [*drawn, events])
    if terms:
        passed &= holds(terms, (*drawn, events), len(row), sample)
    return CandidateSets(until, row[passed], events[passed])


def places(counts: I64) -> I64:
    """0, 1, .. for each count, one after another."""
    ends = np.cumsum(counts)
    found: I64 = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - counts, counts)
    return found


def _agree(sample: Sample, link: Link, columns: Sequence[I64]) -> Bool:
    left, right = sample.codes(link.left_attribute, link.right_attribute)
    one, other = left[columns[link.left]], right[columns[link.right]]
    found: Bool = (one == other) & (one >= 0)
    return found
