"""Sets that grow at one end as lists of nodes: each has the event that came last and the node of the set before it."""

import numpy as np

from stretto.values.loops import loop
from stretto.values.rows import I64, Bool


@loop
def written_out(parents: I64, positions: I64, heads: I64, offsets: I64) -> I64:
    """The events of the sets whose latest node is `heads`, each in time order; `offsets` say where each begins."""
    values = np.empty(offsets[-1], np.int64)
    for row in range(len(heads)):
        node = heads[row]
        for at in range(offsets[row + 1] - 1, offsets[row] - 1, -1):
            values[at] = positions[node]
            node = parents[node]
    return values


def written_out_reference(parents: I64, positions: I64, heads: I64, offsets: I64) -> I64:
    values = np.empty(offsets[-1], np.int64)
    nodes, at, starts = heads, offsets[1:] - 1, offsets[:-1]
    while len(nodes):
        left = at >= starts
        nodes, at, starts = nodes[left], at[left], starts[left]
        values[at] = positions[nodes]
        nodes, at = parents[nodes], at - 1
    return values


@loop
def reached(parents: I64, heads: I64) -> Bool:
    """Which nodes are in the set of some head; a head less than 0 has none."""
    found = np.zeros(len(parents), np.bool_)
    for head in heads:
        node = head
        while node >= 0 and not found[node]:
            found[node] = True
            node = parents[node]
    return found


def reached_reference(parents: I64, heads: I64) -> Bool:
    found = np.zeros(len(parents), np.bool_)
    nodes = heads[heads >= 0]
    while len(nodes):
        nodes = np.unique(nodes[~found[nodes]])
        found[nodes] = True
        nodes = parents[nodes]
        nodes = nodes[nodes >= 0]
    return found
