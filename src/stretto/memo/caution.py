"""The same costs for a doubter: pieces that are weaker than what any query asks may have more rows than estimated.

A weaker piece that several queries share is made before their own terms have thinned it, and of tuples that no query
wants the sample tells the least. So a plan with it should pay also if there are some times as many rows.
"""

from typing import Final

from stretto.memo.cost import CostModel
from stretto.memo.memo import Memo
from stretto.memo.rules.join_wider import join_wider
from stretto.memo.rules.meet import meet
from stretto.memo.rules.relax_terms import relax_terms

UNDERESTIMATED: Final = 3.0
"""So many times the rows of a weaker piece are reckoned with."""
WEAKER: Final = frozenset(rule.__name__ for rule in (meet, relax_terms, join_wider))
"""The rules whose ways read such pieces."""


class CautiousModel(CostModel):
    """The cost model with `UNDERESTIMATED` times the rows of weaker pieces."""

    def _forget(self, memo: Memo | None) -> None:
        super()._forget(memo)
        self._weaker = frozenset[int]() if memo is None else weaker_pieces(memo)

    def rows(self, memo: Memo, number: int) -> float:
        """Rows per second of a piece, estimated; of a weaker one more than that."""
        if memo is not self._memo:
            self._forget(memo)
        found = self._rows.get(number)
        if found is None:
            times = UNDERESTIMATED if number in self._weaker else 1.0
            found = self._rows[number] = times * self.estimator.rows(memo.pieces[number])
        return found


def weaker_pieces(memo: Memo) -> frozenset[int]:
    """The pieces that are read by ways of the `WEAKER` rules alone, and that no query asks for."""
    own = {root.piece for root in memo.roots}
    weaker: set[int] = set()
    for ways in memo.ways:
        for way in ways:
            (weaker if way.rule in WEAKER else own).update(way.pieces)
    return frozenset(weaker - own)
