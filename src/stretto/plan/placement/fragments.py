"""Fragments: a plan cut where its rows are routed, so that units can run its parts apart from each other.

The first fragment takes events in: scans, and what looks at their rows one by one. Every operator that brings rows
together, or must see all of them, begins a fragment of its own, with what looks at its rows one by one behind it. Rows
cross from one fragment to another and nowhere else.
"""

from collections.abc import Sequence

from stretto.errors import StrettoError
from stretto.pattern.predicates import Reduce, Ref, walk
from stretto.plan.dag import Plan, expressions, is_special
from stretto.plan.ops import Emit, Filter, Op, Scan, Union
from stretto.plan.placement.placement import ALONE, Grid
from stretto.plan.placement.refusals import why_no_units
from stretto.plan.spread.partition_keys import why_thinned
from stretto.records import dataclass


@dataclass(frozen=True, slots=True)
class Fragment:
    """`head`: the operator whose inputs are routed to the units of the grid; None: scans, which take events.

    `ops`: all of its operators, inputs first. `stage`: after those of all fragments that it reads. `attributes`: what
    it, and all that reads its rows, look at in events.
    """

    number: int
    head: int | None
    ops: tuple[int, ...]
    stage: int
    grid: Grid
    attributes: frozenset[str]


def fragments(plan: Plan) -> tuple[Fragment, ...]:
    """The fragments of a plan, inputs first; StrettoError where units would change the results."""
    reason = why_no_units(plan) or why_thinned(plan)
    if reason is not None:
        raise StrettoError(f"cannot run on units: {reason}")
    heads: list[int | None] = [None, *(n for n, op in enumerate(plan.ops) if is_head(op))]
    within: list[list[int]] = [_within(plan.ops, head) for head in heads]
    stages: list[int] = []
    for head in heads:
        read = () if head is None else plan.ops[head].inputs
        stages.append(
            1 + max((stages[i] for i, own in enumerate(within) if set(read) & set(own)), default=-1)
        )
    grids = (ALONE,) * len(plan.ops) if plan.placement is None else plan.placement.grids
    return tuple(
        Fragment(
            number, head, tuple(own), stage, ALONE if head is None else grids[head], _attributes(plan, own)
        )
        for number, (head, own, stage) in enumerate(zip(heads, within, stages, strict=True))
    )


def is_head(op: Op) -> bool:
    """Whether an operator brings rows together; the others look at rows one by one."""
    if isinstance(op, Union | Emit):
        return op.distinct
    return not isinstance(op, Scan | Filter)


def _within(ops: Sequence[Op], head: int | None) -> list[int]:
    """A head, or all scans, with what looks at their rows one by one; a union is with each of its parts."""
    found = [n for n, op in enumerate(ops) if isinstance(op, Scan)] if head is None else [head]
    for number, op in enumerate(ops):
        if number not in found and not is_head(op) and set(op.inputs) & set(found):
            found.append(number)
    return sorted(found)


def _attributes(plan: Plan, own: Sequence[int]) -> frozenset[str]:
    """The attributes that some operators, and all that read them, look at; times are with every event."""
    after = set(own)
    for number, op in enumerate(plan.ops):
        if after & set(op.inputs):
            after.add(number)
    nodes = (node for n in after for term in expressions(plan.ops[n]) for node in walk(term))
    names = {node.attribute for node in nodes if isinstance(node, Ref | Reduce) and node.attribute}
    return frozenset(name for name in names if not is_special(name))
