"""The multi-pattern graph in its compact form: which patterns have which parts in common.

Source: MCEP, sec. 4.1 and App. A. Patterns are cores, parts are shapes (pieces without the size of their window),
so terms, order, negations and repetitions by their last event take part. Two slots whose terms differ have
different shapes, which is how conflicting conditions make the common part smaller.

The paper keeps two hash tables: from a maximal common sub-pattern to its patterns and back. Here the first holds
every shareable part, which makes Γ of any sub-pattern one look-up; what is maximal between two patterns is read off
it when asked for. Adding or removing a pattern touches its own parts alone, however many patterns there are.
"""

from collections.abc import Iterable, Iterator

from stretto.papers.mcep.sub_patterns import ALL_SUBSETS, CoreParts
from stretto.pattern.disjoint_sets import DisjointSets


class MultiPatternGraph:
    """Patterns by number; two are neighbours if they have a part of at least `least` slots in common."""

    def __init__(self, patterns: Iterable[CoreParts] = (), least: int = 2) -> None:
        self._least = least
        self._parts: dict[int, CoreParts] = {}
        self._masks: dict[int, dict[int, tuple[int, ...]]] = {}  # pattern -> part -> where it stands
        self._having: dict[int, dict[int, None]] = {}  # part -> patterns, in the order in which they came
        for parts in patterns:
            self.add(parts)

    def add(self, parts: CoreParts) -> None:
        """Add a pattern."""
        where: dict[int, list[int]] = {}
        for mask in parts.shareable(self._least):
            where.setdefault(parts[mask][0], []).append(mask)
        self._parts[parts.number] = parts
        self._masks[parts.number] = {shape: tuple(masks) for shape, masks in where.items()}
        for shape in where:
            self._having.setdefault(shape, {})[parts.number] = None

    def remove(self, pattern: int) -> None:
        """Remove a pattern."""
        del self._parts[pattern]
        for shape in self._masks.pop(pattern):
            having = self._having[shape]
            del having[pattern]
            if not having:
                del self._having[shape]

    def __contains__(self, pattern: int) -> bool:
        return pattern in self._parts

    def __iter__(self) -> Iterator[int]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def patterns(self, shape: int) -> tuple[int, ...]:
        """Γ of a part: the patterns that have it."""
        return tuple(self._having.get(shape, ()))

    def masks(self, pattern: int, shape: int) -> tuple[int, ...]:
        """Where a part stands in a pattern: sets of its slots; several where it has slots that are alike."""
        return self._masks[pattern].get(shape, ())

    def vicinity(self, pattern: int) -> list[int]:
        """The parts that a pattern has in common with any other."""
        return [shape for shape in self._masks[pattern] if len(self._having[shape]) > 1]

    def maximal(self, pattern: int) -> dict[int, frozenset[int]]:
        """The maximal common sub-patterns of a pattern with its neighbours, and with which neighbours each is so."""
        found: dict[int, frozenset[int]] = {}
        for shape in self.vicinity(pattern):
            partners = self._having[shape].keys() - {pattern}
            for larger in self._larger(pattern, shape):
                partners -= self._having[larger].keys()
            if partners:
                found[shape] = frozenset(partners)
        return found

    def common(self, one: int, other: int) -> list[int]:
        """The maximal common sub-patterns of two patterns."""
        return [shape for shape, partners in self.maximal(one).items() if other in partners]

    def edges(self) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        """Every two neighbours, once, with their maximal common sub-patterns. For looking at; nothing here needs it."""
        place = {pattern: i for i, pattern in enumerate(self._parts)}
        for one in self._parts:
            edges: dict[int, list[int]] = {}
            for shape, partners in self.maximal(one).items():
                for other in partners:
                    edges.setdefault(other, []).append(shape)
            for other in sorted(edges, key=place.__getitem__):
                if place[one] < place[other]:
                    yield one, other, tuple(edges[other])

    def components(self) -> list[list[int]]:
        """The patterns that are connected by common parts, in groups; the groups by their first pattern."""
        together = DisjointSets([pattern] for pattern in self._parts)
        for having in self._having.values():
            together.join(*having)
        return together.sets()

    def _larger(self, pattern: int, shape: int) -> set[int]:
        """The parts of a pattern that contain one of its parts, as far as they are needed to see what is maximal.

        Between a part and a larger common one all are common, so one more slot is enough where all sets are parts.
        """
        parts = self._parts[pattern]
        masks = self._masks[pattern][shape]
        if parts.count <= ALL_SUBSETS:
            missing = ((mask, 1 << slot) for mask in masks for slot in range(parts.count))
            return {parts[mask | bit][0] for mask, bit in missing if not mask & bit}
        return {
            other
            for other, places in self._masks[pattern].items()
            if any(mask != place and mask & place == mask for mask in masks for place in places)
        }
