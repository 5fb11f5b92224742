"""Rows of a query's parts as matches: ids for positions, the time they became certain, and the returned values."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from stretto.engine.memory import reuse
from stretto.engine.memory.limits import Meter, Undo, size_of, vector_size
from stretto.engine.operators.protocol import Bookkeeping, Clock, RowShape
from stretto.engine.results.identity import once
from stretto.engine.results.leaf_ids import event_numbers, listed_ids
from stretto.engine.results.match_chunks import NO_ID, MatchChunk, Unread
from stretto.engine.results.routed import Routed
from stretto.engine.results.router import MemberRouter
from stretto.engine.rows.coordinates import any_bound, coordinates, last_inside
from stretto.engine.rows.sets import PartColumns
from stretto.engine.stream.arena import Arena
from stretto.engine.stream.constants import over_constants
from stretto.pattern.nodes import Return
from stretto.pattern.predicates import Expr, Ref
from stretto.plan.ops import Emit
from stretto.schema import Kind
from stretto.values.evaluate import Events, value
from stretto.values.rows import I64, UNBOUND, Column, Rows, Sets
from stretto.values.vector import Vector

RETURNING = 32
"""Bytes that it takes to work out a value, per row and per event of a set."""
NUMBERING = 128
"""Bytes that it takes to number an event."""
WORTH = 4
"""Events per match up to which it takes less to look at the values of all events than to read one for each match."""


class EmitOperator(Bookkeeping):
    """Part k's column i is variable `columns[k][i]`; a variable that is a list somewhere is one everywhere."""

    def __init__(self, op: Emit, inputs: Sequence[RowShape]) -> None:
        self._op = op
        self.query = op.query
        self.shape = RowShape((), ())
        # A match can be certain at once by one alternative and again, later, by one that waits.
        self._mixed = op.distinct and any(op.waits) and not all(op.waits)
        self._reported: list[Rows] = []
        self._looks_at_times = op.distinct or any(op.waits) or op.route is not None
        self._parts = PartColumns.of(op.columns, op.kleene)
        self._optional = self._parts.optional(inputs)
        shape = RowShape(op.kleene, self._optional)
        self._router = None if op.route is None else MemberRouter(op.route, shape, op.returns)
        self._carried = op.route is not None and op.route.carried
        self._read_later = read_later(op, shape)

    @property
    def held(self) -> int:
        return sum(map(size_of, self._reported))

    def mark(self) -> Undo:
        reported = self._reported

        def undo() -> None:
            self._reported = reported

        return undo

    def step(self, inputs: Sequence[list[Rows]], clock: Clock, arena: Arena) -> list[MatchChunk]:
        found = [
            (moved := self._moved(rows, k), self._detected(rows, moved, k, clock, arena))
            for k in sorted(range(len(inputs)), key=self._op.waits.__getitem__)
            for rows in map(self._timed, inputs[k])
            if len(rows)
        ]
        if self._op.distinct and found:
            found = [self._once(found, clock.meter)]
            clock.meter.charge(size_of(found[0][0]), len(found[0][0]))
            if self._mixed:
                self._remember(found[0][0], clock)
        decided = clock.sieve is not None and clock.sieve.exact
        return list(self._chunks(found, clock.meter, arena, decided=decided))

    def _timed(self, rows: Rows) -> Rows:
        """Rows with times as they are, where more is done with these than to report them."""
        return rows.with_whole_times() if self._looks_at_times else rows

    def _moved(self, rows: Rows, part: int) -> Rows:
        """A part's rows over the variables, and then the number of their entry, where they carry it."""
        moved = self._parts.moved(rows, part)
        return replace(moved, columns=(*moved.columns, rows.columns[-1])) if self._carried else moved

    def _remember(self, rows: Rows, clock: Clock) -> None:
        """Keep what was reported for as long as an equal match may still be waiting."""
        window = self._op.window
        reported = [*self._reported, rows]
        first = [coordinates(kept, window)[0] for kept in reported]
        now = clock.until if window.unit == "us" else clock.end
        self._reported = [
            kept.take(start + window.size >= now) for kept, start in zip(reported, first, strict=True)
        ]
        clock.meter.charge(self.held, len(rows))

    def _once(self, found: list[tuple[Rows, I64]], meter: Meter) -> tuple[Rows, I64]:
        """Equal matches once, the first of them, and none that was reported before."""
        before = sum(map(len, self._reported))
        rows, first = once([*self._reported, *(rows for rows, _ in found)], meter)
        kept = np.flatnonzero(first)
        kept = kept[kept >= before]
        detected = np.concatenate([times for _, times in found])
        return rows.take(kept), detected[kept - before]

    def _detected(self, rows: Rows, moved: Rows, part: int, clock: Clock, arena: Arena) -> I64:
        """When matches became certain; `moved`: the rows of a part over the variables."""
        if not self._op.waits[part]:
            return rows.last
        certain = last_inside(rows, self._op.window)
        if self._op.window.unit != "us":
            certain = arena.values("ts", np.minimum(certain, clock.end - 1)).data
        if not self._op.open_ends:
            return certain
        late = np.zeros(len(rows), np.bool_)
        for after, before in self._op.open_ends:
            late |= any_bound(moved, after) & ~any_bound(moved, before)
        return np.where(late, certain, rows.last)

    def _chunks(
        self, found: list[tuple[Rows, I64]], meter: Meter, arena: Arena, *, decided: bool
    ) -> Iterator[MatchChunk]:
        """The matches, and a charge for what is made for them beside the rows that they come from.

        `decided`: all of them are kept, so that what KEEP tells them apart by is not read.
        """
        unread = None if decided else self._unread(sum(len(rows) for rows, _ in found), arena)
        items = self._op.shown if decided else self._op.returns
        for whole, certain in found:
            rows, detected, routed = whole, certain, None
            if self._router is not None:
                at, routed = self._router.routed(whole, arena)
                if not len(at):
                    continue
                kept = replace(whole, columns=whole.columns[:-1]) if self._carried else whole
                rows, detected = kept.take(at), certain[at]
                meter.charge(
                    size_of(rows) + detected.nbytes + routed.low.nbytes + routed.high.nbytes, len(rows)
                )
            ids = tuple(
                found
                for number, column in enumerate(rows.columns)
                for found in self._ids(number, column, arena)
            )
            events = tuple(self._event_numbers(rows, meter, arena))
            theirs = {id(column) for column in rows.columns}
            new = [mine for mine in (*ids, *events) if id(mine) not in theirs]
            meter.charge(
                sum(column.nbytes for column in new) + (0 if detected is rows.last else detected.nbytes),
                len(rows),
            )
            returned = self._returned_values(items, rows, routed, meter, arena, unread)
            if reuse.debug:
                values = [array for vector in returned for array in (vector.data, vector.valid)]
                reuse.check_owned(*ids, *events, rows.first, rows.last, detected, *values)
            yield MatchChunk(
                ids,
                rows.first,
                rows.last,
                detected,
                returned,
                arena.strings,
                routed,
                rows.since,
                unread,
                events=events,
            )

    def _ids(self, number: int, column: Column, arena: Arena) -> Iterator[Column]:
        """The ids of a variable's events, or of the raw events behind them, listing by listing."""
        if not self._op.listings:
            yield _ids(column, arena, optional=self._optional[number])
            return
        for listing in self._op.listings[number]:
            yield listed_ids(listing, column, arena, several=self._op.kleene[number])

    def _event_numbers(self, rows: Rows, meter: Meter, arena: Arena) -> Iterator[Sets]:
        """Yield the numbers of each variable's events, where LONGEST compares matches by them."""
        if not self._op.numbers_events:
            return
        for listings, column in zip(self._op.listings, rows.columns, strict=True):
            meter.reserve(NUMBERING * (len(column.values) if isinstance(column, Sets) else len(column)))
            yield event_numbers(listings, column, arena)

    def _returned_values(
        self,
        items: Sequence[Return],
        rows: Rows,
        routed: Routed | None,
        meter: Meter,
        arena: Arena,
        unread: Unread | None,
    ) -> tuple[Vector, ...]:
        exprs = [item.value for item in items]
        if unread is not None and self._read_later is not None:
            column = rows.columns[self._read_later.column]
            assert not isinstance(column, Sets)
            return tuple(
                Vector(column) if item.hidden else self._returned(item.value, rows, meter, arena)
                for item in items
            )
        if routed is None or self._router is None:
            return tuple(self._returned(expr, rows, meter, arena) for expr in exprs)
        with_member = replace(rows, columns=(*rows.columns, routed.firsts))
        known = self._router.constants(arena)
        width = len(rows.columns)
        return tuple(self._returned(over_constants(expr, width), with_member, meter, known) for expr in exprs)

    def _unread(self, count: int, arena: Arena) -> Unread | None:
        """What KEEP tells so many matches apart by, if it is not read for each of them here."""
        if self._read_later is None or WORTH * count < arena.end - arena.base:
            return None
        borrowed = arena.borrowed_bits(self._read_later.attribute)
        return None if borrowed is None else Unread(borrowed, arena.base)

    @staticmethod
    def _returned(expr: Expr, rows: Rows, meter: Meter, arena: Events) -> Vector:
        """A returned value of each row; values of all events of a set are there for a while."""
        sets = sum(len(c.values) for c in rows.columns if isinstance(c, Sets))
        meter.reserve(RETURNING * (len(rows) + sets))
        vector = value(expr, rows.columns, len(rows), arena).over(len(rows))
        meter.charge(vector_size(vector))
        return vector


def read_later(op: Emit, shape: RowShape) -> Ref | None:
    """What KEEP tells matches apart by, where that is one attribute of an event that each has, in this very step."""
    hidden = [item.value for item in op.returns if item.hidden]
    if len(hidden) != 1 or any(op.waits) or op.route is not None:
        return None
    (value,) = hidden
    if not isinstance(value, Ref) or value.kind is Kind.FLOAT or value.attribute.startswith("@"):
        return None
    return None if shape.sets[value.column] or shape.optional[value.column] else value


def _ids(column: Column, arena: Arena, *, optional: bool) -> Column:
    if isinstance(column, Sets):
        return Sets(column.offsets, arena.ids(column.values))
    if not optional:
        return arena.ids(column)
    bound = column != UNBOUND
    if bound.all():  # of a variable that only other parts lack
        return arena.ids(column).astype(np.int64, copy=False)
    if arena.has_positions_as_ids:  # in one pass: of an ANY every row lacks some
        return np.where(bound, column, np.int64(NO_ID))
    ids = np.full(len(column), NO_ID, np.int64)
    if bound.any():
        np.place(ids, bound, arena.ids(column[bound]))
    return ids
