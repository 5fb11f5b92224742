"""The share of tuples that satisfy comparisons which join their slots as a tree, over all tuples of the sample at once.

Terms that share an event are not independent: where `a.x < c.x` is rare because c is mostly small, it leaves the great
c, and those pass `b.x < c.x` too. So shares do not multiply, and of terms that are rare one by one no tuple that is
drawn may pass all. On a tree, messages from the leaves to the root (Pearl's belief propagation, 1982) count them all
without listing one: an event gets the share of the events behind each edge that it compares with, found by a sort.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from stretto.pattern.comparisons import FLIPPED
from stretto.pattern.predicates import Apply, Expr, columns_of
from stretto.records import dataclass
from stretto.schema import Kind
from stretto.stats.sample import Sample
from stretto.stats.term_clusters import Cluster
from stretto.values.evaluate import value
from stretto.values.rows import F64, Bool

_RANGES: Final = ("<", "<=", ">", ">=")
_ORDERED: Final = (Kind.INT, Kind.FLOAT, Kind.TIME, Kind.DURATION)


@dataclass(frozen=True, slots=True)
class _Edge:
    """`left op right`, each side over one slot."""

    slots: tuple[int, int]
    sides: tuple[Expr, Expr]
    op: str

    def seen_from(self, slot: int) -> "_Edge":
        if slot == self.slots[0]:
            return self
        return _Edge(self.slots[::-1], self.sides[::-1], FLIPPED[self.op])


def share_in_tree(cluster: Cluster, sample: Sample) -> float | None:
    """The share of the tuples, wherever their events stand; None where the terms are no tree of such comparisons."""
    if cluster.frame.given:
        return None
    edges = [_edge(term) for term in cluster.terms]
    known = [edge for edge in edges if edge is not None]
    if len(known) < len(edges) or len(known) != len(cluster.frame.streams) - 1 or not _is_tree(known):
        return None
    weights = _Messages(cluster, sample, known).weights(0, None)
    return float(weights.mean()) if len(weights) else 0.0


def _edge(term: Expr) -> _Edge | None:
    if not isinstance(term, Apply) or term.op not in _RANGES:
        return None
    left, right = term.arguments
    columns = columns_of(left), columns_of(right)
    kinds = (getattr(side, "kind", None) for side in (left, right))
    if any(len(read) != 1 for read in columns) or columns[0] == columns[1]:
        return None
    if any(kind not in _ORDERED for kind in kinds):
        return None
    (one,), (other,) = columns
    return _Edge((one, other), (left, right), term.op)


def _is_tree(edges: Sequence[_Edge]) -> bool:
    """Whether one more slot is reached by every edge: then no two edges join the same slots, and all are joined."""
    reached, left = {0}, list(edges)
    while left:
        edge = next((one for one in left if len(reached.intersection(one.slots)) == 1), None)
        if edge is None:
            return False
        reached.update(edge.slots)
        left.remove(edge)
    return True


@dataclass(frozen=True, slots=True)
class _Messages:
    cluster: Cluster
    sample: Sample
    edges: Sequence[_Edge]

    def weights(self, slot: int, parent: int | None) -> F64:
        """Of every event of a slot, the share of tuples behind it, away from the parent, that it passes with."""
        result = np.ones(len(self._positions(slot)))
        for edge in self.edges:
            if slot in edge.slots:
                seen = edge.seen_from(slot)
                if seen.slots[1] != parent:
                    result *= self._message(seen)
        return result

    def _message(self, edge: _Edge) -> F64:
        own, mine = self._values(edge.slots[0], edge.sides[0])
        others, theirs = self._values(edge.slots[1], edge.sides[1])
        weights = self.weights(edge.slots[1], edge.slots[0])[theirs]
        others = others[theirs]
        order = np.argsort(others, kind="stable")
        below = np.concatenate([[0.0], np.cumsum(weights[order])])
        equal_is_below = edge.op in ("<", ">=")
        at = np.searchsorted(others[order], own, side="right" if equal_is_below else "left")
        passed = below[at] if edge.op in (">", ">=") else below[-1] - below[at]
        return np.where(mine, passed, 0.0) / max(len(theirs), 1)

    def _values(self, slot: int, side: Expr) -> tuple[Any, Bool]:
        """The side's value of every event, and where it can be compared."""
        positions = self._positions(slot)
        found = value(side.moved({slot: 0}), [positions], len(positions), self.sample)
        valid = np.ones(len(positions), np.bool_) if found.valid is None else found.valid
        if found.data.dtype == np.float64:
            valid = valid & ~np.isnan(found.data)
        return found.data, valid

    def _positions(self, slot: int) -> Any:
        return self.sample.members(self.cluster.frame.streams[slot]).positions
