"""Selectivities of terms: measured on a sample when they are first asked for, read from a file, or assumed."""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from math import prod, sqrt
from typing import Any, Final, NamedTuple
from zlib import crc32

import numpy as np

from stretto.pattern.describe import stream_key
from stretto.pattern.nodes import Stream
from stretto.pattern.order import NO_ORDER
from stretto.pattern.predicates import Apply, Const, Expr, Reduce, Ref, columns_of, numbered, walk
from stretto.records import dataclass
from stretto.stats.comparison_trees import share_in_tree
from stretto.stats.drawn_tuples import Link, TupleFrame, Tuples, draw
from stretto.stats.remembered import remembered
from stretto.stats.safe_estimates import otherwise
from stretto.stats.sample import Sample
from stretto.stats.skew import UNKNOWN, Skew, agreement, figure, name_of, skew_of
from stretto.stats.term_clusters import (
    Cluster,
    cluster_words,
    frame_words,
    link_words,
    standard,
    stream_words,
)
from stretto.values.evaluate import holds

FEW: Final = 1 << 10  # tuples that are drawn for a term
MORE: Final = (1 << 12, 1 << 14)  # and where few of those satisfy it
PRECISE: Final = 0.15  # relative error that is good enough
LEAST: Final = (
    24  # tuples in the window that a measure needs; with fewer, events of any time are put together
)
ENOUGH: Final = (
    2000  # measures after which events are put together loosely: in workloads of thousands of queries
)
LOOSE: Final = 512  # tuples of such a measure
KEPT: Final = 256  # sets of tuples that are kept for the next term over the same streams

DEFAULTS: Final[Mapping[str, float]] = {
    "=": 0.1,
    "!=": 0.9,
    "<": 0.5,
    "<=": 0.5,
    ">": 0.5,
    ">=": 0.5,
    "is_null": 0.1,
    **dict.fromkeys(
        ("like", "ilike", "matches", "imatches", "contains", "starts_with", "ends_with", "has"), 0.05
    ),
    "cidr_match": 0.2,
}
"""What is assumed of a term that cannot be measured, by its operator."""
OTHERWISE: Final = 0.3


class Selectivity(NamedTuple):
    """The share of tuples that pass, and its standard error."""

    value: float
    error: float = 0.0


Words = tuple[str, str]


@dataclass(slots=True)
class Selectivities:
    """The selectivities that are known so far, and the sample that tells more.

    `known` is by text: the terms over event types, and the frame in which they were measured. `skews` is by stream (as
    text) and attribute. `counts`: numbers of tuples, and what follows from them, by text as well. `rates`: events per
    second by type, of the stream that all this was measured on.
    """

    sample: Sample | None = None
    seed: int = 0
    known: dict[Words, Selectivity] = field(default_factory=dict)
    skews: dict[Words, Skew] = field(default_factory=dict)
    rates: Mapping[str, float] = field(default_factory=dict)
    counts: dict[Words, Selectivity] = field(default_factory=dict)
    _tuples: dict[tuple[TupleFrame, int], Tuples] = field(default_factory=dict)
    _remembered: dict[tuple[Any, ...], Any] = field(default_factory=dict)

    # ---- one event ---------------------------------------------------------------------------------------------

    @remembered
    @otherwise(lambda _, stream: Selectivity(assumed(stream.where)))
    def of_stream(self, stream: Stream) -> Selectivity:
        """The share of a type's events that pass the stream's terms, all of them together."""
        if not stream.where:
            return Selectivity(1.0)
        words = stream_words(stream)
        if words not in self.known:
            total = self._seen(Stream(stream.type), stream.where)
            if not total:
                return Selectivity(assumed(stream.where))
            assert self.sample is not None
            passed = len(self.sample.members(stream).positions)
            found = share(passed, total)
            if not passed and len(stream.where) > 1:
                # Of independent terms far fewer events may pass than half of one in the sample.
                alone = prod(self.of_stream(replace(stream, where=(term,))).value for term in stream.where)
                found = Selectivity(min(found.value, alone), found.error)
            self.known[words] = found
        return self.known[words]

    def _seen(self, stream: Stream, terms: Iterable[Expr]) -> int:
        """How many events of a stream the sample has, if it can tell of these terms."""
        if self.sample is None or not all(_measurable(term, self.sample) for term in (*stream.where, *terms)):
            return 0
        return len(self.sample.members(stream).positions)

    # ---- several events ----------------------------------------------------------------------------------------

    @remembered
    @otherwise(lambda _, cluster: Selectivity(assumed(cluster.terms)))
    def of_cluster(self, cluster: Cluster) -> Selectivity:
        """The share of a frame's tuples that satisfy all terms of the cluster."""
        cluster = standard(cluster)
        words = cluster_words(cluster)
        if words not in self.known:
            if not self.can_tell(cluster):
                return Selectivity(assumed(cluster.terms))
            self.known[words] = self._measure(cluster)
        return self.known[words]

    def can_tell(self, cluster: Cluster) -> bool:
        """Whether the sample has events of all streams of a frame, and what the terms read."""
        return all(self._seen(stream, cluster.terms) for stream in cluster.frame.streams)

    def _measure(self, cluster: Cluster) -> Selectivity:
        # What comes back is never 0: a factor of 0 would make everything that is built on these rows free. So few
        # tuples are drawn first, then more, then tuples that are led to where the terms hold, then the terms are taken
        # one by one.
        busy = len(self.known) >= ENOUGH
        if busy and not any(_reads_time(term) for term in cluster.terms):
            return self._loosely(cluster)
        frame, base = self._frame(cluster.frame)
        found = self._passing(cluster.terms, base)
        for count in () if busy else MORE:
            if found.value and found.error <= PRECISE * found.value:
                return found
            base = self.drawn(frame, count)
            found = self._passing(cluster.terms, base)
        if found.value and (found.error <= PRECISE * found.value or len(frame.streams) == 2):
            return found
        followed = self._followed(cluster.terms, frame, base) if len(frame.streams) > 2 else None
        if followed is not None and (not found.value or followed.error < found.error):
            return followed
        if found.value:
            return found
        return self._product(cluster) if len(cluster.terms) > 1 else share(0, int(base.worth))

    def _loosely(self, cluster: Cluster) -> Selectivity:
        """Events of the streams wherever they stand: quick, and blind to what changes with time."""
        assert self.sample is not None
        if (counted := self._in_tree(cluster)) is not None:
            return counted
        random = np.random.default_rng(self.seed_of(cluster.frame))
        columns = []
        for stream in cluster.frame.streams:
            positions = self.sample.members(stream).positions
            columns.append(positions[random.integers(0, len(positions), LOOSE)])
        found = share(int(np.count_nonzero(holds(cluster.terms, columns, LOOSE, self.sample))), LOOSE)
        return self._product(cluster) if not found.value and len(cluster.terms) > 1 else found

    def _product(self, cluster: Cluster) -> Selectivity:
        """The terms of a cluster as if they were independent, unless all tuples can be counted."""
        if (counted := self._in_tree(cluster)) is not None:
            return counted
        value = prod(self.of_cluster(_alone(term, cluster.frame)).value for term in cluster.terms)
        return Selectivity(value, value)

    def _in_tree(self, cluster: Cluster) -> Selectivity | None:
        assert self.sample is not None
        if any(_reads_time(term) for term in cluster.terms):
            return None
        found = share_in_tree(cluster, self.sample)
        if found is None:
            return None
        seen = [len(self.sample.members(stream).positions) for stream in cluster.frame.streams]
        # All tuples of few events are no independent ones: how far to trust the share, the rarest stream says.
        least = 0.5 / min(prod(seen) + 1, MORE[-1])
        return Selectivity(max(found, least), sqrt(found * (1.0 - found) / max(min(seen), 1)))

    def _frame(self, frame: TupleFrame) -> tuple[TupleFrame, Tuples]:
        """The frame and its tuples; without its window and order where the sample has too few of them."""
        base = self.drawn(frame, FEW)
        if base.worth >= LEAST or np.count_nonzero(base.weights) >= LEAST:
            return frame, base
        anywhere = TupleFrame(frame.streams, NO_ORDER, frame.given, None)
        base = self.drawn(anywhere, FEW)
        if base.worth >= LEAST or not frame.given:
            return anywhere, base
        anywhere = anywhere._replace(given=())
        return anywhere, self.drawn(anywhere, FEW)

    def drawn(self, frame: TupleFrame, count: int) -> Tuples:
        """Tuples of a frame, the same for all who ask."""
        found = self._tuples.get((frame, count))
        if found is None:
            assert self.sample is not None
            # All terms over one frame are measured on the same tuples (common random numbers): what differs between
            # two of them is then due to the terms and not to chance.
            found = draw(self.sample, frame, count, self.seed_of(frame))
            if len(self._tuples) >= KEPT:
                self._tuples.clear()
            self._tuples[frame, count] = found
        return found

    def _passing(self, terms: tuple[Expr, ...], tuples: Tuples) -> Selectivity:
        assert self.sample is not None
        if not tuples.size:
            return Selectivity(0.0)
        passed = holds(terms, tuples.columns, len(tuples.weights), self.sample)
        value = float(tuples.weights[passed].sum() / tuples.weights.sum())
        return Selectivity(value, sqrt(value * (1.0 - value) / tuples.worth))

    def _followed(self, terms: tuple[Expr, ...], frame: TupleFrame, base: Tuples) -> Selectivity | None:
        """Tuples drawn under the terms, against tuples drawn without: for conjunctions that few satisfy."""
        assert self.sample is not None
        found = draw(self.sample, frame, MORE[-1], self.seed_of(frame), terms)
        if not found.size or not base.size:
            return None
        # Both sizes count tuples per event of the first slot, so their quotient is the share that the terms let
        # through.
        value = min(1.0, found.size / base.size)
        return Selectivity(value, value * sqrt(found.error**2 + base.error**2))

    def seed_of(self, frame: TupleFrame) -> int:
        """The same for frames that differ in the window alone, so that chance does not tell them apart."""
        return crc32(frame_words(frame._replace(window=None)).encode(), self.seed)

    # ---- equalities --------------------------------------------------------------------------------------------

    @remembered
    @otherwise(lambda *_: UNKNOWN)
    def skew(self, stream: Stream, attribute: str) -> Skew:
        """How the values of an attribute are spread over a stream's events."""
        if not any(_reads(term, attribute) for term in stream.where):
            stream = Stream(stream.type)
        term, kind = stream_words(stream)
        words = f"{kind}[{term}]" if term else kind, attribute
        if words not in self.skews:
            if self.sample is None or not self.sample.knows(attribute) or not self._seen(stream, ()):
                return UNKNOWN
            found = skew_of(self.sample, attribute, self.sample.members(stream).positions)
            if found is None:
                return UNKNOWN
            self.skews[words] = found
        return self.skews[words]

    @remembered
    def agreement(self, members: tuple[tuple[Stream, str], ...]) -> float:
        """The chance that events of these streams agree on these attributes, wherever they stand."""
        if any(stream.where for stream, _ in members):
            counted = self._agreement_of_some(members)
            if counted is not None:
                return counted
        return agreement([self.skew(stream, attribute) for stream, attribute in members])

    def _agreement_of_some(self, members: tuple[tuple[Stream, str], ...]) -> float | None:
        """The same, value by value; None where events would be compared with themselves, or are too few.

        Which values the terms of a stream leave the heaviest ones of its type do not tell.
        """
        attributes = {attribute for _, attribute in members}
        if len(attributes) > 1 or len(set(members)) < len(members):
            return None
        (attribute,) = attributes
        words = " = ".join(f"{stream_key(stream)}.{attribute}" for stream, _ in members), "agreement"
        found = self.counts.get(words)
        if found is None:
            seen = [self._seen(stream, ()) for stream, _ in members]
            if self.sample is None or not self.sample.knows(attribute) or min(seen) < LEAST:
                return None
            codes = self.sample.codes(attribute, attribute)[0] + 1  # null is 0
            product = np.ones(int(codes.max()) + 1)
            for stream, _ in members:
                mine = codes[self.sample.members(stream).positions]
                product *= np.bincount(mine, minlength=len(product)) / len(mine)
            found = self.counts[words] = Selectivity(max(float(product[1:].sum()), 0.5 / prod(seen)))
        return found.value

    @remembered
    @otherwise(lambda *_: 1.0)
    def nearness(self, frame: TupleFrame, link: Link) -> float:
        """How much more often two events agree when they stand in one window, as a factor."""
        anywhere = self.agreement(
            (
                (frame.streams[link.left], link.left_attribute),
                (frame.streams[link.right], link.right_attribute),
            )
        )
        words = link_words(frame, link)
        if words not in self.known:
            attributes = (link.left_attribute, link.right_attribute)
            if self.sample is None or not all(self.sample.knows(name) for name in attributes):
                return 1.0
            measured = self._agreeing(frame, link)
            if measured is None:
                return 1.0
            self.known[words] = measured
        return self.known[words].value / anywhere if anywhere else 1.0

    def _agreeing(self, frame: TupleFrame, link: Link) -> Selectivity | None:
        """The share of pairs in the window that agree; None where the sample has too few of them to tell."""
        assert self.sample is not None
        for count in (FEW, *MORE):
            base = self.drawn(frame, count)
            if not base.size or np.count_nonzero(base.weights) < LEAST:
                return None
            found = draw(self.sample, frame._replace(given=(link,)), count, self.seed_of(frame))
            value = min(1.0, found.size / base.size)
            # A poor measure would only add noise to the agreement over the whole sample, which stands without it.
            if found.size and (found.error <= PRECISE or (count == MORE[-1] and found.error < 2 * PRECISE)):
                return Selectivity(value, value * sqrt(found.error**2 + base.error**2))
        return None

    # ---- files -------------------------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """What has been measured so far."""
        return {
            "selectivity": _entries(self.known),
            "counts": _entries(self.counts),
            "skew": [
                {"stream": stream, "attribute": attribute, **skew.to_json()}
                for (stream, attribute), skew in sorted(self.skews.items())
            ],
        }

    @classmethod
    def from_json(cls, read: Mapping[str, Any]) -> "Selectivities":
        known, counts = _from_entries(read["selectivity"]), _from_entries(read.get("counts", ()))
        skews = {
            (name_of(entry["stream"]), name_of(entry["attribute"])): Skew.from_json(entry)
            for entry in read.get("skew", ())
        }
        rates = {name: figure(rate) for name, rate in read.get("rates", {}).items()}
        return cls(known=known, skews=skews, rates=rates, counts=counts)


def _entries(known: Mapping[Words, Selectivity]) -> list[dict[str, Any]]:
    return [
        {"term": term, "of": frame, "value": found.value, "error": found.error}
        for (term, frame), found in sorted(known.items())
    ]


def _from_entries(read: Iterable[Mapping[str, Any]]) -> dict[Words, Selectivity]:
    return {
        (name_of(entry["term"]), name_of(entry.get("of", ""))): Selectivity(
            figure(entry["value"]), figure(entry["error"])
        )
        for entry in read
    }


def share(passed: int, total: int) -> Selectivity:
    """A share of a number that was seen; where none passed, half of one may have."""
    value = passed / total if passed else 0.5 / (total + 1)
    return Selectivity(value, sqrt(value * (1.0 - value) / max(total, 1)))


def assumed(terms: Iterable[Expr]) -> float:
    """What is assumed of a conjunction that nobody has measured."""
    return prod(_assumed(term) for term in terms)


def _assumed(term: Expr) -> float:
    match term:
        case Const(value=value):
            return 1.0 if value is True else 0.0
        case Apply(op="and", arguments=arguments):
            return assumed(arguments)
        case Apply(op="=", arguments=(one, other)) if one == other:
            return 1.0  # asks for a value, which the keys of derived streams have
        case Apply(op="or", arguments=arguments):
            return 1.0 - prod(1.0 - _assumed(argument) for argument in arguments)
        case Apply(op="not", arguments=(argument,)):
            return 1.0 - _assumed(argument)
        case Apply(op="in", arguments=arguments):
            return min(0.9, DEFAULTS["="] * (len(arguments) - 1))
        case Apply(op=op):
            return DEFAULTS.get(op, OTHERWISE)
    return OTHERWISE


def _measurable(term: Expr, sample: Sample) -> bool:
    """Whether a term reads single events and attributes that the sample has."""
    return all(
        not isinstance(node, Reduce) and (not isinstance(node, Ref) or sample.knows(node.attribute))
        for node in walk(term)
    )


def _reads(term: Expr, attribute: str) -> bool:
    return any(isinstance(node, Ref) and node.attribute == attribute for node in walk(term))


def _reads_time(term: Expr) -> bool:
    return any(
        isinstance(node, Ref) and (node.attribute == "ts" or node.attribute.startswith("@"))
        for node in walk(term)
    )


def _alone(term: Expr, frame: TupleFrame) -> Cluster:
    """One term of a cluster, over the slots that it reads."""
    slots = sorted(columns_of(term))
    to = numbered(slots)
    given = tuple(
        Link(to[link.left], link.left_attribute, to[link.right], link.right_attribute)
        for link in frame.given
        if link.left in to and link.right in to
    )
    order = frame.order.part(slots)
    streams = tuple(frame.streams[slot] for slot in slots)
    return Cluster(TupleFrame(streams, order, given, frame.window), (term.moved(to),))
