"""A window of events of a channel, each of them once: sums and counts for all blocks of streams that it is of."""

import numpy as np

from stretto.engine.derived.asked_aggregates import AskedAggregates
from stretto.engine.derived.block_sums import BlockSums, ClassBlocks, is_dense
from stretto.engine.derived.level_sums import OF_SUMS
from stretto.engine.derived.levels import Function, InputAggregate, Level, RawInputs
from stretto.engine.derived.window_aggregates import WindowAggregates
from stretto.schema import Kind
from stretto.values.evaluate import kind_of
from stretto.values.rows import I64
from stretto.values.vector import DTYPES, Vector


class BlockWindow:
    """Aggregates that are made of sums of integers; the number of its class is one more input of an event."""

    def __init__(self, asked: AskedAggregates) -> None:
        (level,) = asked.levels
        self._aggregates = level.aggregates
        functions: dict[int | None, set[Function]] = {}
        for one in level.aggregates:
            functions.setdefault(one.input, set()).add(one.function)
        self._sums = {of: BlockSums(frozenset(these)) for of, these in functions.items()}
        self._input_kinds = [kind_of(one) for one in asked.inputs]
        self._events = WindowAggregates(
            [kind_of(key) for key in asked.keys],
            [*self._input_kinds, Kind.INT],
            [Level(level.keys, level.window_us, ())],
            further=tuple(self._sums.values()),
        )

    @staticmethod
    def can_make(asked: AskedAggregates) -> bool:
        """Whether all aggregates are made of sums of integers, or counted."""
        kinds = [kind_of(one) for one in asked.inputs]
        return all(
            one.function in OF_SUMS
            and (one.input is None or one.function is Function.COUNT or kinds[one.input] is not Kind.FLOAT)
            for level in asked.levels
            for one in level.aggregates
        )

    @property
    def nbytes(self) -> int:
        return self._events.nbytes

    def divide(self, parts: list[tuple[int, int]], count: int) -> None:
        """Blocks were cut: new ones (and of which they were a part), in order, have had the same events."""
        for sums in self._sums.values():
            sums.divide(parts, count)

    def step(
        self, ts: I64, keys: list[Vector], inputs: list[Vector], classes: I64, known: ClassBlocks
    ) -> tuple[I64, tuple[Vector, ...]] | None:
        """The events that are in a group, and the aggregates of all their blocks, one event behind the other.

        None, and nothing has changed, where most blocks of most groups would have no events.
        """
        if not len(ts):
            return np.zeros(0, np.int64), tuple(map(self._nothing, self._aggregates))
        (found,) = self._events.step(ts, keys, [*inputs, Vector(classes)])
        columns, frame = self._events.inputs, self._events.frame(0)
        (of_events, _) = columns[-1]
        if not is_dense(frame.capacity, known.count, int(known.sizes[of_events].sum())):
            self._events.undo()
            return None
        made: dict[InputAggregate, Vector] = {}
        for of, sums in self._sums.items():
            bits, valid = columns[-1 if of is None else of]
            values = sums.step(frame, of_events, known, bits, valid)
            made |= {InputAggregate(function, of): value for function, value in values.items()}
        return found.events, tuple(made[one] for one in self._aggregates)

    def _nothing(self, aggregate: InputAggregate) -> Vector:
        of = Kind.INT if aggregate.input is None else self._input_kinds[aggregate.input]
        return Vector(np.zeros(0, DTYPES[aggregate.function.kind(of)]))

    def copied(self, known: ClassBlocks) -> RawInputs:
        """The events of the window, once for each block, whose numbers are the last key."""
        whole = self._events.snapshot()
        *inputs, classes = whole.inputs
        rows, blocks = known.listed(classes.data)
        keys = (*(key.take(rows) for key in whole.keys), Vector(blocks))
        return RawInputs(whole.ts[rows], keys, tuple(one.take(rows) for one in inputs))
