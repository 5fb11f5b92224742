"""Rows paired with the constants that they pass the terms of, without a look at the others.

Equalities with constants are found by hash. Within those, constants are in the order of one comparison, of numbers or
texts, so that those that pass are the first so many, found by a search; a second comparison picks from these by a tree
of minima. What is left of the terms is evaluated on the pairs.
"""

from collections.abc import Hashable, Iterator, Sequence
from weakref import WeakKeyDictionary

import numpy as np

from stretto.engine.derived.group_numbers import GroupNumbers
from stretto.engine.kernels.dense_places import found_at_places
from stretto.engine.kernels.segmented_search import seek_in_segments, seek_in_segments_reference
from stretto.engine.kernels.three_sided import found_in_prefixes, found_in_prefixes_reference, minima
from stretto.engine.kernels.when_to_compile import is_due
from stretto.engine.operators.protocol import RowShape
from stretto.engine.rows.join_keys import KeyTerm, probing_keys, stored_keys
from stretto.engine.stream.constants import WithConstants, over_constants, vectors
from stretto.engine.stream.text_ranks import TextRanks, probing_places, stored_places
from stretto.pattern.comparisons import RANGES, flipped
from stretto.pattern.predicates import NEIGHBOURS, Apply, Expr, Param, Ref, Which, columns_of, walk
from stretto.pattern.split_conjunctions import separated
from stretto.plan.families.members import Constants
from stretto.records import dataclass
from stretto.schema import Kind
from stretto.values.evaluate import Events, holds, value
from stretto.values.rows import I64, Column, take_column
from stretto.values.strings import Strings
from stretto.values.vector import Vector

FEW = 1 << 22
"""Candidates that are looked at together."""
SPREAD, FEWEST = 16, 1 << 16
"""Keys may lie so far apart, times their number and beyond that, to have places of their own."""
WITHOUT_TEXTS = frozenset([Kind.INT, Kind.FLOAT, Kind.BOOL, Kind.TIME, Kind.DURATION])
Pairs = tuple[I64, I64]
"""Numbers of rows and of constants."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Constants in the order in which they are looked up: those of group g at starts[g]..starts[g + 1] - 1.

    `first`: within a group ascending, keys of the first comparison; `tree`: minima of those of the second.
    """

    numbers: I64
    starts: I64
    first: I64 | None
    tree: I64 | None


class DenseNumbers:
    """Numbers for the different keys of an array that are not far apart: each has a place of its own."""

    def __init__(self, keys: I64) -> None:
        self._least = int(keys.min())
        there = np.zeros(int(keys.max()) - self._least + 1, np.bool_)
        there[keys - self._least] = True
        numbers = np.cumsum(there, dtype=np.int32) - 1
        self._numbers = np.where(there, numbers, np.int32(-1))

    @staticmethod
    def fits(keys: I64) -> bool:
        return bool(len(keys)) and int(keys.max()) - int(keys.min()) < SPREAD * len(keys) + FEWEST

    @property
    def nbytes(self) -> int:
        return self._numbers.nbytes

    def find(self, keys: Sequence[Vector], n: int) -> I64:
        """The numbers of `n` keys; -1 for one that is none of them."""
        (vector,) = keys
        data = vector.data
        if vector.valid is None and is_due(found_at_places, n):
            return found_at_places(data, self._least, self._numbers)
        inside = (data >= self._least) & (data < self._least + len(self._numbers))
        if vector.valid is not None:
            inside &= vector.valid
        found = np.full(n, -1, np.int64)
        rows = np.flatnonzero(inside)
        found[rows] = self._numbers[data[rows] - self._least]
        return found


_prepared: WeakKeyDictionary[Constants, dict[Hashable, object]] = WeakKeyDictionary()


def pair_index(terms: Sequence[Expr], shape: RowShape, constants: Constants, strings: Strings) -> "PairIndex":
    """An index of the constants: the one there is, as long as no text makes it another for other `strings`.

    A plan that runs again, or in several engines, need not put a hundred thousand constants in order each time.
    """
    found = prepared(terms, constants)
    key = tuple(terms), shape
    if key not in found:
        found[key] = PairIndex(terms, shape, constants, strings)
    index = found[key]
    assert isinstance(index, PairIndex)
    return index


def prepared(terms: Sequence[Expr], constants: Constants) -> dict[Hashable, object]:
    """What was made of constants for such terms before; nothing, and never anything, where these are about texts."""
    read = [getattr(node, "kind", Kind.STRING) for term in terms for node in walk(term)]
    if not WITHOUT_TEXTS.issuperset((*constants.kinds.values(), *read)):
        return {}
    return _prepared.setdefault(constants, {})


class PairIndex:
    """`terms` read the columns of rows of this shape, and constants as Params. Nothing changes once it is made."""

    def __init__(
        self, terms: Sequence[Expr], shape: RowShape, constants: Constants, strings: Strings
    ) -> None:
        self._at = shape.width
        self._constants = vectors(constants, strings)
        always = {column for column in range(shape.width) if not shape.optional[column]}
        parts = [part for term in terms for part in separated(term, always)]
        sides = [(part, _sides(part, shape)) for part in parts]
        equal = [found for _, found in sides if found is not None and found[0].op == "="]
        ranges = _in_pairs([found[0] for _, found in sides if found is not None and found[0].op != "="])
        used = ranges[:2]
        self._equal = [found[0] for found in equal]
        self._ranges = used
        left = [part for part, found in sides if found is None or found[0] in ranges[2:]]
        self._rest = tuple(over_constants(term, shape.width) for term in left)
        self._texts: dict[int, TextRanks] = {}
        self._groups: DenseNumbers | GroupNumbers
        self._kept = self._build([alternatives for _, alternatives in equal], len(constants), strings)

    def pairs(self, columns: Sequence[Column], n: int, events: Events) -> Pairs:
        """The rows, ascending, with the constants that they pass."""
        if not n:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        found = list(self._found(columns, n, events))
        rows, numbers = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return rows, numbers

    @property
    def by_groups(self) -> tuple[I64, I64] | None:
        """Constants, those of group g at starts[g]..starts[g + 1] - 1, and starts, where groups tell all of it."""
        return (self._kept.numbers, self._kept.starts) if not self._ranges and not self._rest else None

    def groups(self, columns: Sequence[Column], n: int, events: Events) -> I64:
        """The group of constants that each row equals; -1: none."""
        words = [probing_keys(term, columns, n, events) for term in self._equal]
        return self._groups.find([Vector(keys, alive) for keys, alive in words], n)

    @property
    def held(self) -> int:
        """Bytes of what is looked up."""
        arrays = (self._kept.numbers, self._kept.starts, self._kept.first, self._kept.tree)
        texts = sum(ranks.nbytes for ranks in self._texts.values())
        return texts + self._groups.nbytes + sum(array.nbytes for array in arrays if array is not None)

    # ---- what is looked up -------------------------------------------------------------------------------------

    def _build(self, alternatives: Sequence[tuple[Expr, ...]], count: int, strings: Strings) -> Kept:
        """Constants by their keys; one with several alternatives for a value is there once for each."""
        events = WithConstants(_NoEvents(strings), self._constants)
        numbers = np.arange(count)
        words: list[I64] = []
        for term, values in zip(self._equal, alternatives, strict=True):
            numbers, words = _multiplied(term, values, numbers, words, events)
        ranged: list[I64] = []
        for number, term in enumerate(self._ranges):
            if term.kind is Kind.STRING:
                codes = value(term.stored, (numbers,), len(numbers), events).over(len(numbers))
                known = codes.data if codes.valid is None else codes.data[codes.valid]
                self._texts[number] = TextRanks(strings, known)
                bounds, alive = stored_places(term, self._texts[number].of(codes))
            else:
                bounds, alive = stored_keys(term, (numbers,), len(numbers), events)
            if alive is not None:
                kept = np.flatnonzero(alive)
                numbers, bounds = numbers[kept], bounds[kept]
                words = [word[kept] for word in words]
                ranged = [key[kept] for key in ranged]
            ranged.append(bounds)
        keys = [Vector(word) for word in words]
        if len(words) == 1 and DenseNumbers.fits(words[0]):
            self._groups = DenseNumbers(words[0])
            groups = self._groups.find(keys, len(numbers))
        else:
            self._groups = hashed = GroupNumbers([Kind.INT] * len(words))
            groups = hashed.enter(keys, len(numbers))
        order = np.lexsort((*reversed(ranged), groups))
        starts = np.searchsorted(groups[order], np.arange(int(groups.max(initial=0)) + 2))
        first = ranged[0][order] if ranged else None
        tree = minima(ranged[1][order]) if len(ranged) > 1 else None
        return Kept(numbers[order], starts, first, tree)

    def _found(self, columns: Sequence[Column], n: int, events: Events) -> Iterator[Pairs]:
        groups = self.groups(columns, n, events)
        bounds: list[I64] = []
        for number, term in enumerate(self._ranges):
            texts = self._texts.get(number)
            if texts is None:
                keys, alive = probing_keys(term, columns, n, events)
            else:
                codes = value(term.probing, columns, n, events).over(n)
                keys, alive = probing_places(term, texts.of(codes))
            bounds.append(keys)
            if alive is not None:
                groups = np.where(alive, groups, -1)
        rows = np.flatnonzero(groups >= 0) if len(self._kept.numbers) else np.zeros(0, np.int64)
        groups = groups[rows]
        low = self._kept.starts[groups]
        high = self._kept.starts[groups + 1]
        if self._kept.first is not None:
            due = is_due(seek_in_segments, len(rows))
            seek = seek_in_segments if due else seek_in_segments_reference
            high = low + seek(self._kept.first, self._kept.starts, groups, bounds[0][rows])
        ends = np.cumsum(high - low)
        begin = 0
        yield np.zeros(0, np.int64), np.zeros(0, np.int64)
        while begin < len(rows):
            before = int(ends[begin - 1]) if begin else 0
            end = max(int(np.searchsorted(ends, before + FEW, side="right")), begin + 1)
            part = slice(begin, end)
            at, places = self._candidates(
                low[part], high[part], bounds[1][rows[part]] if self._kept.tree is not None else None
            )
            yield self._passing(rows[part][at], self._kept.numbers[places], columns, events)
            begin = end

    def _candidates(self, low: I64, high: I64, bounds: I64 | None) -> Pairs:
        tree = self._kept.tree
        if tree is None or bounds is None:
            lengths = high - low
            at = np.repeat(np.arange(len(low)), lengths)
            return at, np.arange(len(at)) - np.repeat(np.cumsum(lengths) - lengths - low, lengths)
        if not is_due(found_in_prefixes, len(low) + int((high - low).sum())):
            return found_in_prefixes_reference(tree, low, high, bounds)
        room = 4 * len(low)
        while True:
            at, places = np.empty(room, np.int64), np.empty(room, np.int64)
            n = found_in_prefixes(tree, low, high, bounds, at, places)
            if n <= room:
                return at[:n], places[:n]
            room = n

    def _passing(self, rows: I64, numbers: I64, columns: Sequence[Column], events: Events) -> Pairs:
        if not self._rest or not len(rows):
            return rows, numbers
        read = frozenset().union(*map(columns_of, self._rest))
        none = np.zeros(0, np.int64)
        taken = [take_column(c, rows) if number in read else none for number, c in enumerate(columns)]
        known = WithConstants(events, self._constants)
        kept = holds(self._rest, [*taken, numbers], len(rows), known)
        return rows[kept], numbers[kept]


Sides = tuple[KeyTerm, tuple[Expr, ...]]
"""A comparison of constants (stored) with rows (probing), and, of an equality, what the rows may equal."""


def _sides(term: Expr, shape: RowShape) -> Sides | None:
    """The term as a comparison of keys of constants with keys of rows, if it is one."""
    if not isinstance(term, Apply) or not (term.op in RANGES or term.op == "in"):
        return None
    if term.op != "in" and not columns_of(term.arguments[0]):
        term = flipped(term)
    of, *others = term.arguments
    if not _of_row(of, shape) or any(columns_of(other) for other in others):
        return None
    kind = getattr(of, "kind", Kind.STRING)
    constants = tuple(over_constants(other, 0) for other in others)
    op = "=" if term.op == "in" else flipped(term).op
    return KeyTerm(op, constants[0], of, kind), constants


def _of_row(expr: Expr, shape: RowShape) -> bool:
    """Whether it has one value in every row, and reads no constant of a family."""
    columns = columns_of(expr)
    if not columns or any(shape.optional[column] for column in columns):
        return False
    return not any(
        isinstance(node, Param)
        or (
            isinstance(node, Ref)
            and (node.which in NEIGHBOURS or (node.which is Which.EACH and shape.sets[node.column]))
        )
        for node in walk(expr)
    )


def _in_pairs(terms: Sequence[KeyTerm]) -> list[KeyTerm]:
    """The comparisons, first two that are about the same value: both ends of a range."""
    for number, one in enumerate(terms):
        for other in terms[number + 1 :]:
            if one.probing == other.probing:
                return [one, other, *(term for term in terms if term is not one and term is not other)]
    return list(terms)


def _multiplied(
    term: KeyTerm, values: Sequence[Expr], numbers: I64, words: list[I64], events: Events
) -> tuple[I64, list[I64]]:
    """Every number once for each different key that its values have, with the keys it had before."""
    at: list[I64] = []
    found: list[I64] = []
    for one in values:
        keys, alive = stored_keys(
            KeyTerm("=", one, term.probing, term.kind), (numbers,), len(numbers), events
        )
        rows = np.arange(len(numbers)) if alive is None else np.flatnonzero(alive)
        at.append(rows)
        found.append(keys[rows])
    rows, keys = np.concatenate(at), np.concatenate(found)
    if len(values) > 1 and len(rows):
        rows, keys = np.unique(np.stack([rows, keys]), axis=1)
    return numbers[rows], [*(word[rows] for word in words), keys]


class _NoEvents:
    """No events: constants alone are read."""

    def __init__(self, strings: Strings) -> None:
        self.strings = strings

    def values(self, attribute: str, positions: I64) -> Vector:
        raise AssertionError(f"constants read `{attribute}` of {len(positions)} events")
