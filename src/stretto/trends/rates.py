"""How many events a window has of each node, and how often those of some nodes come after those of others."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from stretto.pattern.nodes import Stream
from stretto.pattern.predicates import Ref, walk
from stretto.stats.estimate import MICROSECONDS, Estimator
from stretto.stats.profile import Stats
from stretto.stats.safe_estimates import otherwise
from stretto.stats.sample import Sample
from stretto.trends.plan import GraphNode
from stretto.values.rows import I64, Bool

ASSUMED: Final = 1000.0
"""Events in a window of a node that repeats itself, where nothing is known."""
ASSUMED_SINGLE: Final = 100.0
"""Those of any other node: what patterns repeat is what is frequent."""
LOOKED_AT: Final = 1 << 15
"""Events of the sample that alternations are counted on."""
FEWEST: Final = 20
"""Events from which on a sample tells of alternations."""

Nodes = frozenset[int]
Partition = tuple[str, ...]


class Rates:
    """Numbers of events for the benefit model. Without statistics windows are full and MatStates rare.

    `repeated`: the nodes that some query repeats by themselves.
    """

    def __init__(self, nodes: Sequence[GraphNode], repeated: Nodes, stats: Stats | None) -> None:
        self._repeated = repeated
        self._streams = [node.stream for node in nodes]
        self._estimator = None if stats is None else Estimator(stats)
        self._sample = None if stats is None else stats.sample
        self._events: dict[tuple[int, int, Partition], float] = {}
        self._flags: dict[Stream, Bool | None] = {}
        self._orders: dict[Partition, tuple[I64, I64]] = {}
        self._shares: dict[tuple[Nodes, Nodes, Partition], float] = {}

    @otherwise(lambda *_: ASSUMED_SINGLE)
    def events(self, node: int, window_us: int, partition: Partition) -> float:
        """Events of a node in a window that agree with a typical one on the attributes of the partition."""
        if self._estimator is None:
            return ASSUMED if node in self._repeated else ASSUMED_SINGLE
        known = node, window_us, partition
        if known not in self._events:
            stream = self._streams[node]
            found = self._estimator.rate(stream) * window_us / MICROSECONDS
            for attribute in partition:
                found *= self._estimator.selectivities.skew(stream, attribute).sum_of_squares
            self._events[known] = found
        return self._events[known]

    def alternations(self, entering: Nodes, entered: Nodes, window_us: int, partition: Partition) -> float:
        """How many events of `entered` in a window come next after one of `entering`, whatever lies between."""
        if self._estimator is None or not entering or not entered:
            return 0.0
        known = entering, entered, partition
        if known not in self._shares:
            self._shares[known] = self._share(*known)
        return self._shares[known] * sum(self.events(node, window_us, partition) for node in entered)

    @otherwise(lambda *_: 1.0)
    def _share(self, entering: Nodes, entered: Nodes, partition: Partition) -> float:
        """The share of the entered events: counted on the sample, or else as if all came independently."""
        counted = None if self._sample is None else self._counted(self._sample, entering, entered, partition)
        if counted is not None:
            return counted
        assert self._estimator is not None
        coming = sum(self._estimator.rate(self._streams[node]) for node in entering)
        own = sum(self._estimator.rate(self._streams[node]) for node in entered - entering)
        return coming / (coming + own) if coming else 0.0

    def _counted(self, sample: Sample, entering: Nodes, entered: Nodes, partition: Partition) -> float | None:
        before = self._any(sample, entering)
        after = self._any(sample, entered)
        if before is None or after is None or not all(sample.knows(name) for name in partition):
            return None
        order, keys = self._order(sample, partition)
        before, after = before[order], after[order]
        here = np.flatnonzero(before | after)
        total = int(np.count_nonzero(after))
        if total < FEWEST:
            return None
        earlier, later = here[:-1], here[1:]
        found = before[earlier] & after[later] & (keys[earlier] == keys[later])
        return float(np.count_nonzero(found)) / total

    def _any(self, sample: Sample, nodes: Nodes) -> Bool | None:
        """Which events of the sample belong to one of the nodes; None where it cannot tell."""
        flags = [self._of_stream(sample, self._streams[node]) for node in sorted(nodes)]
        known = [one for one in flags if one is not None]
        return np.logical_or.reduce(known) if known and len(known) == len(flags) else None

    def _of_stream(self, sample: Sample, stream: Stream) -> Bool | None:
        if stream not in self._flags:
            reads = [node for term in stream.where for node in walk(term) if isinstance(node, Ref)]
            found = None
            if all(sample.knows(ref.attribute) for ref in reads):
                found = np.zeros(min(sample.inside, LOOKED_AT), np.bool_)
                positions = sample.members(stream).positions
                found[positions[positions < len(found)]] = True
            self._flags[stream] = found
        return self._flags[stream]

    def _order(self, sample: Sample, partition: Partition) -> tuple[I64, I64]:
        """The events of the sample by partition, each in order of time, and the numbers of their partitions."""
        if partition not in self._orders:
            positions = np.arange(min(sample.inside, LOOKED_AT), dtype=np.int64)
            keys = np.zeros(len(positions), np.int64)
            for attribute in partition:
                values = np.unique(sample.values(attribute, positions).data, return_inverse=True)[1]
                keys = np.unique(keys * (len(positions) + 1) + values, return_inverse=True)[1]
            order = np.argsort(keys, kind="stable").astype(np.int64)
            self._orders[partition] = order, keys[order].astype(np.int64)
        return self._orders[partition]
