"""Table 1, last row: `;` of one definition over a channel."""

from collections.abc import Hashable

from stretto.memo.mops.mplan import MOp, MPlan
from stretto.memo.mops.operators import OperatorKind
from stretto.papers.rumor.rules.conditions import same_definition


def c_seq(mop: MOp, plan: MPlan) -> Hashable | None:
    """Sequences that begin with events of a channel are one; a match is for those that its first event is of.

    Law: L17. Source: 4.4, Table 1.
    """
    return same_definition(mop, plan, OperatorKind.SEQ)
