"""What is left to choose, cut where nothing can be shared: each part is a problem of its own."""

from collections.abc import Mapping, Sequence

from stretto.pattern.disjoint_sets import DisjointSets
from stretto.records import dataclass
from stretto.solve.common.presolve import Residue
from stretto.solve.common.problem import Problem


@dataclass(frozen=True, slots=True)
class Component:
    """A problem whose piece i is piece `pieces[i]` of a larger one, and its way w that one's way `ways[i][w]`."""

    problem: Problem
    pieces: tuple[int, ...]
    ways: tuple[tuple[int, ...], ...]

    def outward(self, chosen: Mapping[int, int]) -> dict[int, int]:
        """A choice in the numbers of the larger problem."""
        return {self.pieces[piece]: self.ways[piece][way] for piece, way in chosen.items()}

    def inward(self, chosen: Mapping[int, int]) -> dict[int, int]:
        """What a choice of the larger problem says of this part, where its ways are left."""
        found: dict[int, int] = {}
        for piece, (name, ways) in enumerate(zip(self.pieces, self.ways, strict=True)):
            way = chosen.get(name)
            if way is not None and way in ways:
                found[piece] = ways.index(way)
        return found

    def within(self, outer: "Component") -> "Component":
        """The same part in the numbers that `outer`, of which it is a part, is itself given in."""
        return Component(
            self.problem,
            tuple(outer.pieces[piece] for piece in self.pieces),
            tuple(
                tuple(outer.ways[piece][way] for way in ways)
                for piece, ways in zip(self.pieces, self.ways, strict=True)
            ),
        )


def whole(problem: Problem) -> Component:
    """A problem as a part of itself."""
    ways = tuple(tuple(range(len(inputs))) for inputs in problem.inputs)
    return Component(problem, tuple(range(len(problem.inputs))), ways)


def components(residue: Residue) -> list[Component]:
    """The open pieces, those apart that no root can use together; the smallest part first."""
    together = DisjointSets([piece] for piece in residue.order)
    for piece in residue.order:
        together.join(piece, *(part for parts in residue.inputs[piece] for part in parts))
    roots = frozenset(residue.roots)
    return [_part(residue, pieces, roots) for pieces in sorted(together.sets(), key=len)]


def _part(residue: Residue, pieces: Sequence[int], roots: frozenset[int]) -> Component:
    number = {piece: i for i, piece in enumerate(pieces)}
    problem = Problem(
        tuple(tuple(tuple(number[p] for p in parts) for parts in residue.inputs[piece]) for piece in pieces),
        tuple(residue.costs[piece] for piece in pieces),
        tuple(number[piece] for piece in pieces if piece in roots),
    )
    return Component(problem, tuple(pieces), tuple(residue.ways[piece] for piece in pieces))
