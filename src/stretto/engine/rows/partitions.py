"""Partitions: events that agree on the values of some attributes, by dense codes, and each event's rank in its own."""

from collections.abc import Mapping, Sequence

import numpy as np

from stretto.engine.rows.join_keys import order_keys
from stretto.schema import Kind
from stretto.values.evaluate import Events
from stretto.values.rows import I64, Bool
from stretto.values.vector import Vector, concat_vectors

OUTSIDE = -1
"""The code of an event with a null or NaN among the values: it agrees with none."""


class Partitions:
    """Gives every combination of values a code, from 0 on, that stays."""

    def __init__(self, attributes: Sequence[str], kinds: Mapping[str, Kind]) -> None:
        self._attributes = tuple(attributes)
        self._kinds = tuple(kinds[name] for name in attributes)
        self._codes: dict[bytes, int] = {}
        self._values: list[list[Vector]] = [[] for _ in attributes]

    def __len__(self) -> int:
        return len(self._codes)

    def codes(self, positions: I64, events: Events) -> I64:
        """The codes of events; OUTSIDE for those in no partition."""
        codes = np.zeros(len(positions), np.int64)
        if not self._attributes or not len(positions):
            if not self._codes and len(positions):
                self._codes[b""] = 0
            return codes
        vectors = [events.values(name, positions) for name in self._attributes]
        keys, inside = _keys(vectors, self._kinds)
        members = np.flatnonzero(inside)
        codes[~inside] = OUTSIDE
        if len(members):
            codes[members] = self._coded(keys[members], [vector.take(members) for vector in vectors])
        return codes

    def _coded(self, keys: I64, vectors: Sequence[Vector]) -> I64:
        if keys.shape[1] == 1:
            _, first, group = np.unique(keys[:, 0], return_index=True, return_inverse=True)
        else:
            _, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        known = np.empty(len(first), np.int64)
        new = []
        for i, row in enumerate(keys[first]):
            name = row.tobytes()
            code = self._codes.get(name)
            if code is None:
                code = self._codes[name] = len(self._codes)
                new.append(first[i])
            known[i] = code
        if new:
            for values, vector in zip(self._values, vectors, strict=True):
                found = vector.take(np.array(new, np.int64)).data
                # Without a zero below zero: it labels the same group as the other one.
                values.append(Vector(found + 0.0 if found.dtype.kind == "f" else found))
        codes: I64 = known[group.reshape(-1)]
        return codes

    def kind(self, attribute: str) -> Kind:
        return self._kinds[self._attributes.index(attribute)]

    def values(self, attribute: str, codes: I64) -> Vector:
        """The values of an attribute in the partitions of these codes."""
        kept = self._values[self._attributes.index(attribute)]
        if len(kept) > 1:
            kept[:] = [concat_vectors(kept)]
        return kept[0].take(codes)


class Ranks:
    """Counts the events of each partition; an event with a null or NaN among the values is in none."""

    def __init__(self, kinds: Sequence[Kind]) -> None:
        self._kinds = tuple(kinds)
        self._counts: dict[bytes, int] = {}

    def step(self, vectors: Sequence[Vector]) -> Vector:
        """The ranks of the next events, given their values attribute by attribute."""
        keys, inside = _keys(vectors, self._kinds)
        ranks = np.zeros(len(keys), np.int64)
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


def _keys(vectors: Sequence[Vector], kinds: Sequence[Kind]) -> tuple[I64, Bool]:
    """A row of order keys per event, and which events have all of them: no null and no NaN."""
    keys = np.empty((len(vectors[0].data), len(vectors)), np.int64)
    inside = np.ones(len(keys), np.bool_)
    for i, (vector, kind) in enumerate(zip(vectors, kinds, strict=True)):
        keys[:, i], alive = order_keys(vector, kind)
        if alive is not None:
            inside &= alive
    return keys, inside
