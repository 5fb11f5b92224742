"""Table 1, fifth row: joins of one definition over channels."""

from collections.abc import Hashable

from stretto.memo.mops.mplan import MOp, MPlan
from stretto.memo.mops.operators import OperatorKind
from stretto.papers.rumor.rules.conditions import same_definition


def c_join(mop: MOp, plan: MPlan) -> Hashable | None:
    """Joins of several streams of channels are one join; a pair is of those that both of its events are of.

    Law: L16. Source: 3.3, Table 1: precision sharing.
    """
    return same_definition(mop, plan, OperatorKind.JOIN, both=True)
