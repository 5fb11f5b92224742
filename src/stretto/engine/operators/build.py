"""From a plan's operators to running ones."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from stretto.engine.operators.emit import EmitOperator
from stretto.engine.operators.forbid import ForbidOperator
from stretto.engine.operators.join import JoinOperator
from stretto.engine.operators.last import LastOperator
from stretto.engine.operators.next import NextOperator
from stretto.engine.operators.paired_next import PairedNextOperator
from stretto.engine.operators.protocol import Operator, RowShape
from stretto.engine.operators.repeat import RepeatOperator
from stretto.engine.operators.repeat_agreeing import AgreeingRepeatOperator
from stretto.engine.operators.stateless import FilterOperator, UnionOperator
from stretto.engine.rows.next_moves import EVENT
from stretto.engine.units.divided import Divided
from stretto.plan.ops import Emit, Filter, Forbid, Join, Last, Next, Op, PairedNext, Repeat, Scan, Union
from stretto.plan.placement.placement import DIVISIBLE, Placement

# Every running operator is made from its part of the plan and the shapes of its inputs.
_OPERATORS: dict[type[Op], Callable[[Any, Sequence[RowShape]], Any]] = {
    Filter: FilterOperator,
    Repeat: RepeatOperator,
    Forbid: ForbidOperator,
    Next: NextOperator,
    PairedNext: PairedNextOperator,
    Last: LastOperator,
    Union: UnionOperator,
    Emit: EmitOperator,
}


def build(ops: Sequence[Op], placement: Placement | None = None) -> dict[int, Operator | EmitOperator]:
    """A running operator for each one of the plan, by number, inputs first; scans are the index's work.

    With a placement every operator runs on the units that it has there.
    """
    shapes: list[RowShape] = []
    last = only_emitted(ops)
    running: dict[int, Operator | EmitOperator] = {}
    for number, op in enumerate(ops):
        if isinstance(op, Scan):
            shapes.append(EVENT)
            continue
        inputs = [shapes[k] for k in op.inputs]
        make = maker(op, inputs, last=number in last)
        if placement is not None and isinstance(op, DIVISIBLE):
            running[number] = Divided(op, inputs, placement.grids[number], make, watched=placement.watched)
        else:
            running[number] = make()
        shapes.append(running[number].shape)
    return running


def maker(op: Op, inputs: Sequence[RowShape], *, last: bool) -> Callable[[], Any]:
    """What makes a running operator, over rows of these shapes; `last`: its own are read by emits alone."""
    if isinstance(op, Join):
        return partial(JoinOperator, op, inputs, last=last)
    if isinstance(op, Repeat) and op.agreeing:
        return partial(AgreeingRepeatOperator, op, inputs)
    return partial(_OPERATORS[type(op)], op, inputs)


def only_emitted(ops: Sequence[Op]) -> frozenset[int]:
    """The operators whose rows become matches as they are, and are read by nothing else."""
    emitted = {k for op in ops if isinstance(op, Emit) and not op.distinct for k in op.parts}
    others = {k for op in ops if not isinstance(op, Emit) or op.distinct for k in op.inputs}
    return frozenset(emitted - others)
