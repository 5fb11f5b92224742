"""Sets of members as texts, so that an event carries one in a column: the code of the text is the class of the event.

A set is written as its ranges, `0-9,12`: equal sets are equal texts, and whatever stores or moves texts moves sets.
What a class holds is worked out once, and so is what two of them have in common.
"""

from collections.abc import Callable, Iterable
from weakref import WeakKeyDictionary

import numpy as np

from stretto.values.rows import I64, Bool
from stretto.values.strings import Strings
from stretto.values.vector import Vector

UNKNOWN = -1
MEMBER, MEET, MEETS, RENUMBER = "member", "meet", "meets", "renumber"
"""Operators over classes: whether a member is in one; what two have in common; whether that is anything; the same
members by other numbers, given as `old:new old:new`.
"""
OF_SETS = frozenset({MEMBER, MEET, MEETS, RENUMBER})


MOST_RANGES = 8
MOST_BITS = 64
BITS = "#"
"""A set of more ranges than these is written as bits after a mark, unless a range would take more bits than this."""
AT_ONCE = 1 << 26
"""Answers about sets that are there at the same time."""


class MemberSets:
    """The sets among the texts of `strings`; the empty set is the empty text."""

    def __init__(self, strings: Strings) -> None:
        self._strings = strings
        self._members: dict[int, I64] = {}
        self._local: I64 = np.full(0, UNKNOWN)  # by code, the number of a set among the sets alone
        self._sets: list[I64] = []
        self.codes: list[int] = []
        """Of the small numbers of classes."""
        self._firsts, self._lasts = _Lists(), _Lists()
        self._holders: dict[int, Bool] = {}
        self._renumbered: dict[str, dict[int, int]] = {}
        self._pairs: dict[tuple[str, int, int], int] = {}
        self._unions: dict[bytes, int] = {}  # by the small numbers of what is united
        self.empty = self.code(())

    def code(self, members: Iterable[int] | I64) -> int:
        """The class of a set."""
        return self.code_of(
            np.unique(members if isinstance(members, np.ndarray) else np.array(list(members), np.int64))
        )

    def code_of(self, members: I64) -> int:
        """The class of a set whose members ascend."""
        code = self._strings.code(written(members))
        self._members[code] = members
        return code

    def members(self, code: int) -> I64:
        """The members of a class, ascending."""
        if code not in self._members:
            (text,) = self._strings.texts(np.array([code], np.int64)).to_pylist()
            self._members[code] = read(text)
        return self._members[code]

    def local(self, codes: I64) -> I64:
        """Small numbers for classes, the same ones as long as this lives."""
        if len(self._local) < len(self._strings):
            more = np.full(2 * len(self._strings), UNKNOWN)
            more[: len(self._local)] = self._local
            self._local = more
        found: I64 = self._local[codes]
        if len(found) and found.min() == UNKNOWN:
            for code in np.unique(codes[found == UNKNOWN]).tolist():
                self._local[code] = len(self._sets)
                self._sets.append(self.members(code))
                self.codes.append(code)
            found = self._local[codes]
        return found

    def has(self, codes: I64, member: int) -> Bool:
        """Which classes a member is in."""
        local = self.local(codes)
        known = self._holders.get(member, np.zeros(0, np.bool_))
        if len(known) < len(self._sets):
            more = [member in of for of in self._sets[len(known) :]]
            known = self._holders[member] = np.concatenate([known, np.array(more, np.bool_)])
        found: Bool = known[local]
        return found

    def ranges(self, codes: I64) -> tuple[I64, I64, I64]:
        """Places in `codes` and ranges of members of the classes there, from the first to the last of each."""
        local = self.local(codes)
        for of in self._sets[len(self._firsts) :]:
            first, last = _ranges(of)
            self._firsts.append(first)
            self._lasts.append(last)
        places, index = self._firsts.places(local)
        return places, self._firsts.values[index], self._lasts.values[index]

    def meet(self, one: I64, other: I64) -> I64:
        """The classes of what two have in common."""
        return self._combined("meet", np.intersect1d, one, other)

    def union(self, one: I64, other: I64) -> I64:
        """The classes of what is in one or the other."""
        return self._combined("union", np.union1d, one, other)

    def unions(self, codes: I64, starts: I64) -> I64:
        """The classes of what is in one or another of several that follow each other; `starts`: the first of each."""
        local = self.local(codes)
        present = np.flatnonzero(np.bincount(local))
        size = max(1, AT_ONCE // max(1, len(present)))
        ends = np.append(starts[1:], len(codes))
        index = np.searchsorted(present, local)
        parts = [np.zeros(0, np.int64)]
        for at in range(0, len(starts), size):
            low, high = starts[at : at + size], ends[at : at + size]
            held = np.zeros((len(low), len(present)), np.bool_)
            held[np.repeat(np.arange(len(low)), high - low), index[low[0] : high[-1]]] = True
            distinct, which = distinct_rows(held)
            parts.append(np.array([self._union_of(present[one]) for one in distinct], np.int64)[which])
        return np.concatenate(parts)

    def _union_of(self, local: I64) -> int:
        key = local.tobytes()
        if key not in self._unions:
            self._unions[key] = self.code(np.concatenate([self._sets[one] for one in local.tolist()]))
        return self._unions[key]

    def renumbered(self, codes: I64, numbers: str) -> I64:
        """The classes of the same members by other numbers; those that have none are left out."""
        known = self._renumbered.setdefault(numbers, {})
        for code in set(codes.tolist()) - known.keys():
            new = {int(old): int(other) for old, other in (pair.split(":") for pair in numbers.split())}
            known[code] = self.code([new[one] for one in self.members(code).tolist() if one in new])
        distinct, index = np.unique(codes, return_inverse=True)
        return np.array([known[code] for code in distinct.tolist()], np.int64)[index.reshape(-1)]

    def _combined(self, name: str, how: Callable[[I64, I64], I64], one: I64, other: I64) -> I64:
        one, other = np.broadcast_arrays(one, other)
        if not len(one):
            return np.zeros(0, np.int64)
        first, second = self.local(one), self.local(other)
        size = len(self._sets)
        distinct, index, inverse = np.unique(first * size + second, return_index=True, return_inverse=True)
        codes = np.empty(len(distinct), np.int64)
        for number, at in enumerate(index.tolist()):
            key = name, int(one[at]), int(other[at])
            if key not in self._pairs:
                self._pairs[key] = self.code(how(self.members(key[1]), self.members(key[2])))
            codes[number] = self._pairs[key]
        found: I64 = codes[inverse.reshape(-1)]
        return found


class _Lists:
    """Lists by number, one behind the other in one array; new ones are put there when somebody asks."""

    def __init__(self) -> None:
        self._values: I64 = np.zeros(0, np.int64)
        self._ends: I64 = np.zeros(1, np.int64)
        self._new: list[I64] = []

    def __len__(self) -> int:
        return len(self._ends) - 1 + len(self._new)

    def append(self, values: I64) -> None:
        self._new.append(values)

    @property
    def values(self) -> I64:
        """What is in all lists."""
        if self._new:
            sizes = np.array([len(of) for of in self._new], np.int64)
            self._ends = np.concatenate([self._ends, self._ends[-1] + np.cumsum(sizes)])
            self._values = np.concatenate([self._values, *self._new])
            self._new = []
        return self._values

    def places(self, numbers: I64) -> tuple[I64, I64]:
        """Pairs of places in `numbers` and places in `values`, those of the lists of these numbers."""
        assert len(self.values) == self._ends[-1]
        starts = self._ends[numbers]
        counts = self._ends[numbers + 1] - starts
        ends = np.cumsum(counts)
        places = np.repeat(np.arange(len(numbers)), counts)
        index = np.repeat(starts - (ends - counts), counts)
        index += np.arange(len(places))
        return places, index


_KNOWN: WeakKeyDictionary[Strings, MemberSets] = WeakKeyDictionary()


def member_sets(strings: Strings) -> MemberSets:
    """The sets among some texts; all who ask for the same texts share what is known of them."""
    return _KNOWN.setdefault(strings, MemberSets(strings)) if strings not in _KNOWN else _KNOWN[strings]


def apply_to_sets(op: str, arguments: list[Vector], strings: Strings) -> Vector:
    """An operator over classes."""
    sets = member_sets(strings)
    first, second = arguments
    if op == MEMBER:
        return Vector(sets.has(np.atleast_1d(first.data), int(second.data.reshape(-1)[0])), first.valid)
    if op == RENUMBER:
        (text,) = strings.texts(np.atleast_1d(second.data)[:1]).to_pylist()
        return Vector(sets.renumbered(np.atleast_1d(first.data), text))
    codes = sets.meet(np.atleast_1d(first.data), np.atleast_1d(second.data))
    return Vector(codes if op == MEET else codes != sets.empty)


def distinct_rows(answers: Bool) -> tuple[Bool, I64]:
    """The rows of a table that differ, and which of them each row is."""
    packed = np.ascontiguousarray(np.packbits(answers, axis=1))
    if not packed.shape[1]:
        return answers[:1], np.zeros(len(answers), np.int64)
    _, first, which = np.unique(
        packed.view(f"V{packed.shape[1]}").reshape(-1), return_index=True, return_inverse=True
    )
    return answers[first], which.reshape(-1)


def _ranges(members: I64) -> tuple[I64, I64]:
    """The first and the last ones of numbers that follow one another, of ascending numbers."""
    if not len(members) or members[-1] - members[0] == len(members) - 1:
        return members[:1], members[-1:]
    cuts = np.flatnonzero(members[1:] - members[:-1] != 1)
    return members[np.concatenate([[0], cuts + 1])], members[np.concatenate([cuts, [-1]])]


def written(members: I64) -> str:
    """Ascending numbers as ranges; where these are many, as bits."""
    first, last = _ranges(members)
    cuts = len(first) - 1
    if cuts >= MOST_RANGES and members[-1] < MOST_BITS * cuts:
        bits = np.zeros(int(members[-1]) + 1, np.bool_)
        bits[members] = True
        return BITS + np.packbits(bits).tobytes().hex()
    ends = zip(first.tolist(), last.tolist(), strict=True)
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in ends)


def read(text: str) -> I64:
    """The numbers that `written` wrote."""
    if text.startswith(BITS):
        packed = np.frombuffer(bytes.fromhex(text.removeprefix(BITS)), np.uint8)
        return np.flatnonzero(np.unpackbits(packed))
    ranges = [part.split("-") for part in text.split(",") if part]
    found = [np.arange(int(one[0]), int(one[-1]) + 1) for one in ranges]
    return np.concatenate(found) if found else np.zeros(0, np.int64)
