"""An operator that runs on several units, each with its share of the rows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from time import thread_time

from stretto.engine.memory.limits import Undo
from stretto.engine.operators.protocol import Clock, Operator, RowShape
from stretto.engine.units.routing import Router
from stretto.engine.units.shared_counts import SharedCounts
from stretto.plan.ops import Join, Op
from stretto.plan.placement.heavy import HeavyEvent
from stretto.plan.placement.placement import Grid
from stretto.records import dataclass
from stretto.values.rows import Rows


@dataclass(slots=True)
class UnitCounts:
    """What one unit of an operator has done: rows that reached it, kept rows looked at, rows made.

    `held`: bytes of rows kept now. `seconds` of a processor, without what routing takes.
    """

    rows_in: int = 0
    candidates: int = 0
    rows_out: int = 0
    held: int = 0
    seconds: float = 0.0


class Divided:
    """As many operators as the grid has units; routers give every pair of rows that may meet to one of them.

    A unit is called in every step, with or without rows: time moves on for all of them.
    """

    def __init__(
        self,
        op: Op,
        inputs: Sequence[RowShape],
        grid: Grid,
        make: Callable[[], Operator],
        *,
        watched: bool = False,
    ) -> None:
        self._routers = [Router(op, side, shape, grid) for side, shape in enumerate(inputs)]
        self._units = [make() for _ in range(grid.units)]
        self._work = [UnitCounts() for _ in self._units]
        shares = watched and isinstance(op, Join) and bool(op.same)
        self.shared = SharedCounts(self._routers) if shares else None

    @property
    def shape(self) -> RowShape:
        return self._units[0].shape

    @property
    def work(self) -> list[UnitCounts]:
        """By unit, so far."""
        for done, unit in zip(self._work, self._units, strict=True):
            done.candidates, done.held = unit.looked, unit.held
        return self._work

    def step(self, inputs: Sequence[list[Rows]], clock: Clock) -> list[Rows]:
        given: list[list[list[Rows]]] = [[[] for _ in inputs] for _ in self._units]
        for side, (router, parts) in enumerate(zip(self._routers, inputs, strict=True)):
            for rows in parts:
                if self.shared is not None and len(rows):
                    self.shared.add(side, rows, clock.events)
                for unit, part in router.parts(rows, clock.events) if len(rows) else ():
                    given[unit][side].append(part)
                    self._work[unit].rows_in += len(part)
        out: list[Rows] = []
        for running, done, own in zip(self._units, self._work, given, strict=True):
            begun = thread_time()
            made = running.step(own, clock)
            done.seconds += thread_time() - begun
            done.rows_out += sum(map(len, made))
            out += made
        return out

    @property
    def waiting(self) -> bool:
        return any(unit.waiting for unit in self._units)

    @property
    def held(self) -> int:
        return sum(unit.held for unit in self._units)

    @property
    def looked(self) -> int:
        return sum(unit.looked for unit in self._units)

    def mark(self) -> Undo:
        undone = [unit.mark() for unit in self._units]
        counted = [(done.rows_in, done.rows_out) for done in self._work]

        def undo() -> None:
            for one in undone:
                one()
            for done, (rows_in, rows_out) in zip(self._work, counted, strict=True):
                done.rows_in, done.rows_out = rows_in, rows_out

        return undo


def divided(operators: Mapping[int, object]) -> Iterator[tuple[int, Divided]]:
    """Those of some running operators that have units."""
    return ((number, one) for number, one in operators.items() if isinstance(one, Divided))


def heavy_events(operators: Mapping[int, object], least: float) -> dict[int, tuple[HeavyEvent, ...]]:
    """Of joins that are watched, the shared events that at least such a share of the rows of an input holds."""
    return {number: one.shared.heavy(least) for number, one in divided(operators) if one.shared is not None}
