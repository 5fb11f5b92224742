"""The values that tell matches apart, as numbers, and the mark that each combination of them has."""

from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Any, Final

import numpy as np
import pyarrow as pa

from stretto.engine.kernels.keep_apart import NEVER
from stretto.engine.results.match_chunks import Unread
from stretto.records import dataclass
from stretto.schema import LISTS, Kind
from stretto.values.rows import I64
from stretto.values.strings import Strings
from stretto.values.vector import Vector, concat_vectors

MANY: Final = 1 << 12
"""Neighbouring numbers among which values are found by their place, whether there is such a value or not."""
KEY_BYTES: Final = 160
"""About what the mark of one combination of values takes."""
Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Numbers:
    """Per part of the matches, `low` more than the place in `keys` of each one's values; none where all are alike.

    `look`: if it has values, these are the numbers, and the parts are places there, `base` more than these.
    """

    keys: list[Key]
    parts: Sequence[I64]
    low: int = 0
    look: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    base: int = 0


class KeyMarks:
    """The marks of a query's keys, from step to step.

    The keys of the last step have theirs in an array: in most steps they are the same.
    """

    def __init__(self, kinds: Sequence[Kind]) -> None:
        self._kinds = kinds
        self._others: dict[Key, int] = {}  # of keys that the last step did not have
        self._keys: list[Key] = []
        self._marks: I64 = np.zeros(0, np.int64)
        self._low = 0  # of neighbouring numbers: the value of the key behind that of nulls
        self._strings: Strings | None = None  # whose codes these numbers are; None: they are no neighbours

    @property
    def nbytes(self) -> int:
        return KEY_BYTES * (len(self._others) + int(np.count_nonzero(self._marks != NEVER)))

    def items(self) -> dict[Key, int]:
        """All of them."""
        some = np.flatnonzero(self._marks != NEVER)
        # The first is that of nulls: it comes last, as what lies under a null may be no value either.
        return self._others | {self._keys[i]: int(self._marks[i]) for i in some[::-1].tolist()}

    def restore(self, items: Iterable[tuple[Iterable[Any], int]]) -> None:
        """Go on from what `items` gave, written and read as JSON."""
        self._others = {tuple(map(_hashable, key)): mark for key, mark in items}
        self._keys, self._marks, self._strings = [], np.zeros(0, np.int64), None

    def of(self, numbers: Numbers) -> I64:
        """The marks of these keys, to be brought up to date and given back."""
        if numbers.keys is not self._keys:
            self._others = self.items()
            take = self._others.pop
            self._keys = numbers.keys
            self._marks = np.array([take(key, NEVER) for key in self._keys], np.int64)
        return self._marks

    def known(self, borrowed: I64, strings: Strings) -> tuple[int, I64] | None:
        """The marks of neighbouring values from the one that comes first on, where all that there are were such."""
        if strings is not self._strings:
            numbers = self._neighbours([Vector(borrowed)], strings)
            if numbers is None:
                return None
            self.of(numbers)
        return self._low, self._marks[1:]

    def put(self, marks: I64, oldest: int) -> None:
        """Keep the marks of the keys that were asked for last, and of all only those that something may be close to."""
        self._marks = np.where(marks >= oldest, marks, NEVER)
        self._others = {key: mark for key, mark in self._others.items() if mark >= oldest}

    def put_last(self, marks: I64, oldest: int) -> None:
        """The same for the last of them, if there are more."""
        self.put(np.concatenate((self._marks[: len(self._marks) - len(marks)], marks)), oldest)

    def numbers(
        self, columns: Sequence[Sequence[Vector]], strings: Strings, unread: Unread | None = None
    ) -> Numbers:
        """The combinations of values that tell matches apart, and which of them each match has.

        `columns`: for each of the values, the vectors of all parts; where they are `unread`, of positions.
        """
        if unread is not None:
            # Whoever walks over the matches reads events one after another, which takes next to nothing.
            positions = [part.data for part in columns[0]]
            if (known := self._neighbours([Vector(unread.borrowed)], strings)) is not None:
                return Numbers(known.keys, positions, known.low, unread.borrowed, unread.base)
            columns = [[unread.at(some) for some in positions]]
        if not columns:
            return Numbers(self._keys or [()], [])
        if len(columns) == 1 and (found := self._neighbours(columns[0], strings)) is not None:
            return found
        self._strings = None
        counts = [len(vector) for vector in columns[0]]
        each = [
            _numbers(concat_vectors(parts), kind, strings)
            for parts, kind in zip(columns, self._kinds, strict=True)
        ]
        if len(each) == 1:
            place, values = each[0]
            return Numbers([(value,) for value in values], np.split(place, np.cumsum(counts)[:-1]))
        few, place = np.unique(np.stack([own for own, _ in each]), axis=1, return_inverse=True)
        keys = [
            tuple(values[number] for (_, values), number in zip(each, combination, strict=True))
            for combination in few.T.tolist()
        ]
        place = np.ascontiguousarray(place.reshape(-1), np.int64)
        return Numbers(keys, np.split(place, np.cumsum(counts)[:-1]))

    def _neighbours(self, parts: Sequence[Vector], strings: Strings) -> Numbers | None:
        """Values that are themselves the numbers, where they lie close together; None: not so, or some are null."""
        kind = self._kinds[0]
        if kind is Kind.FLOAT or any(part.valid is not None or part.data.itemsize != 8 for part in parts):
            return None
        values = [part.data for part in parts]
        low, high = min(int(some.min()) for some in values), max(int(some.max()) for some in values)
        known = range(self._low, self._low + len(self._keys) - 1 if strings is self._strings else self._low)
        if low in known and high in known:
            return Numbers(self._keys, values, self._low - 1)
        most = min(MANY, sum(map(len, values)))
        if high - low >= most or low <= NEVER + 1:
            return None
        if known and max(high, known[-1]) - min(low, known[0]) < most:  # so that some step has no others
            low, high = min(low, known[0]), max(high, known[-1])
        keys = [(value,) for value in (None, *_values(np.arange(low, high + 1), kind, strings))]
        self._low, self._strings = low, strings
        return Numbers(keys, values, low - 1)


def _numbers(given: Vector, kind: Kind, strings: Strings) -> tuple[I64, list[Any]]:
    """Numbers that are equal where values are alike, and the value of each number; nulls are alike, and so are NaNs."""
    data = given.data
    if kind is Kind.FLOAT:
        data = np.where(data == 0, 0.0, np.where(np.isnan(data), np.nan, data))
    bits = np.ascontiguousarray(data).view(np.int64) if data.dtype.itemsize == 8 else data.astype(np.int64)
    low = int(bits.min())
    width = int(bits.max()) - low + 1
    if kind is not Kind.FLOAT and width <= min(MANY, len(bits)):
        distinct, place = low + np.arange(width), bits - low + 1
    else:
        coded = pa.array(bits).dictionary_encode()  # by hash: there are few different ones among many
        distinct = coded.dictionary.to_numpy()
        place = coded.indices.to_numpy().astype(np.int64) + 1
    if given.valid is not None:
        place = np.where(given.valid, place, 0)
    return place, [None, *_values(distinct, kind, strings)]


def _values(numbers: I64, kind: Kind, strings: Strings) -> list[Any]:
    """The values that numbers stand for."""
    if kind is Kind.STRING or kind in LISTS:
        # Under a null there may be a number that is no code.
        return [strings.text(code) if 0 <= code < len(strings) else None for code in numbers.tolist()]
    if kind is Kind.FLOAT:
        return [_hashable(value) for value in numbers.view(np.float64).tolist()]
    return list(numbers.tolist())


def _hashable(value: Any) -> Any:
    """A NaN equals nothing, so a text stands for it: no double has one."""
    return "NaN" if isinstance(value, float) and value != value else value  # noqa: PLR0124 - only NaN differs from itself
