"""The choice as numbers alone: pieces, ways with costs, roots. Solvers that need no more than that read this."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from math import inf
from typing import Final

from stretto.memo.memo import Memo
from stretto.memo.pricing import Pricing
from stretto.records import dataclass
from stretto.solve.common.budget import Budget

A_WAY: Final = 4e-5
"""Seconds that it takes to price a way, when the rows that it reads and makes have been estimated."""
NO_WAY: Final = inf
"""The cost of what cannot be chosen."""

Inputs = Sequence[Sequence[Sequence[int]]]


@dataclass(frozen=True, slots=True)
class Problem:
    """An AND-OR graph without cycles. Way w of piece p reads the pieces `inputs[p][w]` and costs `costs[p][w]`.

    Wanted: one way for every root and for every piece that a chosen way reads, at the least total cost. `priced`: all
    ways have a price, so that what is best of them is best of all.
    """

    inputs: tuple[tuple[tuple[int, ...], ...], ...]
    costs: tuple[tuple[float, ...], ...]
    roots: tuple[int, ...]
    priced: bool = True

    @classmethod
    def of(
        cls,
        memo: Memo,
        pricing: Pricing,
        budget: Budget | None = None,
        kept: Sequence[Mapping[int, int]] = (),
    ) -> "Problem":
        """The pieces of a memo keep their numbers, and their ways theirs; each root stands once.

        When the budget is over the ways that have no price yet are `NO_WAY`: pieces that have no other cannot be
        computed, nor what reads them. The choices `kept` are priced in any case; if there are none, the first ways.
        """
        inputs = tuple(tuple(way.pieces for way in ways) for ways in memo.ways)
        roots = tuple(dict.fromkeys(root.piece for root in memo.roots))
        costs: list[list[float]] = [[NO_WAY] * len(ways) for ways in memo.ways]
        # What a solver begins with is priced before the budget is asked, so that there always is a plan.
        known = 0
        for chosen in kept or ({},):
            for piece in _chosen_pieces(inputs, roots, chosen):
                first = chosen.get(piece, 0)
                if costs[piece][first] == NO_WAY:
                    costs[piece][first] = pricing.cost(memo, piece, memo.ways[piece][first])
                    known += 1
        if budget is not None:
            budget.work(A_WAY * known)
        priced = True
        for piece in post_order(reversed(roots), lambda piece: chain.from_iterable(inputs[piece])):
            for number, way in enumerate(memo.ways[piece]):
                if costs[piece][number] != NO_WAY:
                    continue
                if budget is not None and budget.denies(len(memo.pieces[piece].slots)):
                    priced = False
                    break
                costs[piece][number] = pricing.cost(memo, piece, way)
                if budget is not None:
                    budget.work(A_WAY)
        return cls(inputs, tuple(map(tuple, costs)), roots, priced)

    def cost(self, chosen: Mapping[int, int]) -> float:
        """The cost of a choice of one way per piece (0 where it says nothing)."""
        return sum(self.costs[piece][chosen.get(piece, 0)] for piece in self.reached(chosen))

    def reached(self, chosen: Mapping[int, int]) -> list[int]:
        """The pieces that a choice computes, readers before what they read where that can be told in one pass."""
        return _chosen_pieces(self.inputs, self.roots, chosen)


def _chosen_pieces(inputs: Inputs, roots: Sequence[int], chosen: Mapping[int, int]) -> list[int]:
    return reached(roots, lambda piece: inputs[piece][chosen.get(piece, 0)])


def reached(roots: Iterable[int], reads: Callable[[int], Iterable[int]]) -> list[int]:
    """Some pieces and all that is read to make them, each once, in the order in which they are met."""
    found = dict.fromkeys(roots)
    pending = list(found)
    while pending:
        for part in reads(pending.pop()):
            if part not in found:
                found[part] = None
                pending.append(part)
    return list(found)


def post_order(roots: Iterable[int], reads: Callable[[int], Iterable[int]]) -> list[int]:
    """The same pieces, inputs before their readers, from the last root to the first (depth-first, in post-order)."""
    done: dict[int, bool] = {}
    order: list[int] = []
    pending = [(root, False) for root in roots]
    while pending:
        piece, ready = pending.pop()
        if ready:
            done[piece] = True
            order.append(piece)
        elif piece not in done:
            done[piece] = False
            pending.append((piece, True))
            for part in reads(piece):
                if part not in done:
                    pending.append((part, False))
                else:
                    assert done[part], f"piece {part} is read in its own making"
    return order
