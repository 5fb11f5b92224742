"""Partitions: the values on which all events of a trend agree, as dense codes."""

from collections.abc import Mapping, Sequence

import numpy as np

from stretto.engine.rows.join_keys import order_keys
from stretto.schema import Kind
from stretto.values.evaluate import Events
from stretto.values.rows import I64
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
        keys = np.empty((len(positions), len(vectors)), np.int64)
        inside = np.ones(len(positions), np.bool_)
        for i, (vector, kind) in enumerate(zip(vectors, self._kinds, strict=True)):
            keys[:, i], alive = order_keys(vector, kind)
            if alive is not None:
                inside &= alive
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
                values.append(_plain(vector.take(np.array(new, np.int64))))
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


def _plain(vector: Vector) -> Vector:
    """Without nulls, and without a zero below zero: it labels the same group as the other one."""
    return Vector(vector.data + 0.0 if vector.data.dtype.kind == "f" else vector.data.copy())
