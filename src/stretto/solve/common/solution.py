"""What a solver finds: for every root a tree of computations, in which a shared one is one object."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from stretto.memo.memo import Memo
from stretto.memo.pricing import Pricing
from stretto.memo.ways import Way


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One computation of a piece. Nodes are compared by identity: two of them for one piece compute it twice."""

    piece: int
    way: Way
    inputs: tuple["Node", ...] = ()


@dataclass(frozen=True, slots=True)
class Solution:
    """A node for each root of the memo, in their order.

    `lower_bound`: no solution over the same memo costs less, as far as that is proven.
    """

    roots: tuple[Node, ...]
    lower_bound: float | None = None

    def nodes(self) -> Iterator[Node]:
        """Every computation once, inputs before their readers."""
        seen: set[int] = set()
        for root in self.roots:
            yield from inputs_first(root, seen)

    def cost(self, memo: Memo, pricing: Pricing) -> float:
        return sum(pricing.cost(memo, node.piece, node.way) for node in self.nodes())


def inputs_first(root: Node, seen: set[int]) -> Iterator[Node]:
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


def one_way_each(memo: Memo, chosen: Mapping[int, int]) -> tuple[Node, ...]:
    """Nodes for the roots with one way per piece, numbered in `chosen` (0 where it says nothing): all is shared."""
    made: dict[int, Node] = {}
    return tuple(_made(root.piece, memo, chosen, made) for root in memo.roots)


def each_alone(memo: Memo, chosen: Mapping[int, int]) -> tuple[Node, ...]:
    """The same, but every root computes all it needs for itself."""
    return tuple(_made(root.piece, memo, chosen, {}) for root in memo.roots)


def _made(wanted: int, memo: Memo, chosen: Mapping[int, int], made: dict[int, Node]) -> Node:
    """The node of a piece; those already made are used again."""
    pending = [wanted]
    while pending:
        number = pending[-1]
        way = memo.ways[number][chosen.get(number, 0)]
        missing = [] if number in made else [piece for piece in way.pieces if piece not in made]
        if missing:
            pending.extend(reversed(missing))
            continue
        pending.pop()
        if number not in made:
            made[number] = Node(number, way, tuple(made[piece] for piece in way.pieces))
    return made[wanted]
