"""Totals of trends without conditions between events: constant work per event, whatever the window holds.

An event joins all trends that an earlier event of a preceding node ends, so a total per node and window is all that is
kept. Nodes that members share are computed once for all members and all open windows (MUSE, section 3): an event of
theirs changes coefficients, and only when something enters the shared nodes after that are the totals of the members
that it concerns brought up to date, a MatState. Where a step would make more work in MatStates than it saves, totals
are kept one by one.
"""

from collections.abc import Sequence

import numpy as np

from stretto.engine.memory import reuse
from stretto.engine.trends.blocks import Blocks
from stretto.engine.trends.executor import FREE, TOTAL_BYTES, Results, TakenEvents, concat_results, no_results
from stretto.engine.trends.kernels.layout import Lanes, Layout, Out, Scratch, State
from stretto.engine.trends.kernels.numbers import LEAST
from stretto.engine.trends.kernels.reference import by_reference
from stretto.engine.trends.kernels.running import close, order_ties, take
from stretto.engine.trends.kernels.shared import work_ahead
from stretto.engine.trends.layout import Arrays, arrays_of, paned
from stretto.engine.trends.numbers import I32, zeros
from stretto.errors import EngineError
from stretto.pattern.nodes import TrendQuery
from stretto.screen import bytes_text
from stretto.trends.plan import TrendUnit
from stretto.values.evaluate import Events
from stretto.values.rows import I64, Bool

ROOM = 4096
"""Results that the loops have room for, beside those of one block."""


class RunningTotals:
    """One unit without conditions. `share`: False never shares, True always, None where it is less work.

    `most_bytes`: what totals of open windows may take; EngineError if they would take more.
    """

    def __init__(
        self,
        unit: TrendUnit,
        queries: Sequence[TrendQuery],
        *,
        share: bool | None = None,
        most_bytes: int | None = None,
    ) -> None:
        self._share = share
        self._arrays = arrays = arrays_of(paned(unit, queries), queries)
        if most_bytes is not None:
            _check_size(arrays, [queries[member.query] for member in unit.members], most_bytes)
        self._blocks = Blocks(arrays)
        layout = arrays.layout
        columns = arrays.columns
        self._scratch = Scratch(
            zeros(layout.rows + 2 * layout.most + 1, arrays.linear, arrays.extreme),
            zeros(
                int(layout.matrix[-1] + arrays.basis.max(initial=0)),
                arrays.shared_linear,
                arrays.shared_extreme,
            ),
            zeros(len(layout.shared), 1 + len(columns.linear), len(columns.extreme)),
            np.empty(len(layout.shared), np.int32),
            np.zeros(2, np.int64),
        )
        room = ROOM + int(layout.ring.sum())
        starts, keys = np.empty(room, np.int64), np.empty(room, np.int64)
        values = zeros(room, arrays.linear, arrays.extreme)
        self._out = Out(np.empty(room, np.int32), starts, keys, values)
        self._ended: list[Results] = []
        self._closed_until: int | None = None
        self._latest = LEAST  # time of an event
        rooms = (*self._scratch.values, *self._scratch.columns, *self._scratch.weights, *self._out.values)
        self._fixed_bytes = sum(array.nbytes for array in rooms)
        most = 1 + max(len(member.measures) for member in unit.members)  # aggregates
        self._total_bytes = 2 * 20 * (arrays.linear + arrays.extreme + 1) + TOTAL_BYTES * most
        self.steps_shared = 0
        self.steps_alone = 0

    @property
    def matstates(self) -> int:
        """How often members' totals were brought up to date."""
        return int(self._blocks.state.made[0])

    @property
    def sharing(self) -> tuple[int, int, int]:
        return self.matstates, self.steps_shared, self.steps_shared + self.steps_alone

    @property
    def held(self) -> int:
        return self._blocks.held + self._fixed_bytes + sum(results.nbytes for results in self._ended)

    def ahead(self, taken: TakenEvents | None, until: int, partitions: int) -> int:
        del partitions
        keys = np.empty(0, np.int64) if taken is None else taken.keys
        count = len(keys)
        size, used = self._blocks.ahead(keys)
        if count and taken is not None:
            self._latest = max(self._latest, int(taken.ts[-1]))
        layout = self._arrays.layout
        # Windows that end now and hold events: no more than events are in, and than end in that time.
        windows = (used + count) * np.ceil(layout.window / layout.slide)
        if self._closed_until is not None:
            last = np.minimum(until - layout.window, self._latest) // layout.slide
            ended = last - (self._closed_until - layout.window) // layout.slide
            windows = np.clip(used * ended.astype(np.float64), 0, windows)
        totals = np.dot(windows, np.bincount(layout.frame, minlength=len(windows)))
        return size + int(totals) * self._total_bytes

    def take(self, taken: TakenEvents, events: Events) -> None:
        if not len(taken):
            return
        weights = self._arrays.columns.weights(taken.positions, events)
        blocks = self._blocks.of(taken.keys)
        ts = np.require(taken.ts, np.int64, ["C", "W"])  # one kind of array: the loop is compiled once
        nodes = np.require(taken.nodes, np.int32, ["C", "W"])
        rows = np.arange(len(taken)) if self._arrays.columns.any else np.zeros(len(taken), np.int64)
        if len(nodes) > len(taken):
            repeats = np.diff(taken.first)
            ts, blocks, rows = (np.repeat(array, repeats) for array in (ts, blocks, rows))
        if np.any(ts[1:] == ts[:-1]):
            order = order_ties(ts, nodes, blocks)
            nodes, blocks, rows = nodes[order], blocks[order], rows[order]
        if len(self._arrays.instances):
            self._decide(nodes, blocks, ts)
        given, out, at = self._given, by_reference(self._out), 0
        while at < len(ts):
            at, n = take(*given, ts, nodes, blocks, by_reference(weights), rows, at, 0, out)
            self._keep(n)

    def close(self, until: int, room: int = FREE) -> Results:
        del room  # what a window takes is there already
        if self._ends_between(until):
            blocks, given, out, at = self._blocks.used, self._given, by_reference(self._out), 0
            while at < len(blocks):
                at, n = close(*given, blocks, at, until, 0, out)
                self._keep(n)
            state = self._blocks.state
            self._blocks.release(blocks[np.all(state.low[blocks] > state.high[blocks], axis=1)])
        self._closed_until = until
        return self._results(until)

    def _ends_between(self, until: int) -> bool:
        """Whether some window ends after the last close and not after `until`."""
        last, layout = self._closed_until, self._arrays.layout
        if last is None:
            return True
        return bool(np.any((until - layout.window) // layout.slide > (last - layout.window) // layout.slide))

    def _decide(self, nodes: I32, blocks: I64, ts: I64) -> None:
        """Choose, by block and part, whether this step's events of the part's nodes share their work."""
        state, count, arrays = self._blocks.state, len(self._blocks), self._arrays
        # With as many coefficients as totals there is nothing to save: parts do not share to begin with.
        worth = arrays.instances > arrays.basis
        if self._share is None and not worth.any():
            return
        work, reads = work_ahead(
            by_reference(arrays.layout), arrays.instances, by_reference(arrays.reads), arrays.touches,
            nodes, blocks, count,
        )  # fmt: skip
        if self._share is None:
            span = int(ts[-1] - ts[0])
            shared = worth & self._pays(
                work, self._read(work, reads, np.ones(work.shape[:2], np.bool_)), span
            )
            if np.any(arrays.reads.links[:, 0] >= 0):
                # Events of a part that does not share read more of the others: they are judged anew.
                shared = worth & self._pays(work, self._read(work, reads, shared), span)
            state.sharing[:] = shared
        else:
            state.sharing[:] = self._share
        concerned = work[:, :, 0] > 0
        shares = int(np.count_nonzero(state.sharing & concerned))
        self.steps_shared += shares
        self.steps_alone += int(np.count_nonzero(concerned)) - shares

    def _read(self, work: I64, reads: I64, shared: Bool) -> I64:
        """Totals of each part that are read: with MatStates of other parts, where these are `shared`, or by events."""
        found = np.zeros(shared.shape, np.int64)
        for link, (by, part) in enumerate(self._arrays.reads.links.tolist()):
            at_matstates = np.minimum(reads[:, link], work[:, by, 2])
            found[:, part] += (
                reads[:, link] if by < 0 else np.where(shared[:, by], at_matstates, reads[:, link])
            )
        return found

    def _pays(self, work: I64, reads: I64, span: int) -> Bool:
        """Whether coefficients and MatStates are less work than totals one by one, in rows touched."""
        layout, basis, instances = self._arrays.layout, self._arrays.basis, self._arrays.instances
        events, matstates, touched = np.moveaxis(work, 2, 0)
        places, entries = self._arrays.sizes, np.diff(layout.entries)
        matrix = places * basis
        one = (
            1.5 + np.diff(layout.inner[layout.places]) / places
        )  # an event in one instance, or in one coefficient
        opened = np.minimum(1 + int(np.sum(span // layout.slide)), events)
        at_once = (opened + matstates) * instances * (matrix + entries)
        # With a ladder those concerned catch up by a few rungs, all of them when it is full.
        all_of_them = (opened + matstates / layout.steps) * instances
        few = np.ceil(np.log2(layout.steps + 1)) / 2
        by_rungs = (touched + all_of_them) * (few * matrix + entries) + matstates * matrix * (places + 1)
        up_to_date = np.where(layout.steps == 1, at_once, by_rungs)
        shared = events * basis * one + up_to_date + reads * matrix
        return np.asarray(shared < events * instances * one)

    @property
    def _given(self) -> tuple[Layout, Lanes, State, Scratch]:
        """What the loops work on; blocks that are added later are not there."""
        arrays, scratch = self._arrays, self._scratch
        reuse.forgotten(*scratch.values, *scratch.columns, *scratch.weights, scratch.met)
        return (
            by_reference(arrays.layout),
            by_reference(arrays.lanes),
            by_reference(self._blocks.state),
            by_reference(self._scratch),
        )

    def _keep(self, n: int) -> None:
        if n:
            out = self._out
            self._ended.append(Results(out.member, out.start, out.key, out.values).take(np.arange(n)))
            reuse.forgotten(out.member, out.start, out.key, *out.values)

    def _results(self, until: int) -> Results:
        if not self._ended:
            return no_results(self._arrays.linear, self._arrays.extreme)
        ended = concat_results(self._ended)
        layout = self._arrays.layout
        due = ended.window_start + layout.window[layout.frame[ended.member]] <= until
        self._ended = [] if due.all() else [ended.take(~due)]
        return ended.take(due)


def _check_size(arrays: Arrays, queries: Sequence[TrendQuery], most_bytes: int) -> None:
    """EngineError where one total for each open window takes more memory than there may be."""
    windows = int(arrays.layout.ring.sum())
    lane = 20 * arrays.linear + 8 * arrays.extreme
    needed = arrays.layout.rows * lane + windows * (lane + 20)  # totals, and room for results
    if needed <= most_bytes:
        return
    widest = max(queries, key=lambda query: query.window_us // query.slide_us)
    raise EngineError(
        f"query `{widest.name}` has {-(-widest.window_us // widest.slide_us):,} windows open at a time; the totals of"
        f" {windows:,} windows take {bytes_text(needed)}, and {bytes_text(max(most_bytes, 0))} are left: choose a"
        " longer SLIDE, or allow more memory with --memory (memory_bytes= in Python)"
    )
