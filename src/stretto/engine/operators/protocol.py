"""What the engine knows of an operator before any row: the shape of its rows, and the time a step has reached."""

from collections.abc import Sequence
from typing import Protocol

from stretto.engine.memory.limits import Meter, Undo
from stretto.engine.rows.sieve import Sieve
from stretto.pattern.order import NO_ORDER, Order
from stretto.records import dataclass
from stretto.values.evaluate import Events
from stretto.values.rows import Rows


@dataclass(frozen=True, slots=True)
class RowShape:
    """Per column: whether it holds sets, and whether it may be unbound. `single`: a row is one event.

    `order`: which of the single columns that are bound in every row are strictly earlier than which.
    """

    sets: tuple[bool, ...]
    optional: tuple[bool, ...]
    single: bool = False
    order: Order = NO_ORDER

    @property
    def width(self) -> int:
        return len(self.sets)


@dataclass(frozen=True, slots=True)
class Clock:
    """A step: the new events have positions `start`..`end` - 1; every earlier event is strictly earlier in time.

    `since`: no event of this or a later step is before it. `until`: no event of a later step is before it.
    `closing`: there is no later step. `sieve`: of the operator that has its turn, what it need not write.
    """

    events: Events
    start: int
    end: int
    since: int
    until: int
    closing: bool
    meter: Meter
    sieve: Sieve | None = None


class Keeper(Protocol):
    """What is kept for later steps, and knows how to go back to what it was."""

    def mark(self) -> Undo:
        """What undoes the step that follows, complete or not; the same step can then be taken in parts."""
        ...

    @property
    def held(self) -> int:
        """Bytes of rows kept for later steps."""
        ...

    @property
    def looked(self) -> int:
        """Rows kept that were looked at as partners of new ones, all steps together."""
        ...


class Operator(Keeper, Protocol):
    """A running operator: takes its inputs' new rows of one step, gives its own new rows, in no promised order."""

    @property
    def shape(self) -> RowShape: ...

    def step(self, inputs: Sequence[list[Rows]], clock: Clock) -> list[Rows]: ...

    @property
    def waiting(self) -> bool:
        """Whether time alone may let rows out; if not, a step in which no input has rows can be left out."""
        ...


class Bookkeeping:
    """What an operator says of itself, by what it keeps; time alone lets nothing out."""

    _kept: Sequence[Keeper] = ()

    @property
    def held(self) -> int:
        return sum(keeper.held for keeper in self._kept)

    @property
    def looked(self) -> int:
        return sum(keeper.looked for keeper in self._kept)

    @property
    def waiting(self) -> bool:
        return False

    def mark(self) -> Undo:
        undone = [keeper.mark() for keeper in self._kept]

        def undo() -> None:
            for one in undone:
                one()

        return undo
