"""What a solver finds: for every root a tree of computations, in which a shared one is one object."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from stretto.memo.memo import Memo
from stretto.memo.pricing import Pricing
from stretto.memo.ways import Way
from stretto.records import dataclass
from stretto.solve.common.problem import post_order

WayOf = Callable[[int], Way]
"""The way of a piece, by its number."""


@dataclass(frozen=True, slots=True, eq=False)
class Computation:
    """One computation of a piece. Nodes are compared by identity: two of them for one piece compute it twice."""

    piece: int
    way: Way
    inputs: tuple["Computation", ...] = ()


class Replay(NamedTuple):
    """How fast a stream can be replayed on so many units, by the model a plan was chosen by, and how fast by any."""

    units: int
    speed: float
    bound: float | None

    @property
    def gap(self) -> float | None:
        """The part of the bound that is missing; 0: the plan is proven to be the best."""
        return None if self.bound is None else max(1.0 - self.speed / self.bound, 0.0)


NodeOf = Callable[[int], Computation]
"""The node of a piece."""
CoreNode = Callable[[int, NodeOf], Computation]
"""The node of a core, given the nodes of the single slots that it reads."""


@dataclass(frozen=True, slots=True)
class Solution:
    """A node for each root of the memo, in their order.

    `lower_bound`: no solution over the same memo costs less, as far as that is proven. `replay`: where it was chosen
    for units.
    """

    roots: tuple[Computation, ...]
    lower_bound: float | None = None
    replay: Replay | None = None

    def nodes(self) -> Iterator[Computation]:
        """Every computation once, inputs before their readers."""
        seen: set[int] = set()
        for root in self.roots:
            yield from inputs_first(root, seen)

    def cost(self, memo: Memo, pricing: Pricing) -> float:
        return sum(pricing.cost(memo, node.piece, node.way) for node in self.nodes())


def inputs_first(root: Computation, seen: set[int]) -> Iterator[Computation]:
    """A node and all that it reads, without those in `seen`, which is added to; inputs before their readers."""
    pending = [(root, False)]
    while pending:
        node, ready = pending.pop()
        if ready:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            pending.append((node, True))
            pending.extend((part, False) for part in reversed(node.inputs))


def number_of(memo: Memo, piece: int, way: Way) -> int:
    """The number of a way among those of its piece, to which it is added if it is new."""
    memo.add(piece, way)
    ways = memo.ways[piece]
    return next(i for i, known in enumerate(ways) if known.kind is way.kind and known.inputs == way.inputs)


def as_choice(memo: Memo, start: Solution) -> dict[int, int]:
    """The ways of a solution as numbers; of a piece that it computes several times, one of them."""
    return {node.piece: number_of(memo, node.piece, node.way) for node in start.nodes()}


def one_way_each(memo: Memo, chosen: Mapping[int, int]) -> tuple[Computation, ...]:
    """Nodes for the roots with one way per piece, numbered in `chosen` (0 where it says nothing): all is shared."""
    return by_ways(memo, lambda number: memo.ways[number][chosen.get(number, 0)])


def by_ways(memo: Memo, way_of: WayOf) -> tuple[Computation, ...]:
    """The same with the way that is told for each piece."""
    roots = [root.piece for root in memo.roots]
    made = _made(roots, way_of)
    return tuple(made[root] for root in roots)


def each_alone(memo: Memo, chosen: Mapping[int, int]) -> tuple[Computation, ...]:
    """The same, but every root computes all it needs for itself."""

    def way_of(number: int) -> Way:
        return memo.ways[number][chosen.get(number, 0)]

    return tuple(_made([root.piece], way_of)[root.piece] for root in memo.roots)


def _made(wanted: Iterable[int], way_of: WayOf) -> dict[int, Computation]:
    """A node for each piece that is wanted or read."""
    made: dict[int, Computation] = {}
    for number in post_order(wanted, lambda number: way_of(number).pieces):
        way = way_of(number)
        made[number] = Computation(number, way, tuple(made[piece] for piece in way.pieces))
    return made


def around_cores(memo: Memo, core_node: CoreNode) -> tuple[Computation, ...]:
    """Nodes for the roots: cores by `core_node`, and what is around them by its one given way; each piece once."""
    made: dict[int, Computation] = {}

    def node_of(number: int) -> Computation:
        known = made.get(number)
        if known is None:
            if memo.is_core(number):
                known = core_node(number, node_of)
            else:
                way = memo.ways[number][0]
                known = Computation(number, way, tuple(node_of(piece) for piece in way.pieces))
            made[number] = known
        return known

    return tuple(node_of(root.piece) for root in memo.roots)
