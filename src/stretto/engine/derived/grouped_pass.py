"""All aggregates over one grouping and one window: what they have in common is computed once."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from stretto.engine.derived.exact_sums import Deviations, ExactDeviations, LongAccumulators
from stretto.engine.derived.extremes import SlidingCounts, SlidingExtremes
from stretto.engine.derived.frames import Frame
from stretto.engine.derived.levels import Function, InputAggregate
from stretto.schema import Kind
from stretto.values.rows import I64, Bool
from stretto.values.vector import Vector

SUMMED = frozenset([Function.SUM, Function.AVG])
EXTREMES = (Function.MIN, Function.MAX)

Input = tuple[I64, Bool]
"""An input of all events in the window: integers or the bits of doubles, and where it is not null."""
Links = tuple[I64, I64]


class GroupedPass:
    """`aggregates`: what is asked for; `kinds`: of the inputs."""

    def __init__(self, aggregates: Iterable[InputAggregate], kinds: Sequence[Kind]) -> None:
        self._aggregates = tuple(dict.fromkeys(aggregates))
        functions: dict[int | None, set[Function]] = {}
        for aggregate in self._aggregates:
            functions.setdefault(aggregate.input, set()).add(aggregate.function)
        self._doubles = {of: of is not None and kinds[of] is Kind.FLOAT for of in functions}
        self.summed = {of: asked for of, asked in functions.items() if of is not None and asked & SUMMED}
        """Inputs whose sums are asked for, with all that is asked of them."""
        self._deviations = {
            of: ExactDeviations(doubles=self._doubles[of])
            for of, asked in functions.items()
            if of is not None and Function.STDDEV in asked
        }
        self._counts = {
            of: SlidingCounts()
            for of, asked in functions.items()
            if Function.COUNT in asked and of not in self.summed and of not in self._deviations
        }
        self._extremes = {
            (of, function): SlidingExtremes(doubles=self._doubles[of], highest=function is Function.MAX)
            for of, asked in functions.items()
            for function in EXTREMES
            if of is not None and function in asked
        }

        self.has_more = any(True for _ in self._states())
        """Whether anything is asked for that is not made of sums."""

    @property
    def links(self) -> int:
        """How many pairs of columns of the window are to be given to `step`."""
        return len(self._extremes)

    @property
    def nbytes(self) -> int:
        return sum(state.nbytes for state in self._states())

    def reset(self) -> None:
        """Forget everything; the next step begins with what the window holds."""
        for state in self._states():
            state.reset()

    def dropped(self, count: int) -> None:
        """So many events have gone from the front of the window; all of them had left."""
        for state in self._states():
            state.dropped(count)

    def step(
        self, frame: Frame, inputs: Sequence[Input], links: Sequence[Links]
    ) -> Mapping[InputAggregate, Vector]:
        """The aggregates of every row of a frame, but for those that are made of sums."""
        found: dict[InputAggregate, Vector] = {}
        for of, counting in self._counts.items():
            counts = counting.step(frame, None if of is None else inputs[of][1])
            found[InputAggregate(Function.COUNT, of)] = Vector(counts)
        for of, deviating in self._deviations.items():
            found |= _from_deviations(of, deviating.step(frame, *inputs[of]))
        for ((of, function), deques), own in zip(self._extremes.items(), links, strict=True):
            extremes = deques.step(frame, *inputs[of], own)
            data = extremes.bits
            if self._doubles[of]:
                data = np.where(extremes.nans > 0, np.nan, data.view(np.float64))
            found[InputAggregate(function, of)] = Vector(data, _some(extremes.counts > 0))
        return found

    def _states(self) -> Iterator[LongAccumulators | SlidingCounts | SlidingExtremes]:
        yield from self._deviations.values()
        yield from self._counts.values()
        yield from self._extremes.values()


def _from_deviations(of: int, found: Deviations) -> dict[InputAggregate, Vector]:
    return {
        InputAggregate(Function.COUNT, of): Vector(found.counts),
        InputAggregate(Function.STDDEV, of): Vector(found.deviations, _some(found.counts > 1)),
    }


def _some(valid: Bool) -> Bool | None:
    return None if valid.all() else valid
