"""SELECT LAST: what its loop reads of a step, as arrays; and the questions that it leaves to be judged."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from stretto.engine.kernels.hash_tables import first_with_key, first_with_key_reference
from stretto.engine.kernels.latest import NEVER, NO, NOWHERE, UNKNOWN, YES, follow_latest
from stretto.engine.kernels.when_to_compile import is_due
from stretto.engine.operators.protocol import RowShape
from stretto.engine.rows.join_keys import KeyTerm, probing_keys, split_terms, stored_keys
from stretto.pattern.predicates import Changed, Expr, columns_of
from stretto.plan.ops import Last
from stretto.records import dataclass
from stretto.values.evaluate import Events, holds, kind_of
from stretto.values.hashing import LANES
from stretto.values.rows import I64, Bool, Rows

FEW = 1 << 12
"""Rows for which a hash table would not pay for its compilation."""
WEIGHT = 32
"""An event that is followed without the compiled loop takes so much longer than an element of other loops."""

EVENT = RowShape((False,), (False,), single=True)


@dataclass(frozen=True, slots=True)
class Gate:
    """Where an event is offered: a step, which it takes a partial match to, or a gap, where it ends one.

    The partial match has bound the steps up to `before`. `keys` are terms as comparisons, each with the step that its
    stored side reads; `asked` the others, with the event as the column `event`.
    """

    before: int
    event: int
    keys: tuple[tuple[int, KeyTerm], ...]
    asked: tuple[Expr, ...]

    @classmethod
    def of(cls, before: int, event: int, terms: Sequence[Expr]) -> Self:
        bound = RowShape((False,) * (before + 1), (False,) * (before + 1))
        keys: list[tuple[int, KeyTerm]] = []
        asked: list[Expr] = []
        for term in terms:
            split = split_terms([term.moved(Changed({event: before + 1}))], bound, EVENT, 0, before + 1)
            found = (*split.at_most, *split.equal)
            if found and len(columns_of(found[0].stored)) == 1:
                (column,) = columns_of(found[0].stored)
                key = found[0]
                keys.append((column, KeyTerm(key.op, key.stored.moved({column: 0}), key.probing, key.kind)))
            else:
                asked.append(term)
        return cls(before, event, tuple(keys), tuple(asked))


def gates_of(op: Last) -> tuple[Gate, ...]:
    """The gates of the steps, and then those of the gaps."""
    steps = range(len(op.steps))
    terms = [[term for term in op.terms if max(columns_of(term)) == step] for step in steps]
    return (
        *(Gate.of(step - 1, step, terms[step]) for step in steps),
        *(Gate.of(gap.after, len(steps), gap.terms) for gap in op.gaps),
    )


@dataclass(frozen=True, slots=True)
class NewEvents:
    """New events of one gate in order of position, with the numbers of their keys."""

    positions: I64
    ts: I64
    keys: I64


def keyed(
    same: Sequence[Expr], streams: Sequence[tuple[I64, I64]], standing: Sequence[Rows], events: Events
) -> tuple[list[NewEvents], list[I64], int]:
    """The new events that have a key, by gate, the keys of what stands at each step, and how many keys there are.

    Keys are numbered for this step alone. A null or NaN is no key.
    """
    ends = [rows.columns[-1] for rows in standing]
    parts = [*(positions for positions, _ in streams), *(end for end in ends if isinstance(end, np.ndarray))]
    positions = np.concatenate(parts) if parts else np.empty(0, np.int64)
    cuts = np.cumsum([len(part) for part in parts])[:-1]
    numbers, good, count = _numbered(same, positions, events)
    found = np.split(numbers, cuts)
    new: list[NewEvents] = []
    for (own, ts), keys, kept in zip(streams, found, np.split(good, cuts), strict=False):
        new.append(NewEvents(own, ts, keys) if kept.all() else NewEvents(own[kept], ts[kept], keys[kept]))
    return new, found[len(streams) :], count


def _numbered(same: Sequence[Expr], positions: I64, events: Events) -> tuple[I64, Bool, int]:
    """Numbers for the combinations of values that events have, and which events have one."""
    n = len(positions)
    numbers, good, count = np.zeros(n, np.int64), np.ones(n, np.bool_), 1
    for attribute in same:
        term = KeyTerm("=", attribute, attribute, kind_of(attribute))
        values, alive = stored_keys(term, (positions,), n, events)
        good = good if alive is None else good & alive
        own, distinct = _dense(values)
        numbers, count = (own, distinct) if count == 1 else _dense(numbers * distinct + own)
    return numbers, good, count


def _dense(values: I64) -> tuple[I64, int]:
    """Numbers from 0 on, one for each different value, and how many there are."""
    if not len(values):
        return values, 0
    mixed = LANES[0].mix(values.view(np.uint64))  # different values stay different
    first = first_with_key_reference(mixed) if len(values) < FEW else first_with_key(mixed)
    number = np.cumsum(first == np.arange(len(first))) - 1
    return number[first], int(number[-1]) + 1


class Nodes:
    """The events of a step at the steps of the pattern: those of partial matches that stand, and the new ones."""

    def __init__(
        self, gates: Sequence[Gate], new: Sequence[NewEvents], standing: Sequence[Rows], events: Events
    ) -> None:
        self._gates, self._new, self._events = gates, new, events
        steps = len(standing) + 1
        self.steps = steps
        sizes = [len(rows) for rows in standing]
        self.carried = np.array([sum(sizes[step:]) for step in range(steps)], np.int64)
        totals = [int(self.carried[step]) + len(new[step].positions) for step in range(steps)]
        self.starts = np.concatenate([[0], np.cumsum(totals)])
        parts: list[I64] = []
        for step in range(steps):
            parts += [np.asarray(rows.columns[step]) for rows in standing[step:]]
            parts.append(new[step].positions)
        self.positions = np.concatenate(parts).astype(np.int64, copy=False)
        self.ts = events.values("ts", self.positions).data
        self.parents = np.full(len(self.positions), NOWHERE)
        self._link(standing, sizes)

    def _place(self, step: int, last: int, sizes: Sequence[int]) -> slice:
        """Where the events at a step of what stands at step `last` are."""
        start = int(self.starts[step]) + sum(sizes[step:last])
        return slice(start, start + sizes[last])

    def _link(self, standing: Sequence[Rows], sizes: Sequence[int]) -> None:
        self.ends = [self._place(last, last, sizes) for last in range(len(standing))]
        self.first_ts = self.ts.copy()
        self.first_position = self.positions.copy()
        for last in range(len(standing)):
            first = self._place(0, last, sizes)
            for step in range(1, last + 1):
                below = self._place(step - 1, last, sizes)
                here = self._place(step, last, sizes)
                self.parents[here] = np.arange(below.start, below.stop)
                self.first_ts[here] = self.ts[first]
                self.first_position[here] = self.positions[first]

    def column(self, step: int) -> I64:
        """The positions at a step, old and new."""
        return self.positions[self.starts[step] : self.starts[step + 1]]

    def follow(self, keys: Sequence[I64], count: int, op: Last) -> tuple[I64, I64, int]:
        """The nodes of the last step that complete a match, what stands at each key and step then, and the looks."""
        steps, gates = self.steps, self._gates
        key = np.zeros(len(self.positions), np.int64)
        begun = np.full(count * steps, NOWHERE)
        for step in range(steps):
            key[self.starts[step] + self.carried[step] : self.starts[step + 1]] = self._new[step].keys
        for last, end in enumerate(self.ends):
            begun[keys[last] * steps + last] = np.arange(end.start, end.stop)
        forbidden = self._new[steps:]
        gap_starts = np.cumsum([0, *(len(one.positions) for one in forbidden)])
        gap_columns = tuple(
            np.concatenate([np.empty(0, np.int64), *(getattr(one, name) for one in forbidden)])
            for name in ("positions", "ts", "keys")
        )
        compared = self._compared()
        asks = np.array([bool(gate.asked) for gate in gates])
        rows = len(self.positions) + int(gap_starts[-1]) if asks.any() else 0
        asked, answers = np.full((rows, steps), NOWHERE), np.zeros(rows, np.int8)
        reported = np.empty(len(self._new[steps - 1].positions), np.int64)
        dead = np.empty(len(self.positions), np.int64)
        nodes = (self.positions, self.ts, key, self.parents, self.first_ts, self.first_position, dead)
        after = np.array([gap.after for gap in op.gaps], np.int64)
        looks = len(self.positions) + int(gap_starts[-1])
        compiled: Any = follow_latest
        loop = compiled if is_due(compiled, WEIGHT * looks) else compiled.py_func
        looked = 0
        while True:
            state = begun.copy()
            dead[:] = NEVER
            made, questions, looks = loop(
                self.starts,
                self.carried,
                nodes,
                gap_starts,
                gap_columns,
                after,
                op.window.size,
                op.window.unit == "us",
                *compared,
                asks,
                asked,
                answers,
                state,
                reported,
            )
            looked += looks
            if not questions:
                stands = np.flatnonzero(state != NOWHERE)
                state[stands[dead[state[stands]] != NEVER]] = NOWHERE
                return reported[:made], state.reshape(count, steps), looked
            self._answer(asked, answers, gap_starts)

    def _compared(self) -> tuple[I64, I64, tuple[I64, Bool], tuple[I64, Bool]]:
        """The comparisons of all gates: (step, equality, places of the keys), where each gate's begin, and the keys."""
        table: list[tuple[int, ...]] = []
        starts, events = [0], self._events
        sides: tuple[list[tuple[I64, Bool]], list[tuple[I64, Bool]]] = ([], [])
        for gate, new in zip(self._gates, self._new, strict=True):
            for step, term in gate.keys:
                column = self.column(step)
                table.append((step, int(term.op == "="), *(sum(map(_size, side)) for side in sides)))
                sides[0].append(_with_all(stored_keys(term, (column,), len(column), events), len(column)))
                n = len(new.positions)
                sides[1].append(_with_all(probing_keys(term, (new.positions,), n, events), n))
            starts.append(len(table))
        stored, probing = (_joined(side) for side in sides)
        terms = np.array(table, np.int64).reshape(-1, 4)
        return terms, np.array(starts), stored, probing

    def _answer(self, asked: I64, answers: npt.NDArray[np.int8], gap_starts: I64) -> None:
        """Judge what the loop could not: each event with the partial match that it was offered to."""
        for number, gate in enumerate(self._gates):
            if not gate.asked:
                continue
            if number < self.steps:
                low, high = int(self.starts[number] + self.carried[number]), int(self.starts[number + 1])
            else:
                gap = number - self.steps
                low, high = (int(gap_starts[gap + k]) + int(self.starts[-1]) for k in range(2))
            open_ = np.flatnonzero((answers[low:high] == UNKNOWN) & (asked[low:high, 0] != NOWHERE))
            if not len(open_):
                continue
            none = np.empty(0, np.int64)
            columns = [none] * (self.steps + 1)
            for step in range(gate.before + 1):
                columns[step] = self.positions[asked[low + open_, step]]
            columns[gate.event] = self._new[number].positions[open_]
            passed = holds(gate.asked, columns, len(open_), self._events)
            answers[low + open_] = np.where(passed, YES, NO)

    def rows(self, nodes: I64, step: int) -> Rows:
        """The partial matches that end in some nodes of a step."""
        columns: list[I64] = []
        at = nodes
        for _ in range(step + 1):
            columns.append(self.positions[at])
            at = self.parents[at]
        return Rows(self.first_ts[nodes], self.ts[nodes], tuple(reversed(columns)))


def _with_all(found: tuple[I64, Bool | None], n: int) -> tuple[I64, Bool]:
    keys, alive = found
    return keys, np.ones(n, np.bool_) if alive is None else alive


def _size(side: tuple[I64, Bool]) -> int:
    return len(side[0])


def _joined(sides: Sequence[tuple[I64, Bool]]) -> tuple[I64, Bool]:
    keys = np.concatenate([np.empty(0, np.int64), *(keys for keys, _ in sides)])
    return keys, np.concatenate([np.empty(0, np.bool_), *(alive for _, alive in sides)])
