"""Table 1, sixth row: `;` of the same streams, with the same definition."""

from collections.abc import Hashable

from stretto.memo.mops.mplan import MOp, MPlan
from stretto.memo.mops.operators import OperatorKind
from stretto.papers.rumor.rules.conditions import same_streams


def s_seq(mop: MOp, plan: MPlan) -> Hashable | None:
    """Equal sequences of the same streams are one; the window and what is reported are checked after it.

    Law: L13. Source: 4.3, Table 1: the merging of prefix states.
    """
    return same_streams(mop, plan, OperatorKind.SEQ)
