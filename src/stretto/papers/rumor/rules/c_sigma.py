"""Selections of one definition over a channel."""

from collections.abc import Hashable

from stretto.memo.mops.mplan import MOp, MPlan
from stretto.memo.mops.operators import OperatorKind
from stretto.papers.rumor.rules.conditions import same_definition


def c_sigma(mop: MOp, plan: MPlan) -> Hashable | None:
    """A selection of several streams of a channel is judged once for an event, whichever streams it is of.

    Law: L14. Source: 3.3; Example 4.
    """
    return same_definition(mop, plan, OperatorKind.SIGMA)
