"""Each root with its own copy of all it can use, as flat arrays: cheapest trees of all roots at once.

A cell is a piece as one root can use it, an arc one of its ways. Every arc bears a share of its way's cost, and the
shares of a way add up to its cost. Then the cheapest trees of all roots together cost no more than any plan: a plan
pays a way once, which is what all roots that could use it bear together (the Lagrangian bound with one multiplier per
root and way). This is Lagrangian decomposition, or cost splitting (Guignard and Kim, Mathematical Programming 39,
1987): the constraint that all roots pay for one copy of a way is relaxed.

A root may use a piece several times (equal parts of one pattern); a tree counts it each time and a plan once. So an arc
that can occur m times in one tree is charged an m-th of its share each time.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from stretto.records import dataclass
from stretto.solve.common.presolve import Residue

A_LEVEL = 2e-5
AN_ARC = 5e-8
"""Seconds that it takes to find the cheapest trees, for each level and each arc of them."""
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Level:
    """Cells whose inputs are in lower levels, their arcs, and the arcs of higher levels that read them.

    `starts` are the cells' first arcs, counted from the first of the level. The cell `targets[i]` is read by the arcs
    `readers[reader_starts[i]:reader_starts[i + 1]]`; `read[j]` is the cell that the arc `readers[j]` reads.
    """

    cells: slice
    arcs: slice
    starts: Ints
    targets: Ints
    readers: Ints
    reader_starts: Ints
    read: Ints


class CostSplitting:
    """The cells of all roots, inputs before their readers; `share[a]` is the share of arc a.

    `way[a]` numbers the ways of the residue, piece by piece in its order; `piece[c]` numbers its pieces. After `bound`,
    `value[c]` is the cost of the cheapest tree of cell c, and `through[a]` that of the cheapest that begins with arc a.
    """

    def __init__(self, residue: Residue) -> None:
        number = {piece: i for i, piece in enumerate(residue.order)}
        first_way = [0, *accumulate(len(residue.ways[piece]) for piece in residue.order)]
        below = pieces_below(residue)
        height = _heights(residue)
        cells = sorted(
            (height[piece], r, number[piece]) for r, root in enumerate(residue.roots) for piece in below[root]
        )
        place = {(r, p): cell for cell, (_, r, p) in enumerate(cells)}
        repeated = [repetitions(residue, root, below) for root in residue.roots]
        self.piece: Ints = np.array([p for _, _, p in cells], np.int64)
        self.root: Ints = np.array([r for _, r, _ in cells], np.int64)
        self.roots: Ints = np.array(
            [place[r, number[root]] for r, root in enumerate(residue.roots)], np.int64
        )
        reads: list[list[int]] = []
        ways: list[int] = []
        counts: list[int] = []
        times: list[int] = []
        for _, r, p in cells:
            piece = residue.order[p]
            inputs = residue.inputs[piece]
            counts.append(len(inputs))
            ways.extend(range(first_way[p], first_way[p + 1]))
            times.extend([repeated[r].get(piece, 1)] * len(inputs))
            reads.extend([place[r, number[part]] for part in parts] for parts in inputs)
        self.way: Ints = np.array(ways, np.int64)
        self.cell: Ints = np.repeat(np.arange(len(cells)), counts)
        self.reads = _padded(reads, nothing=len(cells))
        self.cost: Floats = np.array([c for p in residue.order for c in residue.costs[p]], np.float64)
        self.users: Ints = np.bincount(self.way, minlength=len(self.cost))
        self.constant = residue.constant
        self.times: Floats | None = np.array(times, np.float64) if max(times, default=1) > 1 else None
        self.levels = _levels([level for level, _, _ in cells], self.cell, self.reads)
        self.share: Floats = self.cost[self.way] / self.users[self.way]
        self.value: Floats = np.zeros(len(cells) + 1)
        self.through: Floats = np.zeros(len(ways))

    @property
    def step_seconds(self) -> float:
        """What it takes to compute a bound and its trees."""
        return A_LEVEL * len(self.levels) + AN_ARC * len(self.way)

    def bound(self) -> float:
        """What the cheapest trees cost under the shares: no plan costs less."""
        self.fill(self.share if self.times is None else self.share / self.times)
        return self.constant + float(self.value[self.roots].sum())

    def fill(self, price: Floats, given: Flags | None = None) -> None:
        """Set `value` and `through` under these prices of arcs; cells that are `given` cost nothing."""
        # Level by level, as dynamic programming over the AND-OR graph: all cells of a level at once, inputs before
        # readers. The last cell stands for "nothing" and costs 0.
        for level in self.levels:
            sums = price[level.arcs] + self.value[self.reads[0, level.arcs]]
            for parts in self.reads[1:, level.arcs]:
                sums += self.value[parts]
            self.through[level.arcs] = sums
            least = np.minimum.reduceat(sums, level.starts)
            self.value[level.cells] = least if given is None else np.where(given[level.cells], 0.0, least)

    def trees(self) -> Flags:
        """The arcs of one cheapest tree of each root."""
        used = np.zeros(len(self.value), np.bool_)
        used[self.roots] = True
        taken = np.zeros(len(self.way), np.bool_)
        for level in reversed(self.levels):
            cell = self.cell[level.arcs]
            # Of several arcs that are equally cheap a tree takes the first one: `one` marks the first of each cell.
            tight = np.flatnonzero(used[cell] & (self.through[level.arcs] <= self.value[cell]))
            cell = cell[tight]
            one = np.ones(len(tight), np.bool_)
            one[1:] = cell[1:] != cell[:-1]
            tree = tight[one] + level.arcs.start
            taken[tree] = True
            for parts in self.reads[:, tree]:
                used[parts] = True
            used[-1] = False
        return taken

    def outside(self) -> Floats:
        """For each cell what the cheapest tree of its root that uses it costs apart from the cell's own tree."""
        found = np.full(len(self.value), np.inf)
        found[self.roots] = 0.0
        for level in reversed(self.levels):
            if len(level.targets):
                # Through a reader: the tree around it, and what it costs besides this cell.
                rest = found[self.cell[level.readers]] + self.through[level.readers] - self.value[level.read]
                found[level.targets] = np.minimum.reduceat(rest, level.reader_starts)
        return found

    def slack(self) -> Floats:
        """For each arc by how much the cheapest tree of its root that uses it exceeds the cheapest of all."""
        least = self.value[self.roots][self.root]
        return np.maximum(0.0, (self.outside()[:-1] - least)[self.cell] + self.through)

    def per_way(self, weights: Floats) -> Floats:
        """The sum of the arcs' weights of each way."""
        found: Floats = np.bincount(self.way, weights, len(self.cost)).astype(np.float64)
        return found


def pieces_below(residue: Residue) -> dict[int, frozenset[int]]:
    """For every open piece the open pieces that it can be made of, itself among them."""
    found: dict[int, frozenset[int]] = {}
    for piece in residue.order:
        parts = {part for inputs in residue.inputs[piece] for part in inputs}
        found[piece] = frozenset({piece}).union(*(found[part] for part in parts))
    return found


def _heights(residue: Residue) -> dict[int, int]:
    found: dict[int, int] = {}
    for piece in residue.order:
        found[piece] = max((found[part] + 1 for parts in residue.inputs[piece] for part in parts), default=0)
    return found


def repetitions(residue: Residue, root: int, below: Mapping[int, frozenset[int]]) -> dict[int, int]:
    """How often a piece can occur in one tree of a root, at most, where that is more than once."""
    # Most roots have no overlap, which is quick to see; only for the others occurrences are counted, from the leaves
    # up.
    inside = (
        [piece for piece in residue.order if piece in below[root]] if _overlaps(residue, root, below) else []
    )
    most: dict[int, dict[int, int]] = {}
    for piece in inside:
        often: dict[int, int] = {}
        for parts in residue.inputs[piece]:
            total: dict[int, int] = {}
            for part in parts:
                for under, count in most[part].items():
                    total[under] = total.get(under, 0) + count
            for under, count in total.items():
                often[under] = max(often.get(under, 0), count)
        most[piece] = {**often, piece: 1}
    return {piece: count for piece, count in most.get(root, {}).items() if count > 1}


def _overlaps(residue: Residue, root: int, below: Mapping[int, frozenset[int]]) -> bool:
    """Whether some way reads pieces that can be made of the same one."""
    return any(
        sum([len(below[part]) for part in parts]) > len(frozenset().union(*(below[part] for part in parts)))
        for piece in below[root]
        for parts in residue.inputs[piece]
        if len(parts) > 1
    )


def _padded(reads: Sequence[Sequence[int]], nothing: int) -> Ints:
    """The cells that each arc reads, one arc per column; `nothing` fills the places that are left over."""
    most = max((len(parts) for parts in reads), default=0)
    found = np.full((max(1, most), len(reads)), nothing, np.int64)
    for arc, parts in enumerate(reads):
        found[: len(parts), arc] = parts
    return found


def _levels(heights: Sequence[int], cell: Ints, reads: Ints) -> list[_Level]:
    height = np.array(heights, np.int64)
    nothing = len(height)
    place, arc = np.nonzero(reads != nothing)
    target = reads[place, arc]
    by_target = np.argsort(target, kind="stable")
    target, arc = target[by_target], arc[by_target]
    found: list[_Level] = []
    for h in range(int(height.max(initial=-1)) + 1):
        low, high = np.searchsorted(height, [h, h + 1])
        start, end = np.searchsorted(cell, [low, high])
        begin, stop = np.searchsorted(target, [low, high])
        targets, reader_starts = np.unique(target[begin:stop], return_index=True)
        starts = np.searchsorted(cell[start:end], np.arange(low, high))
        found.append(
            _Level(
                slice(int(low), int(high)),
                slice(int(start), int(end)),
                starts,
                targets,
                arc[begin:stop],
                reader_starts,
                target[begin:stop],
            )
        )
    return found
