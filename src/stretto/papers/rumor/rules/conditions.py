"""What the conditions of rules are made of."""

from collections.abc import Hashable

from stretto.memo.mops.mplan import MOp, MPlan
from stretto.memo.mops.operators import OperatorKind, StreamOperator


def same_streams(mop: MOp, plan: MPlan, kind: OperatorKind) -> Hashable | None:
    """Operators of a kind that are alike and read the same streams."""
    (operator, *_) = mop.operators
    if operator.kind is not kind:
        return None
    inputs = {plan.inputs(one) for one in mop.operators}
    return (plan.inputs(operator), operator.alike) if len(inputs) == 1 else None


def same_definition(mop: MOp, plan: MPlan, kind: OperatorKind, *, both: bool = False) -> Hashable | None:
    """Operators of one definition with first inputs in one channel; the others are the same, or (`both`) in one too."""
    (operator, *_) = mop.operators
    if operator.kind is not kind or len({one.definition for one in mop.operators}) > 1:
        return None
    read = {_through(plan, one, both=both) for one in mop.operators}
    return (operator.definition, *read) if len(read) == 1 and None not in read else None


def _through(plan: MPlan, operator: StreamOperator, *, both: bool) -> Hashable | None:
    """The channels and streams that an operator reads; None where the first is no channel."""
    first, *others = plan.inputs(operator)
    channel = plan.channel(first)
    if channel is None:
        return None
    read: list[str] = [channel.name]
    for name in others:
        second = plan.channel(name) if both else None
        # A pair is of the members that both events are of, so what is joined stands at the same place in both.
        if second is not None and second.streams.index(name) != channel.streams.index(first):
            return None
        read.append(name if second is None else second.name)
    return tuple(read)
