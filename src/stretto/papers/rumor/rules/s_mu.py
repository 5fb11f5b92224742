"""Table 1, sixth row: mu of the same streams, with the same definition."""

from collections.abc import Hashable

from stretto.memo.mops.mplan import MOp, MPlan
from stretto.memo.mops.operators import OperatorKind
from stretto.papers.rumor.rules.conditions import same_streams


def s_mu(mop: MOp, plan: MPlan) -> Hashable | None:
    """Equal iterations over the same streams are one; the window and what is reported are checked after it.

    Law: L13. Source: 4.3, Table 1: the merging of prefix states.
    """
    return same_streams(mop, plan, OperatorKind.MU)
