"""Table 1, third row: joins of the same two streams with other windows."""

from collections.abc import Hashable

from stretto.memo.mops.mplan import MOp, MPlan
from stretto.memo.mops.operators import OperatorKind
from stretto.papers.rumor.rules.conditions import same_streams


def s_join(mop: MOp, plan: MPlan) -> Hashable | None:
    """Joins with the same predicate are the join with the widest window; narrower ones are checked after it.

    Law: L12. Source: 2.4, Table 1.
    """
    return same_streams(mop, plan, OperatorKind.JOIN)
