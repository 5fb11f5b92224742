"""A plain cost after MOTTO's section VI: partial matches of joins, filters almost free, from rates alone."""

from collections.abc import Mapping

from stretto.memo.memo import Memo
from stretto.memo.ways import Way, WayKind
from stretto.papers.partial_matches import PaperCost
from stretto.pattern.nodes import Stream
from stretto.pattern.piece import Piece

FILTER = 0.05  # of the matches it reads


class Rates:
    """Rows of a piece from the rates of its types; a term passes a third."""

    def __init__(self, rates: Mapping[str, float]) -> None:
        self.rates = rates

    @property
    def total_rate(self) -> float:
        return sum(self.rates.values())

    def rows(self, piece: Piece) -> float:
        count = len(piece.slots)
        found = count * (piece.window.size / 1e6) ** (count - 1) / 3 ** len(piece.terms)
        for slot in piece.slots:
            if isinstance(slot.source, Stream):
                found *= self.rates.get(slot.source.type, 1.0) / 2 ** len(slot.source.where)
        return found


class MottoCost(PaperCost):
    """Partial matches alive, and little for those that a filter reads."""

    def __init__(self, rates: Mapping[str, float]) -> None:
        super().__init__(Rates(rates))

    def cost(self, memo: Memo, number: int, way: Way) -> float:
        found = super().cost(memo, number, way)
        return FILTER * found if way.kind is WayKind.FILTER else found
