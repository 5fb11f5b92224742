"""Patterns in short words, with the rates of their types: what MCEP's figures show."""

from collections.abc import Mapping
from random import Random

from tests.memo.plain_estimates import PlainEstimates, memo_of

from stretto.memo.memo import Memo
from stretto.memo.ways import Way
from stretto.papers.mcep.local_search import Patterns, Planner
from stretto.papers.mcep.multi_pattern_graph import MultiPatternGraph
from stretto.papers.mcep.sub_patterns import CoreParts
from stretto.papers.mcep.trees import Trees
from stretto.papers.partial_matches import PaperCost
from stretto.pattern.nodes import Stream
from stretto.pattern.piece import Piece
from stretto.solve.common.budget import Budget
from stretto.solve.common.solution import Computation, Solution

FOREVER = 1e9


def memo_of_patterns(*patterns: str, within: int | list[int] = 10) -> Memo:
    """`SEQ(A a, B b)`, with WHERE if it has one; all within so many seconds, or each within its own."""
    windows = within if isinstance(within, list) else [within] * len(patterns)
    return memo_of(
        "\n".join(
            f"QUERY q{i} PATTERN {pattern} WITHIN {window} SECONDS;"
            for i, (pattern, window) in enumerate(zip(patterns, windows, strict=True))
        )
    )


def seq(types: str) -> str:
    """`SEQ(A a, B b)` for "AB"."""
    return f"SEQ({', '.join(f'{name} {name.lower()}' for name in types)})"


def conj(types: str) -> str:
    return seq(types).replace("SEQ", "AND")


class AnyOrder(PlainEstimates):
    """Estimates that leave the order out, as MCEP's cost does; so pieces may have many slots."""

    def rows(self, piece: Piece) -> float:
        rows, count = 0.5 ** len(piece.negations), len(piece.slots)
        for slot in piece.slots:
            rows *= self._slot(slot.source, slot.high)
        for term in piece.terms:
            rows *= self._selectivity(term)
        return rows * count * self._seconds(piece) ** (count - 1)


def paper_cost(rates: Mapping[str, float]) -> PaperCost:
    return PaperCost(AnyOrder(rates))


class FromInputs:
    """A cost that depends on what a join reads, so that another window or side of an input is another price."""

    def __init__(self, rates: Mapping[str, float]) -> None:
        self._paper = paper_cost(rates)

    def rows(self, memo: Memo, number: int) -> float:
        return self._paper.rows(memo, number)

    def cost(self, memo: Memo, number: int, way: Way) -> float:
        read = [self._paper.alive(memo, piece) for piece in way.pieces]
        return self._paper.cost(memo, number, way) + sum(read) + 0.1 * sum(read[:1])


class Whims:
    """A cost without any system: another number for every piece and what it is made of."""

    def rows(self, memo: Memo, number: int) -> float:
        return 1.0

    def cost(self, memo: Memo, number: int, way: Way) -> float:
        return Random(
            f"{letters(memo, number)} {sorted(letters(memo, piece) for piece in way.pieces)}"
        ).random()


def patterns_of(memo: Memo, rates: Mapping[str, float], planner: Planner | None = None) -> Patterns:
    chosen = () if planner is None else (planner,)
    return Patterns(memo, paper_cost(rates), Budget(FOREVER), *chosen)


def core_of_query(memo: Memo, query: int) -> int:
    """The core of the query `q0`, `q1`, ..."""
    number = memo.roots[query].piece
    return number if memo.is_core(number) else memo.ways[number][0].inputs[0].piece


def common_parts(graph: MultiPatternGraph, one: int, other: int) -> list[int]:
    """The maximal common sub-patterns of two patterns: those that are in no larger one."""
    both = [shape for shape in graph.vicinity(one) if other in graph.patterns(shape)]

    def inside(small: int, large: int) -> bool:
        places = graph.masks(one, small), graph.masks(one, large)
        return any(a != b and a & b == a for a in places[0] for b in places[1])

    return [shape for shape in both if not any(inside(shape, larger) for larger in both)]


def letters(memo: Memo, piece: int) -> str:
    """The types of a piece's slots, in their order."""
    return "".join(slot.source.type for slot in memo.pieces[piece].slots if isinstance(slot.source, Stream))


def shape_letters(trees: Trees, shape: int) -> str:
    form = trees.shapes.forms[shape]
    return "".join(slot.source.type for slot in form.slots if isinstance(slot.source, Stream))


def slots_of(parts: CoreParts, memo: Memo, types: str) -> list[int]:
    """The slots of a core that bind these types, in the order given."""
    own = letters(memo, parts.number)
    return [own.index(name) for name in types]


def mask_of(parts: CoreParts, memo: Memo, types: str) -> int:
    return sum(1 << slot for slot in slots_of(parts, memo, types))


def joins(memo: Memo, solution: Solution) -> list[str]:
    """The types of every join that a solution computes, sorted."""
    return sorted(letters(memo, node.piece) for node in solution.nodes() if node.way.kind == "join")


def core_nodes(memo: Memo, solution: Solution) -> list[Computation]:
    return [node for node in solution.nodes() if memo.is_core(node.piece)]


def random_patterns(
    seed: int, count: int = 8, windows: tuple[int, ...] = (10,), types: str = "ABCDEF"
) -> Memo:
    """Sequences and conjunctions of 2 to 5 types, some types twice, some with terms, negations or repetitions."""
    random = Random(seed)
    found = []
    for _ in range(count):
        chosen = random.choices(types, k=random.randint(2, 5))
        slots = [f"{name} v{i}" for i, name in enumerate(chosen)]
        if random.random() < 0.2:
            slots[-1] += "+"
        if random.random() < 0.2:
            slots.insert(1, "NOT(N n)")
        word = random.choice(["SEQ", "SEQ", "AND"])
        if word == "AND":
            slots = [slot for slot in slots if not slot.startswith("NOT")]
        one, other = sorted(random.sample(range(len(chosen)), 2))
        where = random.choice(
            ["", f" WHERE v{one}.x < v{other}.x", f" WHERE v{one}.k = v{other}.k", " WHERE v0.x > 5"]
        )
        found.append(f"{word}({', '.join(slots)}){where}")
    return memo_of_patterns(*found, within=[random.choice(windows) for _ in found])


RATES = dict(zip("ABCDEFN", (1.0, 0.3, 2.0, 0.1, 0.7, 1.3, 0.2), strict=True))
