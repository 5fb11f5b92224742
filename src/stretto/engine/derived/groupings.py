"""Numbers of groups by several combinations of keys.

The values of each key have codes, which all combinations share, so a value is looked up once however many group by it.
The codes of a combination, in mixed radix, are one word. Where words are not many more than events, the word is the
group's number; else words are looked up in a table.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from stretto.engine.derived.group_numbers import OUTSIDE, GroupNumbers
from stretto.engine.derived.levels import Copies
from stretto.schema import Kind
from stretto.values.rows import I64, Bool
from stretto.values.vector import Vector

WIDEST = 1 << 62
"""Words are less than this."""
FEWEST_DIRECT = 1 << 10
ROOMY = 4
"""Words are numbers where they are no more than this, or than so many for each event of the window."""

Keys = tuple[int, ...]


class KeyCodes:
    """Codes of one key's values, less than `radix`; a code is given again when no event has its value."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self.clear()

    def clear(self) -> None:
        """Forget all values."""
        self.numbers = GroupNumbers([self._kind])
        self.radix = 1

    @property
    def capacity(self) -> int:
        """More than any code."""
        return self.numbers.capacity

    @property
    def nbytes(self) -> int:
        return self.numbers.nbytes

    def wanted(self, events: int) -> int:
        """How many codes the events of a window need."""
        del events
        return self.numbers.live

    def enter(self, key: Vector, n: int) -> I64:
        """The codes of the values that `n` events bring; OUTSIDE for nulls and NaN."""
        codes = self.numbers.enter([key], n)
        if self.numbers.used > self.radix:
            # Every change gives the groups of combinations new numbers, so it goes further than it must.
            self.radix = max(self.numbers.used, self.radix + self.radix // 2)
        return codes

    def copied(self, codes: I64, copies: Copies) -> I64:
        """The codes of the copies of events that have just entered."""
        self.numbers.add(codes, copies.counts - 1)
        return np.repeat(codes, copies.counts)

    def known(self, codes: I64) -> Vector:
        """The values that have these codes."""
        return self.numbers.keys(codes)[0]

    def leave(self, codes: I64) -> None:
        """Events with these codes are no longer in the window."""
        self.numbers.leave(codes)


class SmallNumbers:
    """The same of a key whose values are small numbers, which are their own codes."""

    nbytes = 0

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.radix = 1

    @property
    def capacity(self) -> int:
        return self.radix

    def wanted(self, events: int) -> int:
        del events
        return self.radix

    def enter(self, key: Vector, n: int) -> I64:
        del n
        codes: I64 = key.data
        most = int(codes.max(initial=0)) + 1
        if most > self.radix:
            self.radix = max(most, self.radix + self.radix // 2)
        return codes

    def known(self, codes: I64) -> Vector:
        return Vector(codes)

    def leave(self, codes: I64) -> None:
        pass


class Grouping:
    """Numbers of groups by one combination of keys, without repetitions and in order."""

    def __init__(self, keys: Keys) -> None:
        self.keys = keys
        self.clear()

    def clear(self) -> None:
        """Forget all groups."""
        self._radices: Keys | None = None
        self._words: tuple[Keys, ...] = (self.keys,)
        self._hashed: GroupNumbers | None = None

    @property
    def capacity(self) -> int:
        """More than any number."""
        if self._hashed is not None:
            return self._hashed.capacity
        return prod(self._radices or (1,))

    @property
    def nbytes(self) -> int:
        return 0 if self._hashed is None else self._hashed.nbytes

    def wanted(self, events: int) -> int:
        """How many numbers the events of a window need; where words are numbers, it may be one each."""
        return events if self._hashed is None else self._hashed.live

    def fit(self, radices: Keys, rows: int) -> bool:
        """Whether all numbers are to be given anew, since the keys have these radices; `rows`: of the window."""
        if radices == self._radices:
            return False
        self._radices = radices
        direct = prod(radices) <= max(FEWEST_DIRECT, ROOMY * rows)
        self._words = (self.keys,) if direct else _in_words(self.keys, radices)
        # As sparse as they are, most words are of one event.
        capacity = 1 << rows.bit_length()
        self._hashed = None if direct else GroupNumbers([Kind.INT] * len(self._words), capacity)
        return True

    def number(self, codes: "StepCodes", out: I64) -> None:
        """Write the numbers of the groups that events enter."""
        inside = codes.inside(self.keys)
        if self._hashed is not None:
            words = [Vector(codes.word(keys), inside) for keys in self._words]
            out[:] = self._hashed.enter(words, codes.count)
        elif inside is None:
            codes.write(self.keys, out)
        else:
            out[:] = np.where(inside, codes.word(self.keys), OUTSIDE)

    def leave(self, numbers: I64) -> None:
        """Events of these groups are no longer in the window."""
        if self._hashed is not None:
            self._hashed.leave(numbers)


class StepCodes:
    """The codes of some events key by key, and the words that are made of them: each once."""

    def __init__(self, codes: Sequence[I64], radices: Sequence[int], count: int) -> None:
        self.count = count
        self._codes, self._radices = codes, radices
        self._words: dict[Keys, I64] = {}
        self._inside = [None if not len(code) or code.min() >= 0 else code >= 0 for code in codes]

    def word(self, keys: Keys) -> I64:
        """The codes of these keys in mixed radix; arbitrary for events that one of them is null of."""
        if not keys:
            return np.zeros(self.count, np.int64)
        if len(keys) == 1:
            return self._codes[keys[0]]
        found = self._words.get(keys)
        if found is None:
            found = self._words[keys] = self._made(keys, np.empty(self.count, np.int64))
        return found

    def write(self, keys: Keys, out: I64) -> None:
        """The same to where it is to be; what is there is not to change while other words are asked for."""
        if len(keys) < 2 or keys in self._words:
            out[:] = self.word(keys)
        else:
            self._words[keys] = self._made(keys, out)

    def _made(self, keys: Keys, out: I64) -> I64:
        np.multiply(self.word(keys[:-1]), self._radices[keys[-1]], out=out)
        out += self._codes[keys[-1]]
        return out

    def inside(self, keys: Keys) -> Bool | None:
        """Which events have all of these keys; None: all have."""
        inside: Bool | None = None
        for key in keys:
            known = self._inside[key]
            if known is not None:
                inside = known if inside is None else inside & known
        return inside


def _in_words(keys: Keys, radices: Keys) -> tuple[Keys, ...]:
    """The keys in as few words as hold them."""
    words: list[Keys] = []
    product = WIDEST
    for key, radix in zip(keys, radices, strict=True):
        if product * radix < WIDEST:
            words[-1] = (*words[-1], key)
            product *= radix
        else:
            words.append((key,))
            product = radix
    return tuple(words)
