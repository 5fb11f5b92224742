"""The order of texts as numbers, so that comparisons of texts with constants are found by a search."""

import numpy as np

from stretto.engine.rows.join_keys import Keys, KeyTerm
from stretto.values.rows import I64
from stretto.values.strings import Strings
from stretto.values.vector import Vector

UNKNOWN = -1


class TextRanks:
    """Places of texts among those of some constants: 2i + 1 for the i-th of these, 2i for one before it.

    The place of a text is looked for once, when it first comes: codes stay what they are.
    """

    def __init__(self, strings: Strings, constants: I64) -> None:
        self._strings = strings
        distinct = np.unique(constants)
        self._sorted = distinct[np.argsort(strings.ranks_among(distinct))]
        self._places = np.zeros(0, np.int64)

    @property
    def nbytes(self) -> int:
        return self._sorted.nbytes + self._places.nbytes

    def of(self, vector: Vector) -> Vector:
        """The places of texts."""
        codes = vector.data if vector.valid is None else np.where(vector.valid, vector.data, 0)
        if len(self._places) < len(self._strings):
            more = np.full(len(self._strings) - len(self._places), UNKNOWN)
            self._places = np.concatenate([self._places, more])
        if not len(self._places):
            return Vector(np.zeros(len(codes), np.int64), vector.valid)
        found = self._places[codes]
        if (found == UNKNOWN).any():
            self._find(np.unique(codes[found == UNKNOWN]))
            found = self._places[codes]
        return Vector(found, vector.valid)

    def _find(self, codes: I64) -> None:
        count = len(self._sorted)
        ranks = self._strings.ranks_among(np.concatenate([self._sorted, codes]))
        constants, others = ranks[:count], ranks[count:]
        at = np.searchsorted(constants, others)
        equal = np.zeros(len(codes), np.bool_)
        inside = at < count
        equal[inside] = constants[at[inside]] == others[inside]
        self._places[codes] = 2 * at + equal


def stored_places(term: KeyTerm, places: Vector) -> Keys:
    """Keys of the constants' side, as for numbers."""
    return ~places.data if term.op in (">", ">=") else places.data, places.valid


def probing_places(term: KeyTerm, places: Vector) -> Keys:
    """Keys of the rows' side, so that the term is `stored <= probing`."""
    keys = ~places.data if term.op in (">", ">=") else places.data
    return keys - 1 if term.op in ("<", ">") else keys, places.valid
