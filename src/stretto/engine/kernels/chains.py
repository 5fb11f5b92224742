"""Chains of repetitions that end in a given last one, enumerated over a graph of what may precede what.

Row r has the nodes `links[root_lo[r]:root_hi[r]]` as possible predecessors of its last repetition; node v has
`links[node_lo[v]:node_hi[v]]`, all of them less than v. Without `links` (an empty array) the ranges name the nodes
themselves. A chain is a path that starts at a row's last repetition and goes back in time; written out, it is in
time order, the last repetition at its end.

The enumeration is a depth-first search with its stack in arrays, so that it can stop when a block is full and go on
later. Predecessors have smaller numbers, so there is no cycle; `lengths` cuts off the branches that end in nothing, so
the work is in proportion to the nodes of the chains that are written.
"""

from collections.abc import Iterator

import numpy as np

from stretto.values.loops import loop
from stretto.values.rows import I64, Bool

Ranges = tuple[I64, I64]

LONGEST = 62
"""Lengths from here on are told apart no more; see `chain_lengths`."""


def wanted_lengths(least: int, most: int, depth: int) -> I64:
    """Per number d of nodes already taken, up to `depth`: a bit for every length L with least <= d + L <= most."""
    wanted = np.zeros(depth + 1, np.int64)
    for d in range(depth + 1):
        low, high = min(max(least - d, 1), LONGEST), min(most - d, LONGEST)
        wanted[d] = max((1 << (high + 1)) - (1 << low), 0) if high > 0 else 0
    return wanted


def chain_lengths_reference(nodes: Ranges, links: I64, starts: Bool) -> I64:
    """Per node v, bit L: some chain of L nodes, v its latest, begins where `starts` allows (62: that or more)."""
    lengths: list[set[int]] = []
    for v in range(len(starts)):
        lo, hi = int(nodes[0][v]), int(nodes[1][v])
        before = links[lo:hi].tolist() if len(links) else range(lo, hi)
        longer = {min(length + 1, LONGEST) for u in before for length in lengths[u]}
        lengths.append(longer | ({1} if starts[v] else set()))
    return np.array([sum(1 << length for length in found) for found in lengths], np.int64)


@loop
def chain_lengths(nodes: Ranges, links: I64, starts: Bool) -> I64:  # pragma: no cover - compiled
    """As `chain_lengths_reference`."""
    node_lo, node_hi = nodes
    top = np.int64(1) << LONGEST
    lengths = np.zeros(starts.shape[0], np.int64)
    for v in range(starts.shape[0]):
        found = np.int64(0)
        if links.shape[0]:
            for k in range(node_lo[v], node_hi[v]):
                found |= lengths[links[k]]
        else:
            for u in range(node_lo[v], node_hi[v]):
                found |= lengths[u]
        lengths[v] = ((found & ~top) << 1) | (found & top) | (2 if starts[v] else 0)
    return lengths


def chains_reference(
    roots: Ranges, nodes: Ranges, links: I64, starts: Bool, bare: Bool, least: int, most: int
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Every (row, nodes in time order) with least..most nodes, the earliest one allowed by `starts`.

    The chain without any node is allowed where `bare` is true.
    """

    def back(row: int, lo: int, hi: int, later: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, ...]]]:
        for k in range(lo, hi) if len(later) < most else ():
            v = int(links[k]) if len(links) else k
            chain = (v, *later)
            if len(chain) >= least and starts[v]:
                yield row, chain
            yield from back(row, nodes[0][v], nodes[1][v], chain)

    for row in range(len(bare)):
        if bare[row] and least == 0:
            yield row, ()
        yield from back(row, roots[0][row], roots[1][row], ())


@loop
def chains(  # pragma: no cover - compiled
    roots: Ranges,
    nodes: Ranges,
    links: I64,
    lengths: I64,
    wanted: I64,
    labels: Ranges,
    first: Ranges,
    bare: Bool,
    least: int,
    most: int,
    state: I64,
    stack: I64,
    path: I64,
    out: tuple[I64, I64, I64, I64],
) -> int:
    """Fill `out` with chains; return how many, with `state` ready to go on.

    `lengths` (empty: every node may begin a chain, and no bound on the number can fail) and `wanted` cut off what would
    end in nothing. `labels` and `first` are, for last repetitions and for nodes, what is written and the time of the
    earliest event. Out: the row, the time of the earliest event of all, offsets and values of the chains' labels.
    `state`: the row (the number of rows: all done), whether it has begun, the depth, the link to go on below. `stack`
    keeps, per depth, the link taken and the least one, `path` the labels from the end; both are as deep as the longest
    chain and one more.
    """
    root_lo, root_hi = roots
    node_lo, node_hi = nodes
    final, label = labels
    row_first, node_first = first
    rows, firsts, offsets, values = out
    linked, pruned = links.shape[0] > 0, lengths.shape[0] > 0
    row, begun, depth, k = state[0], state[1], state[2], state[3]
    room, space, deepest = rows.shape[0], values.shape[0], path.shape[0] - 1
    n = used = 0
    offsets[0] = 0
    full = False
    while row < root_lo.shape[0]:
        if not begun:
            path[deepest] = final[row]
            if least == 0 and bare[row]:
                if n == room or used == space:
                    break
                rows[n] = row
                firsts[n] = row_first[row]
                values[used] = final[row]
                used += 1
                n += 1
                offsets[n] = used
            depth, k, begun = 0, root_hi[row], 1
            stack[0, 1] = root_lo[row]
        low = stack[depth, 1]
        # Here: `path` holds the labels of the nodes taken, `stack[0:depth]` the links that led to them, and at this
        # depth the links from k on are done. So a break with k + 1 takes the same link again.
        while True:
            k -= 1  # from the latest predecessor down
            if k < low:
                if depth == 0:
                    break
                depth -= 1
                k, low = stack[depth, 0], stack[depth, 1]
                continue
            v = links[k] if linked else k
            begins = True
            if pruned:
                if not lengths[v] & wanted[depth]:
                    continue
                begins = lengths[v] & 2 != 0
            size = depth + 1
            if begins and size >= least:
                if n == room or used + size >= space:  # nothing of this chain has been written yet
                    full = True
                    k += 1
                    break
                rows[n] = row
                firsts[n] = min(row_first[row], node_first[v])
                values[used] = label[v]
                for i in range(size):
                    values[used + 1 + i] = path[deepest - depth + i]
                used += size + 1
                n += 1
                offsets[n] = used
            if size < most and node_lo[v] < node_hi[v]:
                path[deepest - size] = label[v]
                stack[depth, 0] = k
                depth, k, low = size, node_hi[v], node_lo[v]
                stack[depth, 1] = low
        if full:
            break
        row += 1
        begun = 0
    state[0], state[1], state[2], state[3] = row, begun, depth, k
    return n
