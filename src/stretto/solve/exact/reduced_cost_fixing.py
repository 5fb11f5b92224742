"""What a plan cheaper than the best known one must and must not do, told from the shares of costs.

With bound L, shares s and slacks d (what a root loses at least by using a way), a plan that uses way w costs at least
L + sum over roots of min(s, d), and for the root that does use it the rest of its slack: the way is paid in full, and
who does not use it gives back its share only as far as that made it cheaper. A plan that does not compute a piece
costs at least L plus what every root loses without it. This is reduced-cost fixing (Dantzig, Fulkerson and Johnson,
Operations Research 2, 1954), with the slacks of the Lagrangian bound as reduced costs.
"""

import numpy as np

from stretto.records import dataclass
from stretto.solve.common.presolve import Residue
from stretto.solve.exact.components import Component
from stretto.solve.exact.cost_splitting import CostSplitting, Floats
from stretto.solve.exact.lagrangian import add_up

MARGIN = 1e-9
"""Relative room for rounding: plans that are better by less are never looked for."""
KEEP_ALIVE = 1e-6
"""The part of an equal share that an arc begins with at least."""


@dataclass(frozen=True, slots=True)
class Fixing:
    """By piece the numbers of the ways that a better plan can use, and the pieces that it must compute."""

    kept: dict[int, tuple[int, ...]]
    required: tuple[int, ...]


def worth_finding(cost: float, gain: float = MARGIN) -> float:
    """Below this a plan counts as cheaper than one of that cost: by a part of it that is worth a search."""
    return cost - gain * abs(cost)


def fix(residue: Residue, shares: CostSplitting, limit: float) -> Fixing:
    """What remains for plans that are cheaper than the limit; `shares` hold a bound below it."""
    bound = shares.bound()
    possible = bound + least_extra(shares) < limit
    kept: dict[int, tuple[int, ...]] = {}
    at = 0
    for piece in residue.order:
        ways = residue.ways[piece]
        kept[piece] = tuple(
            way for way, left in zip(ways, possible[at : at + len(ways)], strict=True) if left
        )
        at += len(ways)
    loss = least_loss(shares, len(residue.order))
    required = np.flatnonzero(bound + loss >= limit)
    return Fixing(kept, tuple(residue.order[piece] for piece in required))


def least_extra(shares: CostSplitting) -> Floats:
    """For each way by how much, at least, plans that use it cost more than the bound."""
    # With the way paid in full its arcs are free to all roots. A root's cheapest tree gets cheaper by that only as far
    # as its share exceeds its slack, so min(share, slack) of each share is paid on top of the bound.
    slack = shares.slack()
    borne = np.minimum(shares.share, slack)
    rest = np.full(len(shares.cost), np.inf)
    np.minimum.at(rest, shares.way, slack - borne)
    extra: Floats = shares.per_way(borne) + rest
    return extra


def least_loss(shares: CostSplitting, pieces: int) -> Floats:
    """For each piece by how much, at least, plans that do not compute it cost more than the bound.

    One piece of each root's tree is forbidden at a time, for all roots together; roots whose cheapest tree does not
    use a piece lose nothing without it.
    """
    price = shares.share if shares.times is None else shares.share / shares.times
    used = np.unique(shares.cell[shares.trees()])
    used = used[~np.isin(used, shares.roots)]
    used = used[np.argsort(shares.root[used], kind="stable")]
    root = shares.root[used]
    first = np.searchsorted(root, root)
    # In turn t every root does without the t-th piece of its tree: as many fillings as the largest tree has pieces.
    turn = np.arange(len(used)) - first
    least = shares.value[shares.roots].copy()
    found = np.zeros(pieces)
    for now in range(int(turn.max(initial=-1)) + 1):
        cells = used[turn == now]
        forbidden = np.zeros(len(shares.piece), np.bool_)
        forbidden[cells] = True
        shares.fill(np.where(forbidden[shares.cell], np.inf, price))
        lost = shares.value[shares.roots] - least
        found += np.bincount(shares.piece[cells], lost[shares.root[cells]], pieces)
    shares.fill(price)
    return found


class WarmStart:
    """Shares by root, piece and way in the numbers of the whole problem, to begin with where less is left of it."""

    def __init__(self, part: Component, residue: Residue, shares: CostSplitting) -> None:
        self._share = dict(zip(_names(part, residue, shares), shares.share.tolist(), strict=True))

    def give(self, part: Component, residue: Residue, shares: CostSplitting) -> None:
        """Begin with these shares; where none is known, with equal ones."""
        even = shares.cost[shares.way] / shares.users[shares.way]
        known = np.array([self._share.get(name, np.nan) for name in _names(part, residue, shares)])
        found = np.where(np.isnan(known), even, known) + KEEP_ALIVE * even
        shares.share = add_up(found, shares.way, shares.cost)


def _names(part: Component, residue: Residue, shares: CostSplitting) -> list[tuple[int, int, int]]:
    """Root, piece and way of each arc."""
    ways = [(part.pieces[p], part.ways[p][w]) for p in residue.order for w in residue.ways[p]]
    roots = [part.pieces[root] for root in residue.roots]
    arcs = zip(shares.root[shares.cell].tolist(), shares.way.tolist(), strict=True)
    return [(roots[root], *ways[way]) for root, way in arcs]
