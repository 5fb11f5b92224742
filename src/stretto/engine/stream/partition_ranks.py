"""Positions inside partitions: the rank of each event among those with the same values of some attributes."""

from collections.abc import Sequence

import numpy as np

from stretto.engine.rows.join_keys import order_keys
from stretto.schema import Kind
from stretto.values.rows import I64
from stretto.values.vector import Vector


class Ranks:
    """Counts the events of each partition; an event with a null or NaN among the values is in none."""

    def __init__(self, kinds: Sequence[Kind]) -> None:
        self._kinds = tuple(kinds)
        self._counts: dict[bytes, int] = {}

    def step(self, vectors: Sequence[Vector]) -> Vector:
        """The ranks of the next events, given their values attribute by attribute."""
        n = len(vectors[0].data)
        keys = np.empty((n, len(vectors)), np.int64)
        inside = np.ones(n, np.bool_)
        for i, (vector, kind) in enumerate(zip(vectors, self._kinds, strict=True)):
            keys[:, i], alive = order_keys(vector, kind)
            if alive is not None:
                inside &= alive
        ranks = np.zeros(n, np.int64)
        members = np.flatnonzero(inside)
        if len(members):
            ranks[members] = self._ranks(keys[members])
        return Vector(ranks, inside)

    def _ranks(self, keys: I64) -> I64:
        distinct, group = np.unique(keys, axis=0, return_inverse=True)
        group = group.reshape(-1)
        names = [row.tobytes() for row in distinct]
        before = np.array([self._counts.get(name, 0) for name in names], np.int64)
        sizes = np.bincount(group, minlength=len(names))
        order = np.argsort(group, kind="stable")
        starts = np.cumsum(sizes) - sizes
        ranks = np.empty(len(keys), np.int64)
        ranks[order] = np.arange(len(keys)) - np.repeat(starts - before, sizes)
        self._counts.update(zip(names, (before + sizes).tolist(), strict=True))
        return ranks
