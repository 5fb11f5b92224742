"""Table 1, fourth row: aggregates of one definition over a channel."""

from collections.abc import Hashable

from stretto.memo.mops.mplan import MOp, MPlan
from stretto.memo.mops.operators import OperatorKind
from stretto.papers.rumor.rules.conditions import same_definition


def c_alpha(mop: MOp, plan: MPlan) -> Hashable | None:
    """Aggregates of several streams of a channel are one pass, in which streams with the same events share groups.

    Law: L15. Source: 3.3, Table 1: shared fragments.
    """
    return same_definition(mop, plan, OperatorKind.ALPHA)
