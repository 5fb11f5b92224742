"""Workloads like MCEP's, and a plain cost model over drawn statistics: problems that solvers are tried on."""

from dataclasses import dataclass, field
from itertools import combinations
from math import factorial
from random import Random

from stretto.memo.explore import Rules, explore
from stretto.memo.memo import Memo, build_memo
from stretto.memo.rules.split_in_two import split_in_two
from stretto.memo.ways import Way, WayKind
from stretto.pattern.piece import Piece
from stretto.pattern.predicates import Expr, columns_of
from stretto.pattern.workload import Workload
from stretto.schema import Kind as ValueKind
from stretto.schema import Schema
from stretto.solve.common.problem import Problem

SCAN_NS, PAIR_NS, ROW_NS = 20.0, 4.0, 25.0


@dataclass(frozen=True, slots=True)
class Shape:
    """How a workload is drawn: so many patterns of `length` different types out of `types`.

    `dense`: types come in one order and pairs of them have their one term in every pattern or in none, so that
    patterns over the same types have the same parts.
    """

    patterns: int
    types: int
    length: int = 5
    window_s: float = 1.0
    conjunctions: float = 0.2
    dense: bool = False
    seed: int = 0


OUTPUT_DOMINATES = Shape(100, 30, window_s=4.0)
SHARING_DOMINATES = Shape(100, 12, window_s=0.1)


def workload_text(shape: Shape) -> str:
    """SEQ and AND patterns of different types with half as many terms as types."""
    random = Random(shape.seed)
    return "\n".join(_query(i, shape, random) for i in range(shape.patterns))


def _query(number: int, shape: Shape, random: Random) -> str:
    types = random.sample(range(shape.types), shape.length)
    operator = "AND" if random.random() < shape.conjunctions else "SEQ"
    pairs = list(combinations(sorted(types), 2))
    if shape.dense:
        types.sort()
        pairs = [pair for pair in pairs if sum(pair) % 5 == 0]
    else:
        pairs = random.sample(pairs, shape.length // 2)
    pattern = ", ".join(f"T{t} v{t}" for t in types)
    terms = [f"v{a}.x < v{b}.x" for a, b in pairs]
    where = f"WHERE {' AND '.join(terms)} " if terms else ""
    return f"QUERY q{number} PATTERN {operator}({pattern}) {where}WITHIN {round(shape.window_s * 1e6)} us;"


def memo_of(shape: Shape) -> Memo:
    schema = Schema({"x": ValueKind.INT}, frozenset(f"T{t}" for t in range(shape.types)))
    detections = Workload.parse(workload_text(shape)).bind(schema).normal_forms()
    memo = build_memo(detections)
    explore(memo, Rules((split_in_two,)))
    return memo


@dataclass(frozen=True, slots=True)
class DrawnPricing:
    """Rates log-uniform in 2..47 per second, selectivities drawn per pair of types."""

    seed: int = 0
    _rows: dict[int, float] = field(default_factory=dict)

    def rows(self, memo: Memo, number: int) -> float:
        known = self._rows.get(number)
        if known is None:
            known = self._rows[number] = self._estimated(memo.pieces[number])
        return known

    def cost(self, memo: Memo, number: int, way: Way) -> float:
        out = self.rows(memo, number) * ROW_NS
        if way.kind is WayKind.SCAN:
            return self.rows(memo, number) * SCAN_NS
        window_s = memo.pieces[number].window.size / 1e6
        total = out
        left = self.rows(memo, way.inputs[0].piece)
        for part in way.inputs[1:]:
            right = self.rows(memo, part.piece)
            total += (left + right) * SCAN_NS + left * right * 2 * window_s * PAIR_NS
        return total

    def _estimated(self, piece: Piece) -> float:
        count = len(piece.slots)
        window_s = piece.window.size / 1e6
        found = count * window_s ** (count - 1)
        for slot in piece.slots:
            found *= self._rate(slot.source.type)
        if piece.order:
            found /= factorial(count)
        for term in piece.terms:
            found *= self._selectivity(piece, term)
        return found

    def _rate(self, name: str) -> float:
        return 2.0 * 23.5 ** Random(f"{self.seed} {name}").random()

    def _selectivity(self, piece: Piece, term: Expr) -> float:
        names = sorted(piece.slots[column].source.type for column in columns_of(term))
        return 0.02 + 0.6 * Random(f"{self.seed} {names}").random()


def problem_of(shape: Shape) -> Problem:
    return Problem.of(memo_of(shape), DrawnPricing(shape.seed))
