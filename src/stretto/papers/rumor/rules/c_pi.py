"""Projections of one definition over a channel."""

from collections.abc import Hashable

from stretto.memo.mops.mplan import MOp, MPlan
from stretto.memo.mops.operators import OperatorKind
from stretto.papers.rumor.rules.conditions import same_definition


def c_pi(mop: MOp, plan: MPlan) -> Hashable | None:
    """A projection of several streams of a channel is made once; what the event is a member of stays.

    Law: L14. Source: 3.1.
    """
    return same_definition(mop, plan, OperatorKind.PI)
