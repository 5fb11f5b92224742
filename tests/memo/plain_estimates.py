"""Poisson estimates from rates and selectivities that a test gives: no sample, no correlation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import factorial

from stretto.memo.memo import Memo, build_memo
from stretto.pattern.canonical.pieces import closed_terms
from stretto.pattern.comparisons import equality
from stretto.pattern.nodes import Stream
from stretto.pattern.piece import Piece
from stretto.pattern.predicates import Expr
from stretto.pattern.workload import Workload
from stretto.schema import Kind, Schema

SCHEMA = Schema({"x": Kind.FLOAT, "k": Kind.INT})


@dataclass(frozen=True)
class PlainEstimates:
    """k * W^(k-1) * rates * selectivities * the share of orders; half of all rows survive a negation."""

    rates: Mapping[str, float]
    equal: float = 0.1
    other: float = 0.5
    total_rate: float = 100.0
    texts: tuple[str, ...] = ()

    def rows(self, piece: Piece) -> float:
        rows, count = 1.0, len(piece.slots)
        for slot in piece.slots:
            rows *= self._slot(slot.source, slot.high)
        if count > 1:
            rows *= count * self._seconds(piece) ** (count - 1) * _share(piece)
            rows *= self.equal ** (len(piece.same) * (count - 1))
        for term in piece.terms:
            rows *= self._selectivity(term)
        return rows * 0.5 ** len(piece.negations)

    def selectivity_of_equalities(self, piece: Piece, left: Sequence[int], right: Sequence[int]) -> float:
        sides = [sides for term in closed_terms(piece) if (sides := equality(term))]
        across = any({a.column, b.column} & {*left} and {a.column, b.column} & {*right} for a, b in sides)
        return self.equal ** (len(piece.same) + across)

    def is_text(self, attribute: str) -> bool:
        return attribute in self.texts

    def crowding(self, piece: Piece, left: Sequence[int], right: Sequence[int]) -> float:
        del piece, left, right
        return 1.0

    def _slot(self, source: object, high: int | None) -> float:
        if not isinstance(source, Stream):
            return sum(self.rows(branch.piece) for branch in source.branches)
        rate = self.rates.get(source.type, 1.0)
        for term in source.where:
            rate *= self._selectivity(term)
        return rate if high == 1 else 3 * rate

    def _selectivity(self, term: Expr) -> float:
        return self.equal if equality(term) else self.other

    def _seconds(self, piece: Piece) -> float:
        return piece.window.size / 1e6 if piece.window.unit == "us" else piece.window.size / self.total_rate


def _share(piece: Piece) -> float:
    count = len(piece.slots)
    allowed = sum(all(p.index(i) < p.index(j) for i, j in piece.order) for p in permutations(range(count)))
    return allowed / factorial(count)


def memo_of(text: str) -> Memo:
    """The memo of a workload before any rule."""
    return build_memo(Workload.parse(text).bind(SCHEMA).normal_forms())
