"""How many tuples of events really stand in one window, and how many of them a negation spares: counted on the sample.

Real events come in bursts, with nights and gaps between. Then rates over the whole span say little: where a window
holds a thousand times the events that the mean rate gives, so does it hold a million times the triples. So tuples are
counted where they stand, per event of their first slot: the stretches of a sample hold as many events of a busy hour
as the stream does. What follows is right for bursts, for keys that come together, and for terms that depend on each
other. Where the sample holds too few such tuples, nothing is said here.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from stretto.pattern.describe import window_text
from stretto.pattern.nodes import Stream, Window
from stretto.pattern.piece import Place
from stretto.pattern.predicates import Expr
from stretto.stats.drawn_tuples import Link, TupleFrame, Tuples, draw, first_slot, room_for
from stretto.stats.sample import Sample
from stretto.stats.selectivity import FEW, MORE, Selectivities, Selectivity
from stretto.stats.term_clusters import Cluster, cluster_words, standard
from stretto.values.evaluate import holds
from stretto.values.rows import I64, Bool

PRECISE: Final = 0.2  # relative error of a count that is good enough
USABLE: Final = 0.5  # and that is better than none, when as many tuples were drawn as are allowed
ENOUGH: Final = 4000  # counts after which no more are made: in workloads of thousands of queries
SPARED: Final = 64  # tuples that tell what a negation spares
CANDIDATES: Final = 1 << 17  # pairs of a tuple and a forbidden event that are looked at
ROWS: Final = "rows of "
SPARES: Final = "spared of "
BURST: Final = "burst within "


class TupleCounts:
    """Counts by frame and terms; kept with the selectivities, and with them in a file of statistics."""

    def __init__(self, selectivities: Selectivities) -> None:
        self._known = selectivities
        self._rates = selectivities.rates
        self._made = 0

    def rate(self, stream: Stream) -> float:
        """Events per second of a stream, when the sample was taken."""
        found = self._rates.get(stream.type, 0.0)
        return found * self._known.of_stream(stream).value if stream.where else found

    def rows(self, cluster: Cluster) -> float | None:
        """Tuples per second of a frame that satisfy the terms; None where the sample has too few of them to tell."""
        cluster = standard(cluster)
        words, frame = cluster_words(cluster)
        key = words, ROWS + frame
        found = self._known.known.get(key)
        if found is None:
            sample = self._sample_for(cluster)
            found = None if sample is None else self._counted(sample, cluster)
            if found is None:
                return None
            self._known.known[key] = found
        return found.value

    def spared(self, cluster: Cluster, forbidden: Sequence[Expr], place: Place) -> float | None:
        """The share of a frame's tuples that no event of its last slot forbids.

        The last slot of the cluster's frame is the forbidden event: its place in the order and what it is equal to
        stand in the frame. `forbidden` are its terms, those of the cluster are the others'.
        """
        both = Cluster(cluster.frame, (*cluster.terms, *forbidden))
        words, frame = cluster_words(both)
        key = words, f"{SPARES}{frame} ({place.value})"
        found = self._known.known.get(key)
        if found is None:
            sample = self._sample_for(both)
            found = None if sample is None else self._sparing(sample, cluster, tuple(forbidden), place)
            if found is None:
                return None
            self._known.known[key] = found
        return found.value

    def burst(self, window: Window) -> float:
        """How many more events a window holds beside an event than the mean rate of all events gives."""
        key = "events", f"{BURST}{window_text(window)}"
        found = self._known.known.get(key)
        if found is None:
            sample = self._known.sample
            if sample is None:
                return 1.0
            found = self._known.known[key] = Selectivity(_burst(sample, window, sum(self._rates.values())))
        return found.value

    # ---- counting ----------------------------------------------------------------------------------------------

    def _sample_for(self, cluster: Cluster) -> Sample | None:
        """The sample, if it can tell of these terms and one more count is allowed."""
        if self._made >= ENOUGH or not self._known.can_tell(cluster):
            return None
        self._made += 1
        return self._known.sample

    def _counted(self, sample: Sample, cluster: Cluster) -> Selectivity | None:
        rate = self.rate(cluster.frame.streams[first_slot(cluster.frame)])
        for count in (FEW, *MORE):
            found = draw(sample, cluster.frame, count, self._known.seed_of(cluster.frame), cluster.terms)
            last = count == MORE[-1]
            if found.size and found.error <= (USABLE if last else PRECISE):
                return Selectivity(rate * found.size, rate * found.size * found.error)
        return None

    def _sparing(
        self, sample: Sample, cluster: Cluster, forbidden: tuple[Expr, ...], place: Place
    ) -> Selectivity | None:
        """Tuples without the forbidden event are drawn, and all that could forbid them is looked at."""
        frame, last = cluster.frame, len(cluster.frame.streams) - 1
        kept = TupleFrame(
            frame.streams[:last],
            frame.order.part(range(last)),
            tuple(link for link in frame.given if last not in (link.left, link.right)),
            frame.window,
        )
        tuples = draw(sample, kept, FEW, self._known.seed_of(kept), cluster.terms)
        if not tuples.size or tuples.worth < SPARED:
            return None
        hit = _forbidden(sample, frame, tuples, forbidden, anywhere=place is Place.ANYWHERE)
        weights = tuples.weights[: len(hit)]
        value = float(weights[~hit].sum() / weights.sum()) if weights.any() else 1.0
        worth = tuples.worth * len(hit) / len(tuples.weights)
        # Where no tuple was spared half of one may have been.
        value = max(value, 0.5 / (worth + 1.0))
        return Selectivity(value, float(np.sqrt(value * (1.0 - value) / max(worth, 1.0))))


def _forbidden(
    sample: Sample, frame: TupleFrame, tuples: Tuples, terms: tuple[Expr, ...], *, anywhere: bool
) -> Bool:
    """Which tuples have an event for the last slot of the frame that satisfies the terms; of the first ones, if many.

    Tuples are mixed first, as they stand in order of time.
    """
    mixed = np.random.default_rng(len(tuples.weights)).permutation(len(tuples.weights))
    tuples.weights[:] = tuples.weights[mixed]
    columns = [column[mixed] for column in tuples.columns]
    start, end, positions = room_for(sample, frame, columns, anywhere=anywhere)
    counts = np.where(tuples.weights > 0, np.maximum(end - start, 0), 0)
    others: list[Link] = [link for link in frame.given if len(columns) in (link.left, link.right)]
    if not terms and len(others) <= 1:
        hit: Bool = counts > 0
        return hit
    until = max(int(np.searchsorted(np.cumsum(counts), CANDIDATES, "right")), 1)
    counts, start = counts[:until], start[:until]
    row = np.repeat(np.arange(until), counts)
    offset = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    candidates: I64 = positions[start[row] + offset]
    passed = np.ones(len(row), np.bool_)
    drawn = [column[:until][row] for column in columns]
    for link in others[1:]:
        passed &= _agree(sample, link, [*drawn, candidates])
    if terms:
        passed &= holds(terms, (*drawn, candidates), len(row), sample)
    return np.bincount(row[passed], minlength=until) > 0


def _agree(sample: Sample, link: Link, columns: Sequence[I64]) -> Bool:
    left, right = sample.codes(link.left_attribute, link.right_attribute)
    one, other = left[columns[link.left]], right[columns[link.right]]
    found: Bool = (one == other) & (one >= 0)
    return found


def _burst(sample: Sample, window: Window, total: float) -> float:
    if window.unit == "events" or not total or not sample.inside:
        return 1.0
    reach = sample.reach(window)
    after = reach.high[: sample.inside] - np.arange(1, sample.inside + 1)
    expected = total * window.size / 1e6
    return max(float(after.mean()) / expected, 1e-3) if expected else 1.0
