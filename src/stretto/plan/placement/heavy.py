"""Shared events that are in a large part of the rows of a join: where they are hashed, their unit is the slowest."""

from collections.abc import Sequence
from typing import NamedTuple


class HeavyEvent(NamedTuple):
    """An event by its id (of texts a hash), and the shares of the rows of both inputs that hold it."""

    number: int
    left: float
    right: float


def pairs_of(heavy: Sequence[HeavyEvent], keys: float) -> list[float]:
    """The share of all pairs that each heavy event has, if the others are in as many rows each, `keys` in all."""
    met = [one.left * one.right for one in heavy]
    left, right = (max(1.0 - sum(one[side] for one in heavy), 0.0) for side in (1, 2))
    total = sum(met) + left * right / max(keys - len(heavy), 1.0)
    return [own / total if total > 0 else 0.0 for own in met]
