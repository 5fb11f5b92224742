"""Everything around the chosen cores: repetitions, alternatives and scans have one given way."""

from collections.abc import Callable

from stretto.memo.memo import Memo
from stretto.solve.common.solution import Node

NodeOf = Callable[[int], Node]
"""The node of a piece."""
CoreNode = Callable[[int, NodeOf], Node]
"""The node of a core, given the nodes of the single slots that it reads."""


def wrapped(memo: Memo, core_node: CoreNode) -> tuple[Node, ...]:
    """A node for each root of the memo; equal pieces are computed once."""
    made: dict[int, Node] = {}

    def node_of(number: int) -> Node:
        known = made.get(number)
        if known is None:
            if memo.is_core(number):
                known = core_node(number, node_of)
            else:
                way = memo.ways[number][0]
                known = Node(number, way, tuple(node_of(piece) for piece in way.pieces))
            made[number] = known
        return known

    return tuple(node_of(root.piece) for root in memo.roots)
