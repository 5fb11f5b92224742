"""Windowed aggregates of one stream: all groupings, windows and functions in one operator.

State is the window of raw inputs, as wide as the widest window. What groups sum up to is a cache of it: exact, so that
neither batches, nor the order of events of one time, nor a restart shows in any bit of a result.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from stretto.engine.derived.frames import LEAST, Frame, bounds
from stretto.engine.derived.grouped_pass import GroupedPass, Input, Links
from stretto.engine.derived.groupings import Grouping, KeyCodes, Keys, SmallNumbers, StepCodes
from stretto.engine.derived.level_sums import LevelFrames, LevelSums
from stretto.engine.derived.levels import Copies, Function, InputAggregate, Level, LevelRows, RawInputs
from stretto.engine.derived.raw_window import RawWindow
from stretto.schema import Kind
from stretto.values.rows import I64, Bool
from stretto.values.vector import DTYPES, Vector

FEWEST_SHRUNK = 4096
"""Room for so many groups is never given back."""
TS = 0
CODES = 1
"""Columns of the window: times, codes of keys, numbers of groups by each grouping, inputs, links of deques."""
Over = tuple[Keys, int]
"""What aggregates are over: keys, and the length of a window."""
EMPTIED = 8
"""Numbers of groups are given anew where there is room for so many times as many as are needed."""


class WindowState(Protocol):
    """What is a cache of the window."""

    @property
    def nbytes(self) -> int: ...

    def reset(self) -> None:
        """Forget everything; the next step begins with what the window holds."""
        ...

    def dropped(self, count: int) -> None:
        """So many events have gone from the front of the window; all of them had left, or none has entered."""
        ...


class WindowAggregates:
    """Aggregates of a stream's inputs for each of its events, as `levels` say.

    All levels share the codes of keys, and those over the same keys the numbers of groups; those over the same window,
    too, share everything else that they have in common. The window of raw inputs is kept once for all.

    `copied`: events have copies, whose small numbers are one more key. `further`: what somebody else makes of the
    window.
    """

    def __init__(
        self,
        key_kinds: Sequence[Kind],
        input_kinds: Sequence[Kind],
        levels: Sequence[Level],
        *,
        copied: bool = False,
        further: Sequence[WindowState] = (),
    ) -> None:
        self._further = further
        self._input_kinds = tuple(input_kinds)
        self._levels = tuple(levels)
        self._reach = max(level.window_us for level in levels)
        self._over = [(tuple(sorted(set(level.keys))), level.window_us) for level in levels]
        self._own = [KeyCodes(kind) for kind in key_kinds]
        self._copies = SmallNumbers() if copied else None
        self._codes: list[KeyCodes | SmallNumbers] = list(self._own)
        if self._copies is not None:
            self._codes.append(self._copies)
        groupings = dict.fromkeys(keys for keys, _ in self._over)
        # By one key, its codes are the numbers.
        self._groupings = [Grouping(keys) for keys in groupings if len(keys) != 1]
        asked: dict[Over, list[InputAggregate]] = {}
        for over, level in zip(self._over, levels, strict=True):
            asked.setdefault(over, []).extend(level.aggregates)
        self._passes = {over: GroupedPass(these, input_kinds) for over, these in asked.items()}
        self._numbers_at = CODES + len(self._codes)
        self._input_at = self._numbers_at + len(self._groupings)
        self._number_at: dict[Keys, tuple[int, KeyCodes | SmallNumbers | Grouping]] = {
            **{(i,): (CODES + i, codes) for i, codes in enumerate(self._codes)},
            **{by.keys: (self._numbers_at + i, by) for i, by in enumerate(self._groupings)},
        }
        self._links_at = self._input_at + 2 * len(input_kinds)
        links = 2 * sum(each.links for each in self._passes.values())
        dtypes: list[npt.DTypeLike] = [np.int64, np.bool_] * len(input_kinds)
        self._window = RawWindow(self._input_at, [*dtypes, *[np.int64] * links])
        self._sums = self._level_sums()
        self._links = links
        self._added = 0
        self._now: int | None = None
        self._bounds: dict[int, tuple[I64, I64]] = {}  # of a step's rows by window, where all are in a group

    def __len__(self) -> int:
        """How many events are kept."""
        return len(self._window)

    @property
    def nbytes(self) -> int:
        numbers = sum(by.nbytes for _, by in self._number_at.values())
        return self._window.nbytes + numbers + sum(each.nbytes for each in self._states())

    def step(
        self,
        ts: I64,
        keys: Sequence[Vector],
        inputs: Sequence[Vector],
        passing: Bool | None = None,
        copies: Copies | None = None,
    ) -> tuple[LevelRows, ...]:
        """The aggregates, level by level, of the events that pass; an event with a null or NaN key has none.

        Times do not decrease, and all events of one time are in one step. Events that have copies all pass.
        """
        if not len(ts):
            self._added = 0
            return self._nothing
        self._drop_expired()
        entered = self._enter(ts, keys, inputs, passing, copies)
        columns = self.inputs
        links = iter(self._link_pairs())
        self._bounds.clear()
        sums = self._summed(columns)
        least = self._window.lines[:, self._window.end - self._added : self._window.end].min(
            axis=1, initial=0
        )
        found: dict[Over, tuple[I64, Mapping[InputAggregate, Vector]]] = {}
        for over, each in self._passes.items():
            at, by = self._number_at[over[0]]
            rows: I64 | slice = slice(None) if least[at] >= 0 else self._inside(at)
            own = [next(links) for _ in range(each.links)]
            values = sums.get(over, {})
            if not isinstance(rows, slice):
                values = {name: value.take(rows) for name, value in values.items()}
            if each.has_more:
                values |= each.step(self._frame(at, by.capacity, over[1], rows), columns, own)
            found[over] = entered[rows], values
        return tuple(
            LevelRows(events, tuple(values[aggregate] for aggregate in level.aggregates))
            for over, level in zip(self._over, self._levels, strict=True)
            for events, values in [found[over]]
        )

    def frame(self, level: int) -> Frame:
        """What a level's aggregates of the last step are over, if all of its events are in a group there."""
        keys, window_us = self._over[level]
        at, by = self._number_at[keys]
        return self._frame(at, by.capacity, window_us, slice(None))

    @cached_property
    def _nothing(self) -> tuple[LevelRows, ...]:
        """What a step without events gives."""
        return tuple(
            LevelRows(np.zeros(0, np.int64), tuple(self._no_values(one) for one in level.aggregates))
            for level in self._levels
        )

    def _no_values(self, aggregate: InputAggregate) -> Vector:
        of = Kind.INT if aggregate.input is None else self._input_kinds[aggregate.input]
        return Vector(np.zeros(0, DTYPES[aggregate.function.kind(of)]))

    def undo(self) -> None:
        """Make the state what it was before the last step."""
        self._leave(slice(len(self) - self._added, None))
        self._window.cut(self._added)
        self._added = 0
        self._now = None
        self._reset()

    def snapshot(self) -> RawInputs:
        """The events of the window."""
        ts: I64 = self._window.column(TS).copy()
        keys = [codes.known(self._window.column(CODES + i).copy()) for i, codes in enumerate(self._codes)]
        inputs = [
            Vector(bits.view(np.float64).copy() if kind is Kind.FLOAT else bits.copy(), valid.copy())
            for kind, (bits, valid) in zip(self._input_kinds, self.inputs, strict=True)
        ]
        return RawInputs(ts, tuple(keys), tuple(inputs))

    def restore(self, events: RawInputs) -> None:
        """Begin with the events of a snapshot."""
        assert not len(self), "only what holds no events is restored"
        self._enter(events.ts, events.keys, events.inputs, None, None)
        self._added = 0
        self._now = None

    def _leave(self, rows: slice) -> None:
        """Events of these rows go."""
        for at, by in self._number_at.values():
            by.leave(self._window.column(at)[rows])

    def _reset(self, keys: Keys | None = None) -> None:
        """Forget what groups sum up to, all or those by some keys."""
        for (by, _), each in self._passes.items():
            if keys is None or by == keys:
                each.reset()
        for state in self._further:
            state.reset()
        for levels, sums in self._sums.values():
            if keys is None:
                sums.reset()
            else:
                for number, (by, _) in enumerate(levels):
                    if by == keys:
                        sums.reset(number)

    def _states(self) -> Iterator[WindowState]:
        """All that is a cache of the window."""
        yield from self._passes.values()
        yield from self._further
        yield from (sums for _, sums in self._sums.values())

    @property
    def inputs(self) -> list[Input]:
        """Of all events in the window; good until the next step."""
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
            self._leave(slice(expired))
            self._window.drop(expired)
            for each in self._states():
                each.dropped(expired)
        if any(by.capacity > max(FEWEST_SHRUNK, len(self)) for _, by in self._number_at.values()):
            self._shrink()

    def _shrink(self) -> None:
        """After many groups have gone, number those that are left anew, and sum them up from the window."""
        # As many groups as the last step brought may come again.
        wanted = {at: by.wanted(len(self)) + self._added for at, by in self._number_at.values()}
        if all(
            by.capacity <= max(FEWEST_SHRUNK, EMPTIED * wanted[at]) for at, by in self._number_at.values()
        ):
            return
        for i, codes in enumerate(self._codes):
            column = self._window.column(CODES + i)
            known = codes.known(column.copy())
            codes.clear()
            column[:] = codes.enter(known, len(column))
        for by in self._groupings:
            by.clear()
        self._number(0)
        self._reset()

    def _enter(
        self,
        ts: I64,
        keys: Sequence[Vector],
        inputs: Sequence[Vector],
        passing: Bool | None,
        copies: Copies | None,
    ) -> I64:
        """Append the events that pass and are in a group, or their copies; their places in the step come back."""
        rows = np.arange(len(ts)) if passing is None else np.flatnonzero(passing)
        own = keys if len(rows) == len(ts) else [vector.take(rows) for vector in keys]
        if copies is None:
            codes = [by.enter(key, len(rows)) for by, key in zip(self._codes, own, strict=True)]
        else:
            assert self._copies is not None
            each = zip(self._own, own, strict=True)
            rows = np.arange(len(copies.numbers))
            codes = [by.copied(by.enter(key, len(ts)), copies) for by, key in each]
            codes.append(self._copies.enter(Vector(copies.numbers), len(rows)))
            ts, inputs = np.repeat(ts, copies.counts), [copies.of(vector) for vector in inputs]
        somewhere = self._somewhere(codes, len(rows))
        if somewhere is not None:
            for by, column in zip(self._codes, codes, strict=True):
                by.leave(column[~somewhere])
            rows = rows[somewhere]
            codes = [column[somewhere] for column in codes]
        whole = len(rows) == len(ts)
        columns: list[Any] = [ts if whole else ts[rows], *codes, *[None] * len(self._groupings)]
        for vector in inputs if whole else [vector.take(rows) for vector in inputs]:
            columns += [_bits(vector), True if vector.valid is None else vector.valid]
        self._window.append([*columns, *[None] * self._links], len(rows))
        self._added = len(rows)
        self._now = int(ts[-1]) if len(ts) else self._now
        self._number(len(self) - len(rows))
        return rows

    def _somewhere(self, codes: Sequence[I64], count: int) -> Bool | None:
        """Which of the events are in some group; None: all are."""
        known = StepCodes(codes, (), count)
        somewhere: Bool | None = None
        for keys, _ in self._passes:
            inside = known.inside(keys)
            if inside is None:
                return None
            somewhere = inside if somewhere is None else somewhere | inside
        return somewhere

    def _number(self, start: int) -> None:
        """Give the events of the window from `start` on their numbers, or all events where these change."""
        radices = [codes.radix for codes in self._codes]
        new = self._step_codes(radices, start)
        everything = new if not start else None
        for i, by in enumerate(self._groupings):
            again = by.fit(tuple(radices[key] for key in by.keys), len(self))
            if again and everything is None:
                everything = self._step_codes(radices, 0)
            codes = everything if again and everything is not None else new
            by.number(codes, self._window.column(self._numbers_at + i)[len(self) - codes.count :])
            if again and start:  # else nobody has seen an event that is still there
                self._reset(by.keys)

    def _step_codes(self, radices: Sequence[int], start: int) -> StepCodes:
        codes = [self._window.column(CODES + i)[start:] for i in range(len(self._codes))]
        return StepCodes(codes, radices, len(self) - start)

    def _level_sums(self) -> dict[tuple[int, int], tuple[list[Over], LevelSums]]:
        """Sums by window and input, with the levels that ask for them."""
        asked: dict[tuple[int, int], dict[Over, set[Function]]] = {}
        for over, each in self._passes.items():
            for of, functions in each.summed.items():
                asked.setdefault((over[1], of), {})[over] = functions
        made = {}
        for (window_us, of), levels in asked.items():
            lines = [self._number_at[keys][0] for keys, _ in levels]
            doubles = self._input_kinds[of] is Kind.FLOAT
            sums = LevelSums(
                of,
                lines,
                frozenset(one for functions in levels.values() for one in functions),
                doubles=doubles,
            )
            made[window_us, of] = list(levels), sums
        return made

    def _summed(self, columns: Sequence[Input]) -> dict[Over, dict[InputAggregate, Vector]]:
        """What is made of sums, with a row for every new event."""
        found: dict[Over, dict[InputAggregate, Vector]] = {}
        window = self._window
        for (window_us, of), (levels, sums) in self._sums.items():
            low, high = self._whole_bounds(window_us)
            frames = LevelFrames(window.lines, window.start, window.end, self._added, low, high, window.base)
            capacities = np.array([self._number_at[keys][1].capacity for keys, _ in levels], np.int64)
            for over, values in zip(levels, sums.step(frames, capacities, *columns[of]), strict=True):
                found.setdefault(over, {}).update(values)
        return found

    def _inside(self, at: int) -> I64:
        """The new events that are in a group, by the number of a column."""
        groups: I64 = self._window.column(at)
        return np.flatnonzero(groups[len(groups) - self._added :] >= 0)

    def _whole_bounds(self, window_us: int) -> tuple[I64, I64]:
        """The windows of all new events, and of the last time."""
        if window_us not in self._bounds:
            self._bounds[window_us] = self._found_bounds(window_us, slice(None))
        return self._bounds[window_us]

    def _found_bounds(self, window_us: int, rows: I64 | slice) -> tuple[I64, I64]:
        times = self._window.column(TS)
        now = [] if self._now is None else [self._now]
        asked = np.append(times[len(times) - self._added :][rows], np.array(now, np.int64))
        return bounds(times, asked, window_us)

    def _frame(self, at: int, capacity: int, window_us: int, rows: I64 | slice) -> Frame:
        """What the aggregates of these new events are over."""
        groups: I64 = self._window.column(at)
        whole = isinstance(rows, slice)
        low, high = self._whole_bounds(window_us) if whole else self._found_bounds(window_us, rows)
        asked = groups[len(groups) - self._added :][rows]
        return Frame(groups, asked, low, high, self._window.base, capacity)


def _bits(vector: Vector) -> I64:
    """Values as integers: doubles by their bits."""
    data = np.ascontiguousarray(vector.data)
    return data.view(np.int64) if data.dtype == np.float64 else data.astype(np.int64, copy=False)
