"""One way through trees of any depth: from the leaves up, with our own stack instead of Python's."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from stretto.text import syntax

T = TypeVar("T")
R = TypeVar("R")

MAX_DEPTH: Final = 1000
"""The deepest nesting of nodes that text and JSON may have."""


def fold(root: T, children: Callable[[T], Sequence[T]], build: Callable[[T, list[R]], R]) -> R:
    """`build(node, results of its children)` for every node, leaves first; returns the root's result."""
    pending: list[tuple[T, bool]] = [(root, False)]
    results: list[R] = []
    while pending:
        node, expanded = pending.pop()
        below = children(node)
        if below and not expanded:
            pending.append((node, True))
            pending.extend((child, False) for child in reversed(below))
            continue
        first = len(results) - len(below)
        mine = results[first:]
        del results[first:]
        results.append(build(node, mine))
    return results[0]


def fold_syntax(root: syntax.Node, build: Callable[[syntax.Node, list[R]], R]) -> R:
    """The same over the patterns or expressions inside one."""
    return fold(root, children_of, build)


def children_of(node: syntax.Node) -> Sequence[syntax.Node]:
    """The patterns or expressions directly inside one, in the order written."""
    match node:
        case syntax.Combine() | syntax.Logic():
            return node.parts
        case syntax.Not() | syntax.Repeat():
            return (node.part,)
        case syntax.Call():
            return node.arguments
        case syntax.Unary() | syntax.IsNull():
            return (node.value,)
        case syntax.Binary():
            return (node.left, node.right)
        case syntax.In():
            return (node.value, *node.options)
        case syntax.Between():
            return (node.value, node.low, node.high)
        case syntax.TextTest():
            return (node.value, node.pattern, *(() if node.escape is None else (node.escape,)))
        case syntax.Case():
            last = () if node.otherwise is None else (node.otherwise,)
            return (*(part for when in node.whens for part in when), *last)
        case _:
            return ()


def depth_of(node: syntax.Node) -> int:
    """How many nodes stand inside each other at most; 1 for a leaf."""

    def deeper(_: syntax.Node, below: list[int]) -> int:
        return 1 + max(below, default=0)

    return fold_syntax(node, deeper)
