"""Where the nodes of a layered graph stand: columns are given, rows follow from the neighbours.

This is the barycenter heuristic of Sugiyama, Tagawa and Toda (1981): sweeps over the columns, forth and back, order the
nodes of each by the mean rows of their neighbours. Rows with room between them then come from isotonic regression.
"""

from collections.abc import Sequence
from typing import Final

SWEEPS: Final = 8
"""Passes over all columns; crossings hardly become fewer after that."""


def rows_of(columns: Sequence[int], edges: Sequence[tuple[int, int]]) -> list[float]:
    """The row of every node: from 0 on, at least 1 apart in a column, near the rows of its neighbours.

    `columns[i]` is the column of node i; an edge joins nodes of different columns.
    """
    before: list[list[int]] = [[] for _ in columns]
    after: list[list[int]] = [[] for _ in columns]
    for one, other in edges:
        left, right = (one, other) if columns[one] < columns[other] else (other, one)
        before[right].append(left)
        after[left].append(right)
    members: dict[int, list[int]] = {}
    for node, column in enumerate(columns):
        members.setdefault(column, []).append(node)
    rows = [0.0] * len(columns)
    for nodes in members.values():
        for row, node in enumerate(nodes):
            rows[node] = float(row)
    for sweep in range(SWEEPS):
        near = before if sweep % 2 == 0 else after
        for column in sorted(members, reverse=sweep % 2 == 1):
            _settle(members[column], near, rows)
    for column in sorted(members):
        _settle(members[column], [[*b, *a] for b, a in zip(before, after, strict=True)], rows)
    least = min(rows, default=0.0)
    return [row - least for row in rows]


def _settle(nodes: list[int], near: Sequence[Sequence[int]], rows: list[float]) -> None:
    """Order the nodes of a column by the mean rows of their neighbours, and place them as near to these as possible."""
    wanted = {
        node: sum(rows[other] for other in near[node]) / len(near[node]) if near[node] else rows[node]
        for node in nodes
    }
    nodes.sort(key=lambda node: (wanted[node], rows[node], node))
    for node, row in zip(nodes, spaced([wanted[node] for node in nodes]), strict=True):
        rows[node] = row


def spaced(wanted: Sequence[float]) -> list[float]:
    """The rows nearest to ascending ones (least squares) that are at least 1 apart."""
    # Isotonic regression by pool-adjacent-violators: the mean of some in a row, that touch, and their number.
    blocks: list[tuple[float, int]] = []
    for place, row in enumerate(wanted):
        mean, count = row - place, 1
        while blocks and blocks[-1][0] > mean:
            other, more = blocks.pop()
            mean, count = (mean * count + other * more) / (count + more), count + more
        blocks.append((mean, count))
    means = [mean for mean, count in blocks for _ in range(count)]
    return [mean + place for place, mean in enumerate(means)]
