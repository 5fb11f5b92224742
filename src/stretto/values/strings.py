"""Strings as numbers: one code space for all string attributes of an engine."""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stretto.values.hashing import U64, Lane, text_hashes
from stretto.values.rows import I64, Bool
from stretto.values.vector import Vector

BLOCK_BYTES: Final = 1 << 25
"""The most text in one block of results."""
QUOTED: Final = 6
"""Bytes that a character may become in JSON."""


def not_utf8(column: pa.Array) -> Bool:
    """Which strings of an Arrow column are not UTF-8: Arrow itself takes any bytes."""
    texts = column.dictionary if pa.types.is_dictionary(column.type) else column
    wrong = [raw is not None and not _is_text(raw) for raw in _bytes_of(texts)]
    if not pa.types.is_dictionary(column.type):
        return np.array(wrong, np.bool_)
    indices = column.indices.fill_null(len(wrong)).to_numpy(zero_copy_only=False)
    found: Bool = np.array([*wrong, False], np.bool_)[indices]
    return found


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _bytes_of(texts: pa.Array) -> list[bytes | None]:
    found: list[bytes | None] = texts.cast(pa.large_string()).cast(pa.large_binary()).to_pylist()
    return found


def valid_texts(column: pa.Array) -> pa.Array:
    """The same column with U+FFFD for what is not UTF-8; a dictionary stays one, nested columns become null."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        if pa.types.is_dictionary(column.type):
            return pa.DictionaryArray.from_arrays(column.indices, valid_texts(column.dictionary))
        if pa.types.is_nested(column.type):
            return pa.nulls(len(column), column.type)
        texts = [None if raw is None else raw.decode(errors="replace") for raw in _bytes_of(column)]
        return pa.array(texts, column.type)
    return column


def decoded(texts: pa.Array) -> list[Any]:
    """Strings as Python has them, with U+FFFD for what is not UTF-8."""
    return list(valid_texts(texts).to_pylist())


def stretches(texts: Sequence[Vector], strings: "Strings", n: int, most: int) -> Iterator[slice]:
    """`n` rows as stretches of at most `most` rows, and of fewer where their texts would be too large.

    Arrow addresses 2 GiB of text in an array, and nothing limits how long a text of an event is.
    """
    bound = BLOCK_BYTES // QUOTED
    if min(n, most) * len(texts) * strings.longest <= bound:
        yield from (slice(start, min(start + most, n)) for start in range(0, n, most))
        return
    ends = np.cumsum(sum(strings.lengths(vector) for vector in texts))
    start = 0
    while start < n:
        before = int(ends[start - 1]) if start else 0
        reached = int(np.searchsorted(ends, before + bound, side="right"))
        stop = min(start + most, max(reached, start + 1), n)
        yield slice(start, stop)
        start = stop


class Strings:
    """Texts and their codes 0, 1, .. in the order in which they were first seen; a text keeps its code for good.

    Equal codes mean equal texts, so `=` never looks at text. Order uses ranks, which are computed
    when they are needed after new texts: only terms like `<` and MIN/MAX over strings pay for them.
    """

    def __init__(self) -> None:
        self.longest = 0
        self._codes: dict[str, int] = {}
        self._texts: list[str] = []
        self._array: pa.Array = pa.array([], pa.large_string())
        self._ranks: I64 = np.zeros(0, np.int64)
        self._sorted: I64 = np.zeros(0, np.int64)
        # What terms have found out about texts, by the question: it is as lasting as the codes are.
        self.remembered: dict[Hashable, Any] = {}

    def __len__(self) -> int:
        return len(self._texts)

    def code(self, text: str) -> int:
        """The code of a text, a new one if it was never seen."""
        code = self._codes.setdefault(text, len(self._texts))
        if code == len(self._texts):
            self._texts.append(text)
            self.longest = max(self.longest, len(text))
        return code

    def encode(self, array: pa.Array | pa.ChunkedArray) -> Vector:
        """The codes of an Arrow array of strings, plain or as a dictionary; distinct texts are looked up.

        UnicodeDecodeError where one is not UTF-8.
        """
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks()
        if not pa.types.is_dictionary(array.type):
            array = array.cast(pa.large_string()).dictionary_encode()
        distinct = array.dictionary.to_pylist()
        if not distinct:
            return Vector(np.zeros(len(array), np.int64), np.zeros(len(array), np.bool_))
        code_of = np.array([-1 if text is None else self.code(text) for text in distinct], np.int64)
        indices = array.indices
        valid: Bool | None = None
        if indices.null_count:
            valid = indices.is_valid().to_numpy(zero_copy_only=False)
            indices = indices.fill_null(0)
        codes: I64 = code_of[indices.to_numpy(zero_copy_only=False)]
        if array.dictionary.null_count:  # a dictionary may itself hold a null
            valid = codes >= 0 if valid is None else valid & (codes >= 0)
        return Vector(codes, valid)

    def texts(self, codes: I64, valid: Bool | None = None) -> pa.Array:
        """The texts of these codes, as Arrow strings; null where not valid."""
        if len(self._array) < len(self._texts) and len(codes) < len(self._texts):
            # A few texts of many: the dictionary as a whole need not become an Arrow array for them.
            distinct, inverse = np.unique(codes if valid is None else codes[valid], return_inverse=True)
            few = pa.array([self._texts[code] for code in distinct.tolist()], pa.string())
            if valid is None:
                return few.take(pa.array(inverse))
            index = np.zeros(len(codes), np.int64)
            index[valid] = inverse
            return few.take(pa.array(index, mask=~valid))
        index = pa.array(codes) if valid is None else pa.array(codes, mask=~valid)
        return self._all_texts().take(index).cast(pa.string())

    def text(self, code: int) -> str:
        """The text of a code."""
        return self._texts[code]

    def texts_of(self, codes: I64) -> pa.Array:
        """The texts of different codes, ascending."""
        if len(codes) and codes[-1] - codes[0] + 1 == len(codes):
            return self._all_texts().slice(int(codes[0]), len(codes))
        return self._all_texts().take(pa.array(codes))

    def lengths(self, vector: Vector) -> I64:
        """How many characters each text has; 0 where there is no text."""
        codes = vector.data if vector.valid is None else np.where(vector.valid, vector.data, -1)
        distinct, inverse = np.unique(codes, return_inverse=True)
        sizes = [len(self._texts[code]) if code >= 0 else 0 for code in distinct.tolist()]
        found: I64 = np.array(sizes, np.int64)[inverse.reshape(-1)]
        return found

    def rank(self, codes: I64) -> I64:
        """Numbers that order as the texts of these codes do, by code point; good until a new text comes in.

        A number that is no code (the arbitrary data under a null) has an arbitrary rank.
        """
        self._rank_all()
        return self._ranks.take(codes, mode="clip") if len(self) else np.zeros_like(codes)

    def ranked(self, ranks: I64) -> I64:
        """The codes with these ranks: the inverse of `rank`."""
        self._rank_all()
        return self._sorted.take(ranks, mode="clip") if len(self) else np.zeros_like(ranks)

    def ranks_among(self, codes: I64) -> I64:
        """Numbers that order as the texts of just these codes do: for a few of many texts."""
        distinct, inverse = np.unique(codes, return_inverse=True)
        ranks = np.empty(len(distinct), np.int64)
        ranks[pc.array_sort_indices(self.texts(distinct)).to_numpy()] = np.arange(len(distinct))
        found: I64 = ranks[inverse.reshape(-1)]
        return found

    def hashes(self, codes: I64, lane: Lane) -> U64:
        """A hash of the text of each code, the same in every process; a number that is no code stays what it is."""
        distinct, inverse = np.unique(codes, return_inverse=True)
        words = distinct.view(np.uint64).copy()
        known = distinct >= 0
        words[known] = text_hashes(self.texts(distinct[known]), lane)
        return words[inverse.reshape(-1)]

    def _rank_all(self) -> None:
        if len(self._ranks) == len(self._texts):
            return
        # Arrow orders UTF-8 by its bytes, and that is the order of code points.
        self._sorted = pc.array_sort_indices(self._all_texts()).to_numpy().astype(np.int64)
        self._ranks = np.empty(len(self._sorted), np.int64)
        self._ranks[self._sorted] = np.arange(len(self._sorted), dtype=np.int64)

    def _all_texts(self) -> pa.Array:
        if len(self._array) < len(self._texts):
            new = pa.array(self._texts[len(self._array) :], pa.large_string())
            self._array = pa.concat_arrays([self._array, new])
        return self._array
