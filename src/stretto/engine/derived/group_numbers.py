"""Dense numbers for the groups of a window, given again when a group is empty."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from stretto.engine.derived.kernels.group_tables import FREE, USED, fill_table, number_rows
from stretto.engine.kernels.order_keys import MOST
from stretto.engine.kernels.when_to_compile import is_due
from stretto.engine.rows.join_keys import order_keys
from stretto.schema import Kind
from stretto.values.rows import F64, I64, Bool
from stretto.values.vector import Vector

OUTSIDE = -1
"""The number of an event with a null or NaN among its keys: it is in no group."""
FIRST_CAPACITY = 64
TWIN = 8
"""How much longer the twins of the loops take for a row than twins elsewhere do: they look rows up one by one."""
NO_MASK: Bool = np.zeros(0, np.bool_)


class GroupNumbers:
    """Events that agree on all keys have one number, below `capacity`; without keys, all events are one group.

    A number may be given to another group only after all events of its group have left. `capacity`: to begin with, a
    power of two.
    """

    def __init__(self, kinds: Sequence[Kind], capacity: int = FIRST_CAPACITY) -> None:
        self.capacity = capacity
        self._kinds = tuple(kinds)
        self._known: I64 = np.zeros((self.capacity, len(kinds)), np.int64)
        self._members: I64 = np.zeros(self.capacity, np.int64)
        self._free: I64 = np.zeros(self.capacity, np.int64)
        self._used: I64 = np.zeros(2, np.int64)
        # Two ways to look keys up: what the loop reads, and what its twin reads. At most one is kept.
        self._slots: npt.NDArray[np.int32] | None = None
        self._numbers: dict[bytes, int] | None = None

    @property
    def live(self) -> int:
        """How many groups have events."""
        return int(np.count_nonzero(self._members))

    @property
    def used(self) -> int:
        """One more than the greatest number that was given."""
        return int(self._used[USED])

    @property
    def nbytes(self) -> int:
        slots = 0 if self._slots is None else self._slots.nbytes
        return self._known.nbytes + self._members.nbytes + self._free.nbytes + slots

    def enter(self, keys: Sequence[Vector], n: int) -> I64:
        """The numbers of the groups that `n` events enter; OUTSIDE for those in none."""
        words, inside = self._words(keys, n)
        numbers = np.empty(n, np.int64)
        if is_due(number_rows, TWIN * n):
            self._number(words, NO_MASK if inside is None else inside, numbers)
        else:
            self._number_reference(words, inside, numbers)
        return numbers

    def find(self, keys: Sequence[Vector], n: int) -> I64:
        """The numbers of groups that `n` events would enter; OUTSIDE where there is no such group yet."""
        words, inside = self._words(keys, n)
        numbers = np.full(n, OUTSIDE)
        if is_due(number_rows, TWIN * n):
            slots = self._swept_slots(0) if self._slots is None else self._slots
            mask = NO_MASK if inside is None else inside
            number_rows(words, mask, 0, slots, *self._state, numbers, False)
            return numbers
        rows = np.arange(n) if inside is None else np.flatnonzero(inside)
        if len(rows):
            numbers[rows] = self._found_in(self._names(), *_distinct(words[rows]))
        return numbers

    def add(self, numbers: I64, counts: I64) -> None:
        """So many more events enter groups that events have entered just now."""
        inside = numbers >= 0
        np.add.at(self._members, numbers[inside], counts[inside])

    def leave(self, numbers: I64) -> None:
        """Events of these groups are no longer in the window."""
        np.subtract.at(self._members, numbers[numbers >= 0], 1)

    def keys(self, numbers: I64) -> tuple[Vector, ...]:
        """The keys of these groups; null where there is none."""
        inside = numbers >= 0
        words = self._known[np.where(inside, numbers, 0)]
        return tuple(
            Vector(_from_order_keys(words[:, j].copy(), kind), inside) for j, kind in enumerate(self._kinds)
        )

    def _number(self, words: I64, inside: Bool, numbers: I64) -> None:
        slots = self._swept_slots(0) if self._slots is None else self._slots
        row = 0
        while True:
            row = number_rows(words, inside, row, slots, *self._state, numbers, True)
            if row == len(words):
                return
            # Filled to the last place by this step: what is left of it may be as many again, or three times.
            slots = self._swept_slots(min(len(words) - row, 3 * self.capacity))

    @property
    def _state(self) -> tuple[I64, I64, I64, I64]:
        return self._known, self._members, self._free, self._used

    def _swept_slots(self, wanted: int) -> npt.NDArray[np.int32]:
        self._sweep(wanted)
        self._slots = np.full(2 * self.capacity, -1, np.int32)
        self._numbers = None
        fill_table(self._slots, self._known, np.flatnonzero(self._members))
        return self._slots

    def _number_reference(self, words: I64, inside: Bool | None, numbers: I64) -> None:
        numbers[:] = OUTSIDE
        rows = np.arange(len(words)) if inside is None else np.flatnonzero(inside)
        if not len(rows):
            return
        distinct, group = _distinct(words[rows])
        found = self._found_in(self._names(), distinct, np.arange(len(distinct)))
        new = np.flatnonzero(found < 0)
        if len(new):
            found[new] = self._give(distinct[new])
        numbers[rows] = found[group]
        np.add.at(self._members, numbers[rows], 1)

    def _words(self, keys: Sequence[Vector], n: int) -> tuple[I64, Bool | None]:
        """A row of order keys per event, and which events have all of them (None: all have)."""
        words = np.empty((n, len(self._kinds)), np.int64)
        inside: Bool | None = None
        for j, (vector, kind) in enumerate(zip(keys, self._kinds, strict=True)):
            words[:, j], alive = order_keys(vector, kind)
            if alive is not None:
                inside = alive if inside is None else inside & alive
        return words, inside

    def _names(self) -> dict[bytes, int]:
        """The numbers of groups by their keys, for what the loops' twins look up."""
        if self._numbers is None:
            self._slots = None
            self._sweep(0)
            self._numbers = {self._known[i].tobytes(): int(i) for i in np.flatnonzero(self._members)}
        return self._numbers

    def _found_in(self, names: dict[bytes, int], distinct: I64, group: I64) -> I64:
        return np.array([names.get(word.tobytes(), OUTSIDE) for word in distinct], np.int64)[group]

    def _give(self, words: I64) -> I64:
        """Numbers for groups that have none."""
        assert self._numbers is not None
        if self._used[FREE] + self.capacity - self._used[USED] < len(words):
            self._sweep(len(words))
            self._numbers = {k: i for k, i in self._numbers.items() if self._members[i]}
        taken = min(int(self._used[FREE]), len(words))
        self._used[FREE] -= taken
        again = self._free[self._used[FREE] : self._used[FREE] + taken]
        given = np.concatenate([again, np.arange(len(words) - taken) + self._used[USED]])
        self._used[USED] += len(words) - taken
        self._known[given] = words
        self._numbers.update(zip([word.tobytes() for word in words], given.tolist(), strict=True))
        return given

    def _sweep(self, wanted: int) -> None:
        """Free the numbers of empty groups; make room, so that half of it is free and `wanted` groups fit."""
        used = int(self._used[USED])
        live = self.live
        capacity = self.capacity
        while capacity < 2 * live or capacity < live + wanted:
            capacity *= 2
        if capacity > self.capacity:
            self._known = np.resize(self._known, (capacity, len(self._kinds)))
            self._members = _lengthened(self._members, capacity)
            self._free = _lengthened(self._free, capacity)
            self.capacity = capacity
        empty = np.flatnonzero(self._members[:used] == 0)
        self._free[: len(empty)] = empty
        self._used[FREE] = len(empty)


def _distinct(words: I64) -> tuple[I64, I64]:
    if words.shape[1] == 0:
        return words[:1], np.zeros(len(words), np.int64)
    distinct, group = np.unique(words, axis=0, return_inverse=True)
    return distinct, group.reshape(-1)


def _lengthened(array: I64, length: int) -> I64:
    longer = np.zeros(length, np.int64)
    longer[: len(array)] = array
    return longer


def _from_order_keys(keys: I64, kind: Kind) -> I64 | F64:
    """The values whose order keys these are."""
    if kind is not Kind.FLOAT:
        return keys
    bits = keys ^ ((keys >> 63) & np.int64(MOST))
    return bits.view(np.float64)
