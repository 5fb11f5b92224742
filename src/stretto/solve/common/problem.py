"""The choice as numbers alone: pieces, ways with costs, roots. Solvers that need no more than that read this."""

from collections.abc import Mapping
from dataclasses import dataclass

from stretto.memo.memo import Memo
from stretto.memo.pricing import Pricing


@dataclass(frozen=True, slots=True)
class Problem:
    """An AND-OR graph without cycles. Way w of piece p reads the pieces `inputs[p][w]` and costs `costs[p][w]`.

    Wanted: one way for every root and for every piece that a chosen way reads, at the least total cost.
    """

    inputs: tuple[tuple[tuple[int, ...], ...], ...]
    costs: tuple[tuple[float, ...], ...]
    roots: tuple[int, ...]

    @classmethod
    def of(cls, memo: Memo, pricing: Pricing) -> "Problem":
        """The pieces of a memo keep their numbers, and their ways theirs; each root stands once."""
        inputs = tuple(tuple(way.pieces for way in ways) for ways in memo.ways)
        costs = tuple(
            tuple(pricing.cost(memo, number, way) for way in ways) for number, ways in enumerate(memo.ways)
        )
        return cls(inputs, costs, tuple(dict.fromkeys(root.piece for root in memo.roots)))

    def cost(self, chosen: Mapping[int, int]) -> float:
        """The cost of a choice of one way per piece (0 where it says nothing)."""
        return sum(self.costs[piece][chosen.get(piece, 0)] for piece in self.reached(chosen))

    def reached(self, chosen: Mapping[int, int]) -> list[int]:
        """The pieces that a choice computes, readers before what they read where that can be told in one pass."""
        found: dict[int, None] = dict.fromkeys(self.roots)
        pending = list(self.roots)
        while pending:
            piece = pending.pop()
            for part in self.inputs[piece][chosen.get(piece, 0)]:
                if part not in found:
                    found[part] = None
                    pending.append(part)
        return list(found)
