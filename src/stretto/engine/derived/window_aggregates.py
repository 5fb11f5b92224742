"""Windowed aggregates of one stream: all groupings, windows and functions in one operator.

State is the window of raw inputs, as wide as the widest window. What groups sum up to is a cache of it: exact, so that
neither batches, nor the order of events of one time, nor a restart shows in any bit of a result.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stretto.engine.derived.frames import LEAST, Frame, bounds
from stretto.engine.derived.group_numbers import GroupNumbers
from stretto.engine.derived.grouped_pass import GroupedPass, Input, Links
from stretto.engine.derived.levels import InputAggregate, Level, LevelRows, RawInputs
from stretto.engine.derived.raw_window import RawWindow
from stretto.schema import Kind
from stretto.values.rows import I64, Bool
from stretto.values.vector import Vector

FEWEST_SHRUNK = 4096
"""Room for so many groups is never given back."""
TS = 0
NUMBERS = 1
"""Columns of the window: times, the numbers of groups by each grouping, then inputs, then links of deques."""


class WindowAggregates:
    """Aggregates of a stream's inputs for each of its events, as `levels` say.

    Levels over the same keys share the numbers of groups; those over the same window, too, share everything else that
    they have in common. The window of raw inputs is kept once for all.
    """

    def __init__(
        self, key_kinds: Sequence[Kind], input_kinds: Sequence[Kind], levels: Sequence[Level]
    ) -> None:
        self._key_kinds, self._input_kinds = tuple(key_kinds), tuple(input_kinds)
        self._levels = tuple(levels)
        self._reach = max(level.window_us for level in levels)
        self._keys = tuple(dict.fromkeys(level.keys for level in levels))
        self._numbers = [self._new_numbers(keys) for keys in self._keys]
        asked: dict[tuple[tuple[int, ...], int], list[InputAggregate]] = {}
        for level in levels:
            asked.setdefault((level.keys, level.window_us), []).extend(level.aggregates)
        self._passes = {over: GroupedPass(these, input_kinds) for over, these in asked.items()}
        self._input_at = NUMBERS + len(self._keys)
        self._links_at = self._input_at + 2 * len(input_kinds)
        links = 2 * sum(each.links for each in self._passes.values())
        dtypes: list[npt.DTypeLike] = [np.int64] * self._input_at
        dtypes += [np.int64, np.bool_] * len(input_kinds)
        self._window = RawWindow([*dtypes, *[np.int64] * links])
        self._links = links
        self._added = 0
        self._now: int | None = None
        self._bounds: dict[int, tuple[I64, I64]] = {}  # of a step's rows by window, where all are in a group

    def __len__(self) -> int:
        """How many events are kept."""
        return len(self._window)

    @property
    def nbytes(self) -> int:
        numbers = sum(numbers.nbytes for numbers in self._numbers)
        return self._window.nbytes + numbers + sum(each.nbytes for each in self._passes.values())

    def step(
        self, ts: I64, keys: Sequence[Vector], inputs: Sequence[Vector], passing: Bool | None = None
    ) -> tuple[LevelRows, ...]:
        """The aggregates, level by level, of the events that pass; an event with a null or NaN key has none.

        Times do not decrease, and all events of one time are in one step.
        """
        self._drop_expired()
        entered = self._enter(ts, keys, inputs, passing)
        columns = self._columns()
        links = iter(self._link_pairs())
        self._bounds.clear()
        found: dict[tuple[tuple[int, ...], int], tuple[I64, Mapping[InputAggregate, Vector]]] = {}
        for over, each in self._passes.items():
            frame, rows = self._frame(*over)
            own = [next(links) for _ in range(each.links)]
            found[over] = entered[rows], each.step(frame, columns, own)
        return tuple(
            LevelRows(events, tuple(values[aggregate] for aggregate in level.aggregates))
            for level in self._levels
            for events, values in [found[level.keys, level.window_us]]
        )

    def undo(self) -> None:
        """Make the state what it was before the last step."""
        for i, numbers in enumerate(self._numbers):
            numbers.leave(self._window.column(NUMBERS + i)[len(self) - self._added :])
        self._window.cut(self._added)
        self._added = 0
        self._now = None
        self._reset()

    def snapshot(self) -> RawInputs:
        """The events of the window."""
        ts: I64 = self._window.column(TS).copy()
        keys = [Vector(np.zeros(len(ts), np.int64), np.zeros(len(ts), np.bool_)) for _ in self._key_kinds]
        for i, (columns, numbers) in enumerate(zip(self._keys, self._numbers, strict=True)):
            # A key of an event that is in no group by it is as good as null.
            for column, vector in zip(columns, numbers.keys(self._window.column(NUMBERS + i)), strict=True):
                known = keys[column]
                data = np.where(vector.nulls, known.data.astype(vector.data.dtype), vector.data)
                keys[column] = Vector(data, ~(known.nulls & vector.nulls))
        inputs = [
            Vector(bits.view(np.float64).copy() if kind is Kind.FLOAT else bits.copy(), valid.copy())
            for kind, (bits, valid) in zip(self._input_kinds, self._columns(), strict=True)
        ]
        return RawInputs(ts, tuple(keys), tuple(inputs))

    def restore(self, events: RawInputs) -> None:
        """Begin with the events of a snapshot."""
        assert not len(self), "only what holds no events is restored"
        self._enter(events.ts, events.keys, events.inputs, None)
        self._added = 0
        self._now = None

    def _new_numbers(self, keys: tuple[int, ...]) -> GroupNumbers:
        return GroupNumbers([self._key_kinds[key] for key in keys])

    def _reset(self) -> None:
        for each in self._passes.values():
            each.reset()

    def _columns(self) -> list[Input]:
        at = range(self._input_at, self._links_at, 2)
        return [(self._window.column(i), self._window.column(i + 1)) for i in at]

    def _link_pairs(self) -> list[Links]:
        at = range(self._links_at, self._links_at + self._links, 2)
        return [(self._window.column(i), self._window.column(i + 1)) for i in at]

    def _drop_expired(self) -> None:
        """Forget what no later event's window reaches; every pass has seen it leave."""
        if self._now is None or not len(self):
            return
        last = max(self._now - self._reach, LEAST)
        expired = int(np.searchsorted(self._window.column(TS), last, side="right"))
        if expired:
            for i, numbers in enumerate(self._numbers):
                numbers.leave(self._window.column(NUMBERS + i)[:expired])
            self._window.drop(expired)
            for each in self._passes.values():
                each.dropped(expired)
        if any(numbers.capacity > max(FEWEST_SHRUNK, len(self)) for numbers in self._numbers):
            self._shrink()

    def _shrink(self) -> None:
        """After many groups have gone, number those that are left anew, and sum them up from the window."""
        # As many groups as the last step brought may come again.
        if all(by.capacity <= max(FEWEST_SHRUNK, 8 * (by.live + self._added)) for by in self._numbers):
            return
        for i, keys in enumerate(self._keys):
            column = self._window.column(NUMBERS + i)
            known = self._numbers[i].keys(column)
            self._numbers[i] = self._new_numbers(keys)
            column[:] = self._numbers[i].enter(known, len(column))
        self._reset()

    def _enter(self, ts: I64, keys: Sequence[Vector], inputs: Sequence[Vector], passing: Bool | None) -> I64:
        """Append the events that pass and are in a group; their places in the step come back."""
        rows = np.arange(len(ts)) if passing is None else np.flatnonzero(passing)
        own = keys if len(rows) == len(ts) else [vector.take(rows) for vector in keys]
        numbers = [
            by.enter([own[key] for key in columns], len(rows))
            for by, columns in zip(self._numbers, self._keys, strict=True)
        ]
        somewhere = np.maximum.reduce(numbers) >= 0
        if not somewhere.all():
            rows = rows[somewhere]
            numbers = [column[somewhere] for column in numbers]
        whole = len(rows) == len(ts)
        columns: list[Any] = [ts if whole else ts[rows], *numbers]
        for vector in inputs if whole else [vector.take(rows) for vector in inputs]:
            columns += [_bits(vector), True if vector.valid is None else vector.valid]
        self._window.append([*columns, *[None] * self._links], len(rows))
        self._added = len(rows)
        self._now = int(ts[-1]) if len(ts) else self._now
        return rows

    def _frame(self, keys: tuple[int, ...], window_us: int) -> tuple[Frame, I64 | slice]:
        """What the new events' aggregates are over, and which of the new events are in a group."""
        i = self._keys.index(keys)
        groups: I64 = self._window.column(NUMBERS + i)
        times = self._window.column(TS)
        new = groups[len(groups) - self._added :]
        rows: I64 | slice = slice(None) if not len(new) or new.min() >= 0 else np.flatnonzero(new >= 0)
        now = [] if self._now is None else [self._now]
        whole = isinstance(rows, slice)
        if not whole or window_us not in self._bounds:
            asked = np.append(times[len(times) - self._added :][rows], np.array(now, np.int64))
            found = bounds(times, asked, window_us)
            if whole:
                self._bounds[window_us] = found
        low, high = self._bounds[window_us] if whole else found
        return Frame(groups, new[rows], low, high, self._window.base, self._numbers[i].capacity), rows


def _bits(vector: Vector) -> I64:
    """Values as integers: doubles by their bits."""
    data = np.ascontiguousarray(vector.data)
    return data.view(np.int64) if data.dtype == np.float64 else data.astype(np.int64, copy=False)
