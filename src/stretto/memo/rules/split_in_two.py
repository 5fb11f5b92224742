"""All binary trees over the slots of a piece."""

from collections.abc import Iterator
from itertools import combinations

from stretto.memo.memo import Memo
from stretto.memo.ways import Way, WayKind

MOST_SLOTS = 8
"""Pieces with more slots are split into a first and a last part alone."""
MANY_SLOTS = 24
"""Pieces with more slots than this are not split at all."""


def split_in_two(number: int, memo: Memo) -> Iterator[Way]:
    """P  ≡  P|L ⋈ P|R  for every split of the slots into L and R

    Law: L1. Requires: skip-till-any. Source: MCEP, sec. 5 (tree-based plans).
    """
    count = len(memo.pieces[number].slots)
    for left in splits(count):
        chosen = frozenset(left)
        right = tuple(slot for slot in range(count) if slot not in chosen)
        yield Way(WayKind.JOIN, (memo.part(number, left), memo.part(number, right)), "split_in_two")


def splits(count: int) -> Iterator[tuple[int, ...]]:
    """One side of each split of so many slots, the one that holds slot 0."""
    if count <= MOST_SLOTS:
        for size in range(count - 1):
            yield from ((0, *rest) for rest in combinations(range(1, count), size))
    elif count <= MANY_SLOTS:
        yield from (tuple(range(end)) for end in range(1, count))
