"""All trend queries of a plan over a stream: events in, the totals of closed windows out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from time import perf_counter

import numpy as np
import pyarrow as pa

from stretto.engine.memory.limits import Meter
from stretto.engine.rows.partitions import OUTSIDE, Partitions
from stretto.engine.trends.executor import Executor, TakenEvents
from stretto.engine.trends.running import RunningTotals
from stretto.engine.trends.totals import total_rows
from stretto.engine.trends.windowed import Windowed
from stretto.records import dataclass
from stretto.schema import Kind
from stretto.trends.plan import TrendPlan, TrendUnit
from stretto.trends.work import TrendWork, UnitWork
from stretto.values.evaluate import Events
from stretto.values.rows import I64, Rows
from stretto.values.strings import Strings

TAKEN_BYTES = 64
"""What an event takes while a unit counts it in, beside what it changes."""


@dataclass(frozen=True, slots=True)
class _UnitRun:
    """A unit at work; `windows`: length and slide of its members' windows."""

    unit: TrendUnit
    executor: Executor
    partitions: Partitions
    windows: frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Gathered:
    """The events of one step: how many each node has, and those of each unit (by number) that has any."""

    nodes: dict[int, int]
    units: list[tuple[int, TakenEvents]]


class Trends:
    """The executors of all units. Events come in time order, those of one time together.

    `limit`: the bytes that the totals of all windows that are open at a time may take.
    """

    def __init__(
        self, plan: TrendPlan, kinds: Mapping[str, Kind], strings: Strings, limit: int | None = None
    ) -> None:
        self.plan, self._strings, self.timer = plan, strings, perf_counter
        known: dict[tuple[str, ...], Partitions] = {}
        self._partitions = known
        self._runs: list[_UnitRun] = []
        for unit in plan.units:
            partitions = known.setdefault(unit.partition, Partitions(unit.partition, kinds))
            executor: Executor
            if unit.is_conditioned:
                executor = Windowed(unit, plan.queries)
            else:
                left = None if limit is None else limit - sum(run.executor.held for run in self._runs)
                executor = RunningTotals(unit, plan.queries, most_bytes=left)
            members = [plan.queries[member.query] for member in unit.members]
            windows = frozenset((query.window_us, query.slide_us) for query in members)
            self._runs.append(_UnitRun(unit, executor, partitions, windows))
        self._last: int | None = None
        self._until: int | None = None
        self._nodes = [0] * len(plan.nodes)
        self._done = [UnitWork()] * len(plan.units)

    @property
    def held(self) -> int:
        """Bytes of all state."""
        return sum(run.executor.held for run in self._runs)

    @property
    def labels(self) -> int:
        """How many partitions have been seen."""
        return max((len(partitions) for partitions in self._partitions.values()), default=0)

    @property
    def work(self) -> TrendWork:
        """What nodes and units have done so far."""
        units = (done.plus(_shared(run)) for done, run in zip(self._done, self._runs, strict=True))
        return TrendWork(tuple(self._nodes), tuple(units))

    def go_on_from(self, work: TrendWork) -> None:
        """Count on from this work: what has been done here was done before."""
        self._nodes = list(work.nodes)
        self._done = [unit.plus(_shared(run), -1) for unit, run in zip(work.units, self._runs, strict=True)]

    @property
    def due_us(self) -> int | None:
        """The earliest end of a window that may hold events and is not closed."""
        if self._last is None:
            return None
        last, until = self._last, self._until
        ends = [
            end
            for size, slide in {window for run in self._runs for window in run.windows}
            if (end := _next_end(last, until, size, slide)) is not None
        ]
        return min(ends, default=None)

    def gathered(self, rows: Mapping[int, Sequence[Rows]], start: int, events: Events) -> Gathered:
        """The events of each node (by number), whose positions begin with `start`, unit by unit.

        Nothing is counted in yet: this can be done again, with all or some of these events.
        """
        coded: dict[tuple[str, ...], I64] = {}
        units: list[tuple[int, TakenEvents]] = []
        for number, run in enumerate(self._runs):
            taken = _gathered(run.unit, rows)
            if taken is None:
                continue
            if run.unit.partition:
                taken = _inside(taken, self._keys(run, taken.positions, start, events, coded))
            units.append((number, taken))
        return Gathered({node: sum(map(len, parts)) for node, parts in rows.items()}, units)

    def ahead(self, gathered: Gathered, until: int) -> int:
        """Bytes that these events and the windows that end by `until` take beside what is held, at most."""
        taken = dict(gathered.units)
        return sum(
            run.executor.ahead(taken.get(number), until, max(len(run.partitions), 1))
            + (0 if number not in taken else TAKEN_BYTES * len(taken[number]))
            for number, run in enumerate(self._runs)
        )

    def take(self, gathered: Gathered, events: Events) -> None:
        """Count these events in."""
        for node, count in gathered.nodes.items():
            self._nodes[node] += count
        for number, taken in gathered.units:
            begun = self.timer()
            if len(taken):
                self._runs[number].executor.take(taken, events)
                last = int(taken.ts[-1])
                self._last = last if self._last is None else max(self._last, last)
            self._done[number] = self._done[number].plus(UnitWork(len(taken), self.timer() - begun))

    def _keys(
        self, run: _UnitRun, positions: I64, start: int, events: Events, coded: dict[tuple[str, ...], I64]
    ) -> I64:
        """The partitions of events; those of one step are coded once for all units that agree on the attributes."""
        name = run.unit.partition
        end = int(positions[-1]) + 1 - start
        codes = coded.get(name)
        if codes is None or len(codes) < end:
            codes = coded[name] = run.partitions.codes(np.arange(start, start + end), events)
        keys: I64 = codes[positions - start]
        return keys

    def close(self, until: int, meter: Meter) -> Iterator[pa.RecordBatch]:
        """The totals of all windows that end at `until` or before; events before it come no more."""
        self._until = until
        for number, run in enumerate(self._runs):
            begun = self.timer()
            results, rows = run.executor.close(until, meter.left), []
            if len(results.member):
                rows = list(total_rows(self.plan, run.unit, results, run.partitions, self._strings))
            self._done[number] = self._done[number].plus(UnitWork(seconds=self.timer() - begun))
            yield from rows


def _shared(run: _UnitRun) -> UnitWork:
    return UnitWork(0, 0.0, *run.executor.sharing)


def _gathered(unit: TrendUnit, rows: Mapping[int, Sequence[Rows]]) -> TakenEvents | None:
    """The events of a unit's nodes, each once, in order, as if all were in one partition."""
    parts = [(local, part) for local, node in enumerate(unit.nodes) for part in rows.get(node, ())]
    if not parts:
        return None
    positions = np.concatenate([np.asarray(part.columns[0], np.int64) for _, part in parts])
    ts = np.concatenate([part.first for _, part in parts])
    nodes = np.repeat(np.array([local for local, _ in parts], np.int32), [len(part) for _, part in parts])
    if len(parts) > 1:
        order = np.argsort(positions, kind="stable")
        positions, ts, nodes = positions[order], ts[order], nodes[order]
    new = np.ones(len(positions), np.bool_)
    new[1:] = positions[1:] != positions[:-1]
    first = np.append(np.flatnonzero(new), len(positions)).astype(np.int64)
    return TakenEvents(ts[new], first, nodes, np.zeros(len(first) - 1, np.int64), positions[new])


def _inside(taken: TakenEvents, keys: I64) -> TakenEvents:
    """The events with the keys of their partitions, without those that are in none."""
    kept = keys != OUTSIDE
    if kept.all():
        return replace(taken, keys=keys)
    sizes = np.diff(taken.first)
    offsets = np.append(0, np.cumsum(sizes[kept])).astype(np.int64)
    nodes = taken.nodes[np.repeat(kept, sizes)]
    return TakenEvents(taken.ts[kept], offsets, nodes, keys[kept], taken.positions[kept])


def _next_end(last: int, until: int | None, size: int, slide: int) -> int | None:
    """The end of the first window after `until` that begins no later than the last event; None: there is none."""
    if until is None:
        return None
    number = (until - size) // slide + 1  # the first whose end lies after `until`
    end = number * slide + size
    return end if number * slide <= last else None
