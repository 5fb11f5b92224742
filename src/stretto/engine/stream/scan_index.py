"""The predicate index: all scans of a plan at once.

New events are split by type in one pass. Where many scans of a type compare one expression with constants, its values
are sorted once and every such scan takes its ranges; what remains of its terms is evaluated on those events alone.
Types that one scan reads are judged together with all others of which the same is asked.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from stretto.engine.kernels.counting_sort import split_by_code, split_by_code_reference
from stretto.engine.kernels.order_keys import LEAST, MOST
from stretto.engine.kernels.when_to_compile import is_due
from stretto.engine.memory.limits import size_of
from stretto.engine.operators.protocol import Clock
from stretto.engine.rows.join_keys import order_keys
from stretto.pattern.constant_terms import constant_term, looked_up
from stretto.pattern.nodes import Stream
from stretto.pattern.predicates import Const, Expr
from stretto.records import dataclass
from stretto.schema import Kind
from stretto.values.evaluate import holds, value
from stretto.values.rows import I64, Rows
from stretto.values.strings import Strings
from stretto.values.vector import Vector


@dataclass(frozen=True, slots=True)
class Ranges:
    """A term as ranges of an expression's order keys, both ends included."""

    of: Expr
    kind: Kind
    low: tuple[int, ...]
    high: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Looked:
    """A scan that looks its events up in a sorted column, then checks the rest of its terms."""

    scan: int
    ranges: Ranges
    rest: tuple[Expr, ...]


class ScanIndex:
    """`scans`: stream of each scan by its operator number. `codes`: the code of each type, from 1 on.

    More types may be given codes; no scan reads their events.
    """

    def __init__(self, scans: Mapping[int, Stream], strings: Strings) -> None:
        self.codes = {name: i + 1 for i, name in enumerate(sorted({s.type for s in scans.values()}))}
        by_type: defaultdict[str, list[tuple[int, Stream]]] = defaultdict(list)
        for number, stream in scans.items():
            by_type[stream.type].append((number, stream))
        self._types: list[tuple[int, list[tuple[int, tuple[Expr, ...]]], dict[Expr, list[Looked]]]] = []
        self._alone: defaultdict[tuple[Expr, ...], list[tuple[int, int]]] = defaultdict(list)
        for name, of in sorted(by_type.items()):
            number, stream = of[0]
            if len(of) == 1 and stream.where:
                self._alone[stream.where].append((self.codes[name], number))
            else:
                self._types.append((self.codes[name], *_divide(of, strings)))
        self._scans = tuple(scans)

    def step(self, clock: Clock, borrowed_types: np.ndarray, borrowed_ts: I64) -> dict[int, list[Rows]]:
        """Rows of every scan among the new events, whose types and times are given."""
        found: dict[int, list[Rows]] = {number: [] for number in self._scans}
        count = len(borrowed_types)
        if not count:
            return found
        split = split_by_code if is_due(split_by_code, count) else split_by_code_reference
        order, starts = split(borrowed_types, len(self.codes) + 1, 1)
        for where, alone in self._alone.items():
            parts = [(number, order[starts[code] : starts[code + 1]]) for code, number in alone]
            _together(where, [part for part in parts if len(part[1])], borrowed_ts, clock, found)
        for code, plain, looked in self._types:
            index = order[starts[code] : starts[code + 1]]
            if not len(index):
                continue
            at = index + clock.start
            times = borrowed_ts.take(index) if len(index) < count else borrowed_ts.copy()
            whole = Rows(times, times, (at,))
            clock.meter.at = plain[0][0] if plain else next(iter(looked.values()))[0].scan
            clock.meter.rows = 0
            clock.meter.charge(times.nbytes + at.nbytes, len(at))
            for number, where in plain:
                clock.meter.at = number
                found[number] = _some(whole, where, clock)
            for of, scans in looked.items():
                _look_up(of, scans, whole, clock, found)
        return found


def _together(
    where: Sequence[Expr],
    parts: Sequence[tuple[int, I64]],
    borrowed_ts: I64,
    clock: Clock,
    found: dict[int, list[Rows]],
) -> None:
    """The rows of scans that ask the same of different types; `parts`: the places of the events that each reads."""
    if not parts:
        return
    index = parts[0][1] if len(parts) == 1 else np.concatenate([part for _, part in parts])
    at, times = index + clock.start, borrowed_ts.take(index)
    clock.meter.at, clock.meter.rows = parts[0][0], 0
    clock.meter.charge(times.nbytes + at.nbytes, len(at))
    ends = np.cumsum([len(part) for _, part in parts])
    kept = np.flatnonzero(holds(where, (at,), len(at), clock.events))
    if len(kept) < len(at):
        at, times, ends = at[kept], times[kept], np.searchsorted(kept, ends)
        clock.meter.charge(times.nbytes + at.nbytes, len(at))
    start = 0
    for (number, _), end in zip(parts, ends.tolist(), strict=True):
        if start < end:
            own = times[start:end]
            found[number] = [Rows(own, own, (at[start:end],))]
        start = end


def _some(rows: Rows, where: Sequence[Expr], clock: Clock) -> list[Rows]:
    if where and len(rows):
        kept = holds(where, rows.columns, len(rows), clock.events)
        if not kept.all():
            rows = rows.take(kept)
            clock.meter.charge(size_of(rows), len(rows))
    return [rows] if len(rows) else []


def _look_up(of: Expr, scans: list[Looked], whole: Rows, clock: Clock, found: dict[int, list[Rows]]) -> None:
    vector = value(of, whole.columns, len(whole), clock.events)
    keys, alive = order_keys(vector, scans[0].ranges.kind)
    order = np.argsort(keys)  # in any order among equals: what a scan takes is put in order again
    if alive is not None:
        order = order[alive[order]]
    keys = keys[order]
    low = np.searchsorted(keys, [key for scan in scans for key in scan.ranges.low], side="left")
    high = np.searchsorted(keys, [key for scan in scans for key in scan.ranges.high], side="right")
    at = 0
    for scan in scans:
        parts = [order[low[i] : high[i]] for i in range(at, at + len(scan.ranges.low)) if low[i] < high[i]]
        at += len(scan.ranges.low)
        if parts:
            clock.meter.at = scan.scan
            rows = whole.take(np.sort(np.concatenate(parts)))
            clock.meter.charge(size_of(rows), len(rows))
            found[scan.scan] = _some(rows, scan.rest, clock)


def _divide(
    scans: list[tuple[int, Stream]], strings: Strings
) -> tuple[list[tuple[int, tuple[Expr, ...]]], dict[Expr, list[Looked]]]:
    """Scans that check all their terms, and scans that look one expression up, by that expression."""
    plain: list[tuple[int, tuple[Expr, ...]]] = []
    looked: defaultdict[Expr, list[Looked]] = defaultdict(list)
    for (number, stream), place in zip(scans, looked_up([stream.where for _, stream in scans]), strict=True):
        chosen = None if place is None else ranges_of(stream.where[place], strings)
        if place is None or chosen is None:
            plain.append((number, stream.where))
        else:
            rest = stream.where[:place] + stream.where[place + 1 :]
            looked[chosen.of].append(Looked(number, chosen, rest))
    return plain, dict(looked)


def ranges_of(term: Expr, strings: Strings) -> Ranges | None:
    """The term as ranges of keys, if it compares an expression of the event with constants."""
    found = constant_term(term)
    if found is None:
        return None
    # A value that is named twice, or as both zeros, is one.
    keys = list(
        dict.fromkeys(key for constant in found.constants for key in _constant_keys(constant, strings))
    )
    if found.exact:
        return Ranges(found.of, found.kind, tuple(keys), tuple(keys))
    if not keys:
        return Ranges(found.of, found.kind, (), ())
    key, op = keys[0], found.op
    if (op, key) in (("<", LEAST), (">", MOST)):
        return None  # no key is beyond
    if op in ("<", "<="):
        return Ranges(found.of, found.kind, (LEAST,), (key - (op == "<"),))
    return Ranges(found.of, found.kind, (key + (op == ">"),), (MOST,))


def _constant_keys(constant: Const, strings: Strings) -> list[int]:
    """The order key of a constant; none for null and NaN, which nothing equals."""
    if constant.value is None:
        return []
    if constant.kind is Kind.STRING:
        return [strings.code(str(constant.value))]
    if isinstance(constant.value, int) and constant.kind is not Kind.FLOAT:
        return [int(constant.value)]  # as most are: no array is made for it
    dtype = np.float64 if constant.kind is Kind.FLOAT else np.int64
    keys, alive = order_keys(Vector(np.array([constant.value], dtype), None), constant.kind)
    return [] if alive is not None and not alive[0] else [int(keys[0])]
