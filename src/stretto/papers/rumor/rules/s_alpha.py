"""Table 1, second row: aggregates of one stream by other groups."""

from collections.abc import Hashable

from stretto.memo.mops.mplan import MOp, MPlan
from stretto.memo.mops.operators import OperatorKind
from stretto.papers.rumor.rules.conditions import same_streams


def s_alpha(mop: MOp, plan: MPlan) -> Hashable | None:
    """Aggregates with the same functions over the same stream keep its window once, whatever they group by.

    Law: L11. Source: 2.4, Table 1.
    """
    return same_streams(mop, plan, OperatorKind.ALPHA)
