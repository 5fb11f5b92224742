"""Of keys in an order, those at most a bound within a prefix: three-sided range reporting by a tree of minima.

McCreight, Priority search trees (1985), over an array: work grows with what is found, not with the prefix.
"""

import numpy as np

from stretto.values.loops import loop
from stretto.values.rows import I64, Bool


def minima(keys: I64) -> I64:
    """A complete tree of minima, root at 1; the leaves are the keys, filled up with the greatest number."""
    size = 1 << max(len(keys) - 1, 0).bit_length()
    tree = np.full(2 * size, np.iinfo(np.int64).max, np.int64)
    tree[size : size + len(keys)] = keys
    level = size
    while level > 1:
        half = level // 2
        tree[half:level] = tree[level : 2 * level].reshape(half, 2).min(axis=1)
        level = half
    return tree


@loop
def next_at_most(tree: I64, begin: int, bound: int) -> int:
    """The first place, from `begin` on, whose key is at most the bound; the number of leaves if there is none."""
    size: int = tree.shape[0] // 2
    if begin >= size:
        return size
    node = begin + size
    while tree[node] > bound:
        while node & 1:  # a right child: what comes next is right of its parent
            node >>= 1
        if node == 0:  # above the root: nothing does
            return size
        node += 1
    while node < size:
        node <<= 1
        if tree[node] > bound:
            node += 1
    found: int = node - size
    return found


@loop
def found_in_prefixes(tree: I64, low: I64, high: I64, bounds: I64, rows: I64, places: I64) -> int:
    """Pairs of a row i and a place in low[i]..high[i] - 1 whose key is at most bounds[i]; how many there are.

    They are written while there is room.
    """
    n = 0
    for i in range(low.shape[0]):
        at = next_at_most(tree, low[i], bounds[i]) if low[i] < high[i] else high[i]
        while at < high[i]:
            if n < rows.shape[0]:
                rows[n] = i
                places[n] = at
            n += 1
            at = next_at_most(tree, at + 1, bounds[i])
    return n


def found_in_prefixes_reference(tree: I64, low: I64, high: I64, bounds: I64) -> tuple[I64, I64]:
    keys = tree[len(tree) // 2 :]
    lengths = np.maximum(high - low, 0)
    rows = np.repeat(np.arange(len(low)), lengths)
    places = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths - low, lengths)
    kept: Bool = keys[places] <= bounds[rows]
    return rows[kept], places[kept]
