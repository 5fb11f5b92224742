"""Table 1, first row: selections on one stream."""

from collections.abc import Hashable

from stretto.memo.mops.mplan import MOp, MPlan
from stretto.memo.mops.operators import OperatorKind
from stretto.papers.rumor.rules.conditions import same_streams


def s_sigma(mop: MOp, plan: MPlan) -> Hashable | None:
    """Selections that read the same stream are one predicate index.

    Law: L10. Source: 2.4, Table 1; above `;` and mu it is Cayuga's FR index (4.3).
    """
    return same_streams(mop, plan, OperatorKind.SIGMA)
