"""Skip till next match: the moves of a run from step to step, and the first event that each move accepts."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from stretto.engine.derived.group_numbers import GroupNumbers
from stretto.engine.kernels.sorted_search import look_up
from stretto.engine.memory.limits import Meter, size_of
from stretto.engine.operators.protocol import RowShape
from stretto.engine.rows.join_keys import KeyTerm, probing_keys, split_terms, stored_keys
from stretto.pattern.predicates import Expr, Reduce, Ref, Which, columns_of, rewrite, walk
from stretto.plan.ops import Next
from stretto.records import dataclass
from stretto.schema import Kind
from stretto.values.evaluate import Events, holds
from stretto.values.rows import I64, Bool, Column, Rows, Sets, spread, take_column
from stretto.values.vector import Vector

FIRST_SLICE = 8
GROWTH = 8
"""How many candidates of a run are looked at before more of them, and how many more."""
FEW = 4
"""Events are looked for by the keys of runs if there are so many times as many events."""
PAIRS = 1 << 18
"""So many pairs of a run and a candidate are judged together."""

EVENT = RowShape((False,), (False,), single=True)
BEGIN = -1
"""The step before the first one, where every run comes from."""


@dataclass(frozen=True, slots=True)
class Move:
    """Taking an event into step `target`; `again`: the run is there already.

    `keys` and `terms` are what the event makes decidable: terms read the run's columns by number and the event as the
    column after them; a key is a term that is an equality, or an equality that follows from one. `judged` are terms of
    HAVING that the event makes decidable, and all on the first event of a step, which no later one changes: they read
    the same, and a run that fails one ends. `left` are those over the whole set of the step that is left, on the run as
    it was.
    """

    source: int
    target: int
    terms: tuple[Expr, ...]
    keys: tuple[KeyTerm, ...]
    judged: tuple[Expr, ...] = ()
    left: tuple[Expr, ...] = ()

    @property
    def again(self) -> bool:
        return self.source == self.target

    @property
    def whole(self) -> tuple[int, ...]:
        """The columns, the event's maybe among them, that terms read more of than ends and counts."""
        read = {
            node.column
            for term in self.terms
            for node in walk(term)
            if (isinstance(node, Ref) and node.which in (Which.EACH, Which.CURRENT, Which.PREVIOUS))
            or (isinstance(node, Reduce) and node.function != "COUNT")
        }
        return tuple(sorted(read))


def moves_from(op: Next, source: int) -> tuple[Move, ...]:
    """All moves that some run at a step can make."""
    found: list[Move] = []
    if source != BEGIN and op.bounds[source][1] != 1:
        found.append(_move(op, source, source))
    for target in range(source + 1, len(op.bounds)):
        found.append(_move(op, source, target))
        if op.bounds[target][0] > 0:
            break
    return tuple(found)


def pending_terms(op: Next, step: int) -> tuple[Expr, ...]:
    """The terms that are judged when a run leaves a step, or reports there: they read its whole set."""
    return _pending(op, op.terms, step)


def pending_having(op: Next, step: int) -> tuple[Expr, ...]:
    """The same of HAVING: a run that reports is not reported if one fails, and goes on."""
    return _pending(op, op.having, step)


def _pending(op: Next, terms: Sequence[Expr], step: int) -> tuple[Expr, ...]:
    return tuple(term for term in terms if max(columns_of(term)) == step and _waits(op, term, step))


def _waits(op: Next, term: Expr, step: int) -> bool:
    if op.bounds[step] == (1, 1) or _of_first(op, term):
        return False
    return any(
        isinstance(node, Reduce) or node.which in (Which.FIRST, Which.LAST) for node in _reads(term, step)
    )


def _of_first(op: Next, term: Expr) -> bool:
    """Whether a term reads the first event alone of its last step, one that repeats."""
    step = max(columns_of(term))
    firsts = (isinstance(node, Ref) and node.which is Which.FIRST for node in _reads(term, step))
    return op.bounds[step] != (1, 1) and all(firsts)


def _reads(term: Expr, step: int) -> list[Ref | Reduce]:
    return [node for node in walk(term) if isinstance(node, Ref | Reduce) and node.column == step]


def _move(op: Next, source: int, target: int) -> Move:
    steering = [term for term in op.terms if not _of_first(op, term)]
    terms = _decided(op, steering, source, target)
    settled = [term for term in op.terms if _of_first(op, term)]
    judged = _decided(op, (*op.having, *settled), source, target)
    left = pending_having(op, source) if source not in (BEGIN, target) else ()
    sets = tuple(bounds != (1, 1) for bounds in op.bounds)
    optional = tuple(c > source or (c < source and low == 0) for c, (low, _) in enumerate(op.bounds))
    keys: dict[Expr, KeyTerm] = {}
    rest: list[Expr] = []
    for term in terms:
        end = rewrite(term, _last_of_sets(sets))
        equal = split_terms([end], EVENT, RowShape(sets, optional), len(sets), 0).equal
        new = [key for key in equal if key.stored not in keys]
        keys |= {key.stored: key for key in new}
        if not new or end != term:  # otherwise the key says all that the term does
            rest.append(term)
    return Move(source, target, tuple(rest), tuple(keys.values()), tuple(judged), left)


def _decided(op: Next, among: Sequence[Expr], source: int, target: int) -> list[Expr]:
    """What terms say of an event that is taken into a step, those that it makes decidable."""
    terms: list[Expr] = []
    for term in among:
        columns = columns_of(term)
        skipped = any(source < c < target for c in columns)
        if max(columns) == target and not skipped and not _waits(op, term, target):
            terms.extend(_on_taking(term, source, target, len(op.bounds)))
    return terms


def _on_taking(term: Expr, source: int, target: int, event: int) -> list[Expr]:
    """What a term says of the event taken, with all that the run has bound."""
    if _names(term, target, Which.FIRST):
        if source == target:
            return []  # judged when the first one was taken
        first = lambda ref: replace(ref, column=event, which=Which.EACH)  # noqa: E731 - as the others are
        return [rewrite(term, _moved(target, first))]
    neighbours = _names(term, target, Which.CURRENT, Which.PREVIOUS)
    if not neighbours:
        return [rewrite(term, _moved(target, lambda ref: replace(ref, column=event)))]
    if source != target:
        return []  # the first event of a step has no neighbour

    def newest(node: Ref | Reduce) -> Expr:
        assert isinstance(node, Ref), "a term over a whole set waits"
        if node.which is Which.PREVIOUS:
            return replace(node, which=Which.LAST)
        return replace(node, column=event, which=Which.EACH)

    def only(*which: Which) -> Callable[[Ref | Reduce], Expr]:
        return lambda node: newest(node) if isinstance(node, Ref) and node.which in which else node

    variants: list[Callable[[Ref | Reduce], Expr]] = [newest]
    if _names(
        term, target, Which.EACH
    ):  # also every event with the new pair, and every pair with the new event
        variants += [only(Which.CURRENT, Which.PREVIOUS), only(Which.EACH)]
    return [rewrite(term, _moved(target, variant)) for variant in variants]


def _names(term: Expr, column: int, *which: Which) -> bool:
    return any(isinstance(n, Ref) and n.column == column and n.which in which for n in walk(term))


def _moved(column: int, change: Callable[[Ref | Reduce], Expr]) -> Callable[[Expr], Expr | None]:
    return lambda node: change(node) if isinstance(node, Ref | Reduce) and node.column == column else None


def _last_of_sets(sets: Sequence[bool]) -> Callable[[Expr], Expr | None]:
    """A term that holds for every event of a set holds for the last one."""

    def last(node: Expr) -> Expr | None:
        if (
            isinstance(node, Ref)
            and node.which is Which.EACH
            and node.column < len(sets)
            and sets[node.column]
        ):
            return replace(node, which=Which.LAST)
        return None

    return last


# ---- finding events ----------------------------------------------------------------------------------------------


class Candidates:
    """A step's new events, in the order in which one move looks at them: by key, and then by position.

    `asking`: all runs that will look, if they are known; events with none of their keys are left out.
    """

    def __init__(
        self, move: Move, positions: I64, events: Events, asking: Sequence[Rows] | None = None
    ) -> None:
        self._move = move
        self._positions = positions
        self._events = events
        self._whole = move.whole
        codes = np.zeros(len(positions), np.int64)
        self._words: list[tuple[I64, I64]] = []
        self._numbers: GroupNumbers | None = None
        alive = np.ones(len(positions), np.bool_)
        stored = [stored_keys(key, (positions,), len(positions), events) for key in move.keys]
        few = asking is not None and FEW * sum(map(len, asking)) < len(positions)
        if stored and few and asking is not None:
            self._numbers = GroupNumbers([Kind.INT] * len(stored))
            for runs in asking:
                self._numbers.enter(self._probing(runs), len(runs))
            codes = self._numbers.find([Vector(*keys) for keys in stored], len(positions))
            alive, stored = codes >= 0, []
        for values, can in stored:
            alive = alive if can is None else alive & can
            words, numbers = np.unique(values, return_inverse=True)
            pairs = np.arange(len(words))
            if self._words:
                pairs, codes = np.unique(codes * len(words) + numbers, return_inverse=True)
            else:
                codes = numbers
            self._words.append((words, pairs))
        places = codes * len(positions) + np.arange(len(positions))
        self._places = np.sort(places[alive])

    def first_accepted(self, runs: Rows, lo: I64, hi: I64, meter: Meter) -> I64:
        """Per run, the first of the events lo..hi - 1 that the move accepts, as an index of the events; -1: none."""
        n = len(self._positions)
        codes, alive = self._codes(runs)
        start = np.searchsorted(self._places, codes * n + lo)
        stop = np.where(alive, np.searchsorted(self._places, codes * n + hi), start)
        found = np.full(len(runs), -1, np.int64)
        left, size = np.flatnonzero(start < stop), FIRST_SLICE
        # What a pair takes when its terms are judged: the run's columns, for sets a mean one, and as much in between.
        each = 4 * (64 + self._size(runs) // max(len(runs), 1))
        while len(left):
            pairs = meter.share(8 * each, PAIRS, FIRST_SLICE)
            size = min(size, pairs)
            accepted = self._first_in_slice(
                runs, left, start[left], np.minimum(stop[left], start[left] + size), pairs
            )
            found[left] = accepted
            start[left] += size
            left = left[(accepted < 0) & (start[left] < stop[left])]
            size *= GROWTH
        return found

    def _probing(self, runs: Rows) -> list[Vector]:
        return [Vector(*probing_keys(key, runs.columns, len(runs), self._events)) for key in self._move.keys]

    def _size(self, runs: Rows) -> int:
        """Bytes of the runs, sets that are read as a whole written out."""
        sets = [one for c, one in enumerate(runs.columns) if c in self._whole and isinstance(one, Sets)]
        return size_of(runs) + sum(8 * int(one.lengths.sum()) for one in sets)

    def _codes(self, runs: Rows) -> tuple[I64, Bool]:
        """The runs' keys as codes of the events' keys, and which runs have such a key."""
        if self._numbers is not None:
            found = self._numbers.find(self._probing(runs), len(runs))
            return found, found >= 0
        codes, alive = np.zeros(len(runs), np.int64), np.ones(len(runs), np.bool_)
        for key, (words, pairs) in zip(self._move.keys, self._words, strict=True):
            values, can = probing_keys(key, runs.columns, len(runs), self._events)
            numbers, known = look_up(words, values)
            if key is self._move.keys[0]:
                codes, paired = numbers, known
            else:
                codes, paired = look_up(pairs, codes * len(words) + numbers)
            alive &= known & paired if can is None else known & paired & can
        return codes, alive

    def _first_in_slice(self, runs: Rows, index: I64, start: I64, stop: I64, pairs: int) -> I64:
        """For each of the runs at `index`, the first accepted event of one slice, or -1."""
        n = len(self._positions)
        if not self._move.terms:
            return self._places[start] % n
        found = np.full(len(index), -1, np.int64)
        some = max(pairs // int((stop - start).max()), 1)
        for at in range(0, len(index), some):
            part = slice(at, at + some)
            lengths = stop[part] - start[part]
            offsets = np.concatenate([[0], np.cumsum(lengths)])
            events = self._places[spread(start[part], lengths, offsets)] % n
            run = np.repeat(np.arange(len(lengths)), lengths)
            passed = np.flatnonzero(self._passes(runs, index[part][run], events))
            which, first = np.unique(run[passed], return_index=True)
            found[part][which] = events[passed[first]]
        return found

    def _passes(self, runs: Rows, index: I64, events: I64) -> Bool:
        terms = self._move.terms
        needed = frozenset().union(*(columns_of(term) for term in terms))
        none = np.empty(0, np.int64)
        columns: list[Column] = [
            take_column(column, index) if c in needed else none for c, column in enumerate(runs.columns)
        ]
        return holds(terms, (*columns, self._positions[events]), len(index), self._events)
