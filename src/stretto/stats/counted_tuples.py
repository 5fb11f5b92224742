"""How many tuples of events really stand in one window, what a negation spares of them, and what repetitions make of
them: counted on the sample.

Real events come in bursts, with nights and gaps between. Then rates over the whole span say little: where a window
holds a thousand times the events that the mean rate gives, so does it hold a million times the triples. So tuples are
counted where they stand, per event of their first slot: the stretches of a sample hold as many events of a busy hour
as the stream does. What follows is right for bursts, for keys that come together, and for terms that depend on each
other. Where the sample holds too few such tuples, or ends of stretches cut off most windows, nothing is said here.
"""

from collections.abc import Sequence
from math import sqrt
from typing import Final

import numpy as np

from stretto.pattern.piece import Piece, Place
from stretto.pattern.predicates import Expr
from stretto.stats.candidates import candidates, mixed
from stretto.stats.counted_growth import chains_of, growth
from stretto.stats.drawn_tuples import TupleFrame, Tuples, draw, first_slot, starts
from stretto.stats.growth import Repeated, with_earlier
from stretto.stats.meetings import Meetings
from stretto.stats.sample import Sample
from stretto.stats.selectivity import FEW, MORE, Selectivities, Selectivity
from stretto.stats.term_clusters import Cluster, cluster_words, relate, standard, whole_cluster
from stretto.values.evaluate import holds

PRECISE: Final = 0.2  # relative error of a count that is good enough
ENOUGH: Final = 4000  # counts after which no more are made: in workloads of thousands of queries
SPARED: Final = 64  # tuples that tell what a negation spares
ROWS: Final = "rows of "
SPARES: Final = "spared of "
GROWS: Final = "growth of "
LENGTHENS: Final = "further events of "


class TupleCounts:
    """Counts by frame and terms; kept with the selectivities, and with them in a file of statistics."""

    def __init__(self, selectivities: Selectivities) -> None:
        self._known = selectivities
        self.meetings = Meetings(selectivities)
        self._made = 0

    def rows(self, cluster: Cluster) -> float | None:
        """Tuples per second of a frame that satisfy the terms; None where the sample has too few of them to tell."""
        cluster = standard(cluster)
        words, frame = cluster_words(cluster)
        key = words, ROWS + frame
        found = self._known.counts.get(key)
        if found is None:
            sample = self._sample_for(cluster)
            found = None if sample is None else self._counted(sample, cluster)
            if found is None:
                return None
            self._known.counts[key] = found
        return found.value

    def spared(self, cluster: Cluster, forbidden: Sequence[Expr], place: Place) -> float | None:
        """The share of a frame's tuples that no event of its last slot forbids.

        The last slot of the cluster's frame is the forbidden event: its place in the order and what it is equal to
        stand in the frame. `forbidden` are its terms, those of the cluster are the others'.
        """
        both = Cluster(cluster.frame, (*cluster.terms, *forbidden))
        words, frame = cluster_words(both)
        key = words, f"{SPARES}{frame} ({place.value})"
        found = self._known.counts.get(key)
        if found is None:
            sample = self._sample_for(both)
            found = None if sample is None else self._sparing(sample, cluster, tuple(forbidden), place)
            if found is None:
                return None
            self._known.counts[key] = found
        return found.value

    def grown(self, piece: Piece, repeated: Sequence[Repeated]) -> tuple[float, float] | None:
        """How many matches one match of the core becomes, and how many events they have more on average.

        The slots of `repeated` are single ones whose events need not be neighbours in position.
        """
        core = whole_cluster(piece, relate(piece))
        with_two = [with_earlier(piece, one, 2) for one in repeated]
        longer = [whole_cluster(two, relate(two)) for two in with_two]
        texts = [cluster_words(one) for one in longer]
        words = " and ".join(words for words, _ in texts)
        bounds = [
            f"{frame} {{{one.low},{one.high or ''}}}" for (_, frame), one in zip(texts, repeated, strict=True)
        ]
        shape = " and ".join(bounds)
        keys = (words, GROWS + shape), (words, LENGTHENS + shape)
        if keys[0] not in self._known.counts:
            sample = self._sample_for(core)
            if sample is None or not all(map(self._known.can_tell, longer)):
                return None
            found = self._growing(sample, piece, core, repeated)
            if found is None:
                return None
            self._known.counts.update(zip(keys, found, strict=True))
        factor, more = (self._known.counts.get(key, Selectivity(0.0)) for key in keys)
        return factor.value, more.value

    # ---- counting ----------------------------------------------------------------------------------------------

    def _sample_for(self, cluster: Cluster) -> Sample | None:
        """The sample, if it can tell of these terms and one more count is allowed."""
        if self._made >= ENOUGH or not self._known.can_tell(cluster):
            return None
        self._made += 1
        sample = self._known.sample
        return sample if sample is not None and starts(sample, cluster.frame).complete else None

    def _counted(self, sample: Sample, cluster: Cluster) -> Selectivity | None:
        rate = self.meetings.rate(cluster.frame.streams[first_slot(cluster.frame)])
        # Few tuples of a frame are drawn once for all terms over it; where few of those satisfy the terms here, more
        # are drawn under them.
        found = self._passing(sample, cluster)
        for count in MORE:
            if found.size and found.error <= PRECISE:
                break
            found = self._drawn(sample, cluster, count)
        size = found.size or found.unseen
        return Selectivity(rate * size, rate * size * found.error) if size else None

    def _drawn(self, sample: Sample, cluster: Cluster, count: int, *, around: bool = False) -> Tuples:
        seed = self._known.seed_of(cluster.frame)
        return draw(sample, cluster.frame, count, seed, cluster.terms, around=around)

    def _passing(self, sample: Sample, cluster: Cluster) -> Tuples:
        base = self._known.drawn(cluster.frame, FEW)
        if not base.size or not cluster.terms:
            return base
        passed = holds(cluster.terms, base.columns, len(base.weights), sample)
        weights = base.weights * passed
        mean, before = float(weights.mean()), float(base.weights.mean())
        if not mean:
            return Tuples((), weights, 0.0, 1.0)
        spread = float(weights.var()) / (mean * mean * len(weights))
        return Tuples(base.columns, weights, base.size * mean / before, sqrt(spread + base.error**2))

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
        tuples = self._drawn(sample, Cluster(kept, cluster.terms), FEW, around=True)
        if not tuples.size or tuples.worth < SPARED:
            return None
        tuples = mixed(tuples)
        found = candidates(sample, frame, tuples, forbidden, anywhere=place is Place.ANYWHERE)
        hit = np.bincount(found.row, minlength=found.tuples) > 0
        weights = tuples.weights[: len(hit)]
        value = float(weights[~hit].sum() / weights.sum()) if weights.any() else 1.0
        worth = tuples.worth * len(hit) / len(tuples.weights)
        # Where no tuple was spared half of one may have been.
        value = max(value, 0.5 / (worth + 1.0))
        return Selectivity(value, sqrt(value * (1.0 - value) / max(worth, 1.0)))

    def _growing(
        self, sample: Sample, piece: Piece, core: Cluster, repeated: Sequence[Repeated]
    ) -> tuple[Selectivity, Selectivity] | None:
        """Tuples of the core are drawn; the more unequal what they grow to, the more of them."""
        chains = [chains_of(piece, one) for one in repeated]
        kept = None
        for count in (FEW, *MORE):
            tuples = self._drawn(sample, core, count, around=True)
            found = growth(sample, mixed(tuples), chains) if tuples.size else None
            if found is None:
                break
            weights = mixed(tuples).weights[: len(found.matches)]
            grown = weights * found.matches
            total = float(grown.sum())
            # Where nothing grew half of one tuple may have.
            factor = max(total / float(weights.sum()), 0.5 / (tuples.worth + 1.0))
            error = sqrt(float(((grown - factor * weights) ** 2).sum())) / total if total else 1.0
            more = float((weights * found.more).sum()) / total if total else 0.0
            kept = Selectivity(factor, factor * min(error, 1.0)), Selectivity(more)
            if error <= PRECISE or len(weights) < count:
                break
        return kept
