"""The multi-pattern graph in its compact form: which patterns have which parts in common.

Source: MCEP, sec. 4.1 and App. A. Patterns are cores, parts are shapes (pieces without the size of their window),
so terms, order, negations and repetitions by their last event take part. Two slots whose terms differ have
different shapes, which is how conflicting conditions make the common part smaller.

The paper keeps two hash tables: from a maximal common sub-pattern to its patterns and back. Here the first holds
every shareable part, which makes Γ of any sub-pattern one look-up; nothing asks which of them are maximal. Adding a
pattern touches its own parts alone, however many patterns there are.
"""

from collections.abc import Iterator

from stretto.papers.mcep.sub_patterns import CoreParts
from stretto.pattern.disjoint_sets import DisjointSets


class MultiPatternGraph:
    """Patterns by number; two are neighbours if they have a part in common."""

    def __init__(self) -> None:
        self._masks: dict[int, dict[int, tuple[int, ...]]] = {}  # pattern -> part -> where it stands
        self._having: dict[int, dict[int, None]] = {}  # part -> patterns, in the order in which they came

    def add(self, parts: CoreParts) -> None:
        """Add a pattern."""
        where: dict[int, list[int]] = {}
        for mask in parts.shareable():
            where.setdefault(parts[mask][0], []).append(mask)
        self._masks[parts.number] = {shape: tuple(masks) for shape, masks in where.items()}
        for shape in where:
            self._having.setdefault(shape, {})[parts.number] = None

    def __iter__(self) -> Iterator[int]:
        return iter(self._masks)

    def patterns(self, shape: int) -> tuple[int, ...]:
        """Γ of a part: the patterns that have it."""
        return tuple(self._having.get(shape, ()))

    def masks(self, pattern: int, shape: int) -> tuple[int, ...]:
        """Where a part stands in a pattern: sets of its slots; several where it has slots that are alike."""
        return self._masks[pattern].get(shape, ())

    def vicinity(self, pattern: int) -> list[int]:
        """The parts that a pattern has in common with any other."""
        return [shape for shape in self._masks[pattern] if len(self._having[shape]) > 1]

    def components(self) -> list[list[int]]:
        """The patterns that are connected by common parts, in groups; the groups by their first pattern."""
        together = DisjointSets([pattern] for pattern in self._masks)
        for having in self._having.values():
            together.join(*having)
        return together.sets()
