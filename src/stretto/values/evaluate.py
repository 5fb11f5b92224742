"""Terms and values over rows: typed trees, read by a small interpreter that handles many rows at a time.

A term over sets is about every event of a set (several sets: every combination) or about every two neighbours.
Each row is expanded to all of these elements, the term is evaluated on them, and the row passes if all of its
elements do.
"""

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np
import pyarrow as pa

from stretto.errors import EngineError
from stretto.pattern.predicates import (
    POSITION,
    Apply,
    Const,
    Element,
    Expr,
    Reduce,
    Ref,
    Which,
    columns_of,
    walk,
)
from stretto.records import dataclass
from stretto.schema import Kind
from stretto.values.lists import flattened, list_texts
from stretto.values.operations import Failures, apply, call
from stretto.values.reduce import ALL_PRESENT, all_hold, extremes, sum_floats, sum_ints
from stretto.values.rows import I64, Bool, Column, Sets, take_column
from stretto.values.strings import Strings
from stretto.values.text_functions import compute
from stretto.values.vector import Data, Vector, constant, passes, scattered

EXPANDED = 1 << 18
"""Elements of expanded rows that are looked at together: bounds the memory of a term over sets."""


class Events(Protocol):
    """Events by position."""

    @property
    def strings(self) -> Strings: ...

    def values(self, attribute: str, positions: I64) -> Vector:
        """The attribute of the events at these positions, all of them bound (>= 0)."""
        ...


def holds(terms: Sequence[Expr], columns: Sequence[Column], n: int, events: Events) -> Bool:
    """Per row, whether all terms hold; a term that reads an unbound column does not apply to that row."""
    block = _Block(columns, n, events)
    alive = np.ones(n, np.bool_)  # over the rows of the block
    with np.errstate(all="ignore"):
        for term in terms:
            count = np.count_nonzero(alive)
            if count == 0:
                break
            if count < len(alive) // 2:
                block = block.narrowed(np.flatnonzero(alive))
                alive = np.ones(count, np.bool_)
            alive &= _term_holds(term, block)
    if block.rows is None:
        return alive
    result = np.zeros(n, np.bool_)
    result[block.rows[alive]] = True
    return result


def value(expr: Expr, columns: Sequence[Column], n: int, events: Events) -> Vector:
    """The expression's value in every row; it must have one (no EACH of a set, no neighbours).

    An unbound column reads as null, and its COUNT is 0.
    """
    with np.errstate(all="ignore"):
        return _compute(expr, _Block(columns, n, events)).over(n)


# ---- terms -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Reads:
    """The columns a term reads, those it reads event by event, and those it reads by neighbours."""

    columns: tuple[int, ...]
    each: tuple[int, ...]
    pairs: tuple[int, ...]


@lru_cache(maxsize=4096)
def _reads(term: Expr) -> _Reads:
    nodes = [node for node in walk(term) if isinstance(node, Ref | Reduce)]
    refs = [node for node in nodes if isinstance(node, Ref)]
    return _Reads(
        tuple(sorted({node.column for node in nodes})),
        tuple(sorted({ref.column for ref in refs if ref.which is Which.EACH})),
        tuple(sorted({ref.column for ref in refs if ref.which in (Which.CURRENT, Which.PREVIOUS)})),
    )


def _term_holds(term: Expr, block: "_Block") -> Bool:
    reads = _reads(term)
    bound: Bool | None = None
    for column in reads.columns:
        there = block.bound(column)
        if there is not None:
            bound = there if bound is None else bound & there
    if bound is None:
        return _bound_term_holds(term, reads, block)
    rows = np.flatnonzero(bound)
    result = np.ones(block.n, np.bool_)
    if len(rows):
        result[rows] = _bound_term_holds(term, reads, block.narrowed(rows))
    return result


def _bound_term_holds(term: Expr, reads: _Reads, block: "_Block") -> Bool:
    if any(not isinstance(block.column(column), Sets) for column in reads.pairs):
        return np.ones(block.n, np.bool_)  # one event has no neighbours
    each = [column for column in reads.each if isinstance(block.column(column), Sets)]
    if each or reads.pairs:
        return _holds_throughout(
            term, [*((c, False) for c in each), *((c, True) for c in reads.pairs)], block
        )
    return passes(_compute(term, block).over(block.n))


def _holds_throughout(term: Expr, quantified: Sequence[tuple[int, bool]], block: "_Block") -> Bool:
    """Whether the term holds for every combination of the columns' events or (True) neighbours."""
    sets = [_Domain(column, pairs, block.sets(column)) for column, pairs in quantified]
    offsets = np.zeros(block.n + 1, np.int64)
    np.cumsum(np.prod([domain.sizes for domain in sets], axis=0), out=offsets[1:])
    total = int(offsets[-1])
    result = np.ones(block.n, np.bool_)
    for start in range(0, total, EXPANDED):
        stop = min(start + EXPANDED, total)
        low = int(np.searchsorted(offsets, start, side="right")) - 1
        high = int(np.searchsorted(offsets, stop, side="left"))
        cut = np.clip(offsets[low : high + 1], start, stop) - start
        elements = _Elements(block, low, cut)
        if len(sets) == 1:
            sets[0].choose_in_order(elements, start, stop)
        else:
            place = np.arange(start, stop) - offsets[elements.rows]
            for domain in sets:
                place = domain.choose(elements, place)
        result[low:high] &= all_hold(cut, passes(_compute(term, elements).over(stop - start)))
    return result


@dataclass(frozen=True, slots=True)
class _Domain:
    """What a term is about: every event of a column's set, or (`pairs`) every two neighbours of it."""

    column: int
    pairs: bool
    sets: Sets

    @property
    def sizes(self) -> I64:
        return self.sets.lengths - self.pairs

    def choose(self, elements: "_Elements", place: I64) -> I64:
        """Give each element the `place` modulo `sizes` of its row's set; returns what is left of the places."""
        left, at = np.divmod(place, self.sizes[elements.rows])
        self._put(elements, at + self.sets.offsets[elements.rows])
        return left

    def choose_in_order(self, elements: "_Elements", start: int, stop: int) -> None:
        """The same for the elements `start` to `stop` - 1, where no other domain takes part."""
        if self.pairs:  # every row has one pair less than events, so pairs lag behind by the row's number
            self._put(elements, np.arange(start, stop) + elements.rows)
        else:
            elements.positions[self.column, Which.EACH] = self.sets.values[start:stop]

    def _put(self, elements: "_Elements", at: I64) -> None:
        values = self.sets.values
        if self.pairs:
            elements.positions[self.column, Which.PREVIOUS] = values[at]
            elements.positions[self.column, Which.CURRENT] = values[at + 1]
        else:
            elements.positions[self.column, Which.EACH] = values[at]


# ---- expressions -----------------------------------------------------------------------------------------


class _Frame(Protocol):
    """What an expression is evaluated over: `n` rows, or all elements of some rows."""

    @property
    def n(self) -> int: ...

    @property
    def events(self) -> Events: ...

    def leaf(self, node: Ref | Reduce) -> Vector: ...


def _compute(expr: Expr, frame: _Frame) -> Vector:
    """The values of an expression; without a dimension where it reads no event."""
    if isinstance(expr, Ref | Reduce):
        return frame.leaf(expr)
    if isinstance(expr, Element):
        assert isinstance(frame, _ListElements), expr
        return frame.element
    if isinstance(expr, Const):
        if isinstance(expr.value, str):
            return constant(frame.events.strings.code(expr.value), expr.kind)
        assert not isinstance(expr.value, tuple), expr
        return constant(expr.value, expr.kind)
    assert isinstance(expr, Apply), expr
    if expr.op in ("any", "all"):
        return _through_lists(expr, frame)
    found = compute(expr, frame.n, frame.events.strings, lambda part: _compute(part, frame))
    if found is not None:
        return found
    arguments = [_compute(argument, frame) for argument in expr.arguments]
    if expr.op.startswith("user:"):
        found, failed = call(expr.op.removeprefix("user:"), arguments, frame.n, frame.events.strings)
        if failed:
            _reject(expr, failed, frame)
        return found
    return apply(expr.op, arguments, kind_of(expr.arguments[0]), frame.events.strings)


def _reject(expr: Apply, failed: Failures, frame: _Frame) -> None:
    """Note the events that a user's function raised for, with what it said."""
    if getattr(frame.events, "forgiving", False):
        return
    # Not everything that has events can set some apart: where none can be, a failure is an error.
    rejections: dict[int, str] | None = getattr(frame.events, "rejections", None)
    if rejections is None:
        raise EngineError(f"a function failed: {failed[0][1]}")
    rows = np.array([row for row, _ in failed])
    for ref in [node for node in walk(expr) if isinstance(node, Ref)]:
        positions = frame.leaf(Ref(ref.column, POSITION, Kind.INT, ref.which)).take(rows).data.tolist()
        for position, (_, reason) in zip(positions, failed, strict=True):
            rejections.setdefault(position, reason)


def _through_lists(expr: Apply, frame: _Frame) -> Vector:
    """ANY and ALL: OR and AND over the elements of each list; null of a null list."""
    of, condition = expr.arguments
    lists = _compute(of, frame).over(frame.n)
    rows = np.arange(frame.n) if lists.valid is None else np.flatnonzero(lists.valid)
    codes = lists.data[rows]
    alone = not columns_of(condition)
    # A condition about nothing but elements says the same of equal lists.
    few, place = np.unique(codes, return_inverse=True) if alone else (codes, np.arange(len(codes)))
    lengths, element = flattened(few, kind_of(of), frame.events.strings)
    around = np.repeat(np.zeros(len(few), np.int64) if alone else rows, lengths)
    elements = _ListElements(frame, around, element)
    truth = _compute(condition, elements).over(elements.n)
    owner = np.repeat(np.arange(len(few)), lengths)
    decided = passes(truth) if expr.op == "any" else ~truth.data & ~truth.nulls
    decides = np.bincount(owner[decided], minlength=len(few)) > 0
    unknown = np.bincount(owner[truth.nulls], minlength=len(few)) > 0
    found = Vector(decides if expr.op == "any" else ~decides, ~unknown | decides).take(place.reshape(-1))
    return found if lists.valid is None else scattered(found, rows, frame.n)


def kind_of(expr: Expr) -> Kind:
    assert isinstance(expr, Const | Ref | Reduce | Apply | Element), expr
    return expr.kind


class _Block:
    """Rows of columns: all, or those with the numbers `rows`. What is read is kept for the next reader."""

    def __init__(self, columns: Sequence[Column], n: int, events: Events, rows: I64 | None = None) -> None:
        self.n = n
        self.events = events
        self.rows = rows
        self._all = columns
        self._columns: dict[int, Column] = {}
        self._bound: dict[int, Bool | None] = {}
        self._leaves: dict[Ref | Reduce, Vector] = {}

    def narrowed(self, rows: I64) -> "_Block":
        """The block of only these rows of this one."""
        return _Block(self._all, len(rows), self.events, rows if self.rows is None else self.rows[rows])

    def column(self, number: int) -> Column:
        if self.rows is None:
            return self._all[number]
        if number not in self._columns:
            self._columns[number] = take_column(self._all[number], self.rows)
        return self._columns[number]

    def sets(self, number: int) -> Sets:
        column = self.column(number)
        assert isinstance(column, Sets)
        return column

    def bound(self, number: int) -> Bool | None:
        """Which rows bind something to the column; None: all."""
        if number not in self._bound:
            column = self.column(number)
            bound = column.lengths > 0 if isinstance(column, Sets) else column >= 0
            self._bound[number] = None if bound.all() else bound
        return self._bound[number]

    def leaf(self, node: Ref | Reduce) -> Vector:
        if node not in self._leaves:
            self._leaves[node] = self._reference(node) if isinstance(node, Ref) else self._reduction(node)
        return self._leaves[node]

    def _reference(self, ref: Ref) -> Vector:
        column = self.column(ref.column)
        bound = self.bound(ref.column)
        rows = None if bound is None else np.flatnonzero(bound)
        if isinstance(column, Sets):
            assert ref.which in (Which.FIRST, Which.LAST), f"{ref} has no one value per row"
            there = np.arange(self.n) if rows is None else rows
            positions = column.firsts(there) if ref.which is Which.FIRST else column.lasts(there)
        else:
            assert ref.which not in (Which.CURRENT, Which.PREVIOUS), f"{ref} has no one value per row"
            positions = column if rows is None else column[rows]
        found = self.events.values(ref.attribute, positions)
        return found if rows is None else scattered(found, rows, self.n)

    def _reduction(self, node: Reduce) -> Vector:
        column = self.column(node.column)
        if node.function == "COUNT":
            return Vector(column.lengths if isinstance(column, Sets) else (column >= 0).astype(np.int64))
        if node.function == "LIST":
            return _listed(node, column, self.events)
        if isinstance(column, Sets):
            known = column.reduced(node)
            if known is not None:
                return known
            found = self.events.values(node.attribute, column.values)
            return _reduced(node, column.offsets, found, self.events.strings)
        alone = self.leaf(Ref(node.column, node.attribute, node.kind))
        return Vector(alone.data.astype(np.float64), alone.valid) if node.function == "AVG" else alone


class _Elements:
    """The elements that a term is about in some rows of a block: rows from number `low` on, cut as `offsets` says.

    `positions`: the events that stand for the term's references to every event, or to neighbours.
    """

    def __init__(self, block: _Block, low: int, offsets: I64) -> None:
        self.n = int(offsets[-1])
        self.events = block.events
        self.positions: dict[tuple[int, Which], I64] = {}
        self._block = block
        self._low = low
        self._offsets = offsets

    @cached_property
    def rows(self) -> I64:
        """The number of each element's row."""
        numbers = np.arange(self._low, self._low + len(self._offsets) - 1)
        return np.repeat(numbers, np.diff(self._offsets))

    def leaf(self, node: Ref | Reduce) -> Vector:
        if isinstance(node, Ref) and (node.column, node.which) in self.positions:
            return self.events.values(node.attribute, self.positions[node.column, node.which])
        return self._block.leaf(node).take(self.rows)


class _ListElements:
    """The elements of lists, each with the row of another frame that it belongs to."""

    def __init__(self, frame: _Frame, rows: I64, element: Vector) -> None:
        self.n = len(rows)
        self.events = frame.events
        self.element = element
        self._frame, self._rows = frame, rows

    def leaf(self, node: Ref | Reduce) -> Vector:
        return self._frame.leaf(node).take(self._rows)


def _reduced(node: Reduce, offsets: I64, values: Vector, strings: Strings) -> Vector:
    """SUM, AVG, MIN or MAX of every set; null over nothing but nulls."""
    present = ALL_PRESENT if values.valid is None else values.valid
    data = values.data
    if node.function in ("MIN", "MAX"):
        is_text = node.kind is Kind.STRING
        best, counts = extremes(
            offsets, strings.rank(data) if is_text else data, present, node.function == "MAX"
        )
        return Vector(strings.ranked(best) if is_text else best, _where(counts > 0))
    sums: Data
    if data.dtype.kind == "f":
        sums, counts = sum_floats(offsets, data, present)
        valid = counts > 0
    else:
        sums, counts, fits = sum_ints(offsets, data, present)
        valid = (counts > 0) & fits
    return Vector(sums / counts if node.function == "AVG" else sums, _where(valid))


def _listed(node: Reduce, column: Column, events: Events) -> Vector:
    """The values of an attribute over a set, as a list of its kind; null where nothing is bound.

    Times, durations and truth values are integers in it, and lists are their texts.
    """
    if not isinstance(column, Sets):
        bound = column >= 0
        column = Sets(np.concatenate([[0], np.cumsum(bound)]), column[bound])
    found = events.values(node.attribute, column.values)
    if node.kind is Kind.STRINGS:
        values = events.strings.texts(found.data, found.valid)
    else:
        kind = np.float64 if node.kind is Kind.FLOATS else np.int64
        values = pa.array(found.data.astype(kind), mask=None if found.valid is None else ~found.valid)
    lists = pa.LargeListArray.from_arrays(pa.array(column.offsets, pa.int64()), values)
    codes = events.strings.encode(list_texts(lists, node.kind)).data
    return Vector(codes, _where(column.lengths > 0))


def _where(valid: Bool) -> Bool | None:
    return None if valid.all() else valid
