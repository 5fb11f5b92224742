"""All binary trees over the slots of a piece."""

from collections.abc import Iterator
from functools import cache
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
    for left, right in splits(len(memo.pieces[number].slots)):
        yield Way(WayKind.JOIN, (memo.part(number, left), memo.part(number, right)), "split_in_two")


@cache
def splits(count: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Both sides of each split of so many slots, first the one that holds slot 0."""
    lefts: list[tuple[int, ...]] = []
    if count <= MOST_SLOTS:
        lefts = [(0, *rest) for size in range(count - 1) for rest in combinations(range(1, count), size)]
    elif count <= MANY_SLOTS:
        lefts = [tuple(range(end)) for end in range(1, count)]
    return [(left, tuple(sorted({*range(count)} - {*left}))) for left in lefts]
