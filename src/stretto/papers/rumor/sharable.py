"""Streams that may share their events (3.2), as one value for each class of them.

The relation is the least equivalence with: a stream and itself; sources that are labelled so; what equal operators make
of sharable streams; a selection's output and its input. So a stream's class is how it is made, without selections.
"""

from collections.abc import Hashable

from stretto.memo.mops.mplan import MPlan
from stretto.memo.mops.operators import OperatorKind


def sharing_class(plan: MPlan, stream: str) -> Hashable:
    """Equal for streams that are sharable, and for no others."""
    known = plan.shapes()
    stream = plan.one(stream)
    if stream not in known:
        operator = plan.operators.get(stream)
        if operator is None:
            known[stream] = stream
        else:
            below = tuple(sharing_class(plan, name) for name in operator.inputs)
            is_selection = operator.kind is OperatorKind.SIGMA
            known[stream] = below[0] if is_selection else (operator.kind, operator.definition, below)
    return known[stream]


def are_sharable(plan: MPlan, *streams: str) -> bool:
    """Whether all streams are in one class."""
    return len({sharing_class(plan, stream) for stream in streams}) == 1
