"""What a solver asks of a cost model."""

from typing import Protocol

from stretto.memo.memo import WIDE, Memo
from stretto.memo.ways import Way

DEAREST = 1e120
"""What a way costs whose cost cannot be told: it is the last to be taken."""
MOST_INPUTS = WIDE
"""Inputs of one join that are looked at one by one."""


class Pricing(Protocol):
    """Costs of single operations; the cost of a plan is the sum over its operations, shared ones counted once."""

    def rows(self, memo: Memo, number: int) -> float:
        """Rows per second of a piece, estimated."""
        ...

    def cost(self, memo: Memo, number: int, way: Way) -> float:
        """The cost of computing piece `number` this way, its inputs given; per second of the stream."""
        ...
