"""The worked examples of MOTTO: what its rules find, and that the plans chosen cost no more than the paper's."""

from itertools import product
from math import isclose

import pytest
from tests.memo.rule_cases import memo_of, short
from tests.papers.mcep.partial_matches import MottoCost

from stretto.memo.explore import Rules, explore
from stretto.memo.memo import Memo
from stretto.memo.ways import WayKind
from stretto.papers.motto import rules
from stretto.papers.motto.steiner import steiner
from stretto.solve.common.budget import Budget
from stretto.solve.common.solution import Computation, Solution

QUERIES = {
    "q1": "SEQ(E1, E2, E3)",
    "q2": "SEQ(E1, E3)",
    "q3": "SEQ(E1, E2, E4)",
    "q4": "SEQ(E2, E4, E3)",
    "q5": "CONJ(E1 & E3)",
    "q6": "SEQ(E1, E2, E3, E5, E6, E7, E8)",
    "q7": "SEQ(E1, E3, E6, E5, E7, E8)",
    "q8": "SEQ(E1, E2, E3, E5)",
    "q9": "SEQ(E1, E3, E4)",
    "q10": "CONJ(E1 & E2 & E4)",
    "q11": "SEQ(E1, DISJ(E4 | E5), CONJ(E2 & E3))",
    "q12": "SEQ(E1, CONJ(E2 & E3))",
}
EQUAL = {f"E{i}": 4.0 for i in range(1, 9)}
Sources = dict[str, str]


def explored(*names: str, used: Rules = rules.MOTTO) -> Memo:
    memo = memo_of("".join(f"QUERY {name} PATTERN {QUERIES[name]} WITHIN 10 s;" for name in names))
    explore(memo, used)
    return memo


def solved(memo: Memo, rates: dict[str, float] | None = None) -> Solution:
    return steiner(memo, MottoCost(EQUAL if rates is None else rates), Budget(30))


def text(memo: Memo, number: int) -> str:
    return short(memo, number).removesuffix(" within 10s")


def sources(memo: Memo, solution: Solution) -> Sources:
    """For each piece of several slots the piece it is computed from; `scratch` if from single slots."""
    return {
        text(memo, node.piece): next((text(memo, part.piece) for part in _shared(memo, node)), "scratch")
        for node in solution.nodes()
        if len(memo.pieces[node.piece].slots) > 1
    }


def _shared(memo: Memo, node: Computation) -> list[Computation]:
    return [part for part in node.inputs if len(memo.pieces[part.piece].slots) > 1]


def cost_of(memo: Memo, plan: Sources, rates: dict[str, float]) -> float:
    """The cost of a plan that names the source of every query and sub-query in it."""
    pricing = MottoCost(rates)
    numbers = {text(memo, number): number for number in range(len(memo))}
    total = sum(pricing.cost(memo, n, memo.ways[n][0]) for n in memo.needed() if not memo.is_core(n))
    for reader, source in plan.items():
        number = numbers[reader]
        wanted = set() if source == "scratch" else {numbers[source]}
        ways = [
            way
            for way in memo.ways[number]
            if {piece for piece in way.pieces if len(memo.pieces[piece].slots) > 1} == wanted
        ]
        assert ways, f"{reader} cannot be computed from {source}"
        total += min(pricing.cost(memo, number, way) for way in ways)
    return total


def test_example_1() -> None:
    memo = explored("q1", "q2", used=rules.MOTTO_MST)
    assert sources(memo, solved(memo)) == {"SEQ(E1, E2, E3)": "SEQ(E1, E3)", "SEQ(E1, E3)": "scratch"}


def test_example_2() -> None:
    memo = explored("q3", "q4")
    assert sources(memo, solved(memo)) == {
        "SEQ(E1, E2, E4)": "SEQ(E2, E4)",
        "SEQ(E2, E4, E3)": "SEQ(E2, E4)",
        "SEQ(E2, E4)": "scratch",
    }
    nodes = {node.piece: node for node in solved(memo).nodes()}
    q3, q4 = (nodes[number] for number in memo.cores())
    assert _shared(memo, q3)[0] is _shared(memo, q4)[0], "computed once for both"


def test_example_3() -> None:
    memo = explored("q6", "q7")
    found = {text(memo, number) for number in range(len(memo)) if memo.is_core(number)}
    queries = {text(memo, number) for number in memo.cores()}
    interesting = {"SEQ(E1, E3, E5)", "SEQ(E1, E3, E6)", "SEQ(E7, E8)"}
    assert found - queries == interesting | {"SEQ(E1, E3)"}, "the last one is common to the first two"


def test_example_4() -> None:
    """Neither merging alone nor sub-expressions share anything; together they do."""
    for alone in (rules.MOTTO_MST, rules.LCSE):
        memo = explored("q8", "q9", used=alone)
        assert set(sources(memo, solved(memo)).values()) == {"scratch"}
    memo = explored("q8", "q9")
    plan = sources(memo, solved(memo))
    assert plan["SEQ(E1, E2, E3, E5)"] == plan["SEQ(E1, E3, E4)"] == "SEQ(E1, E3)"
    scratch = dict.fromkeys(("SEQ(E1, E2, E3, E5)", "SEQ(E1, E3, E4)"), "scratch")
    assert cost_of(memo, plan, EQUAL) < cost_of(memo, scratch, EQUAL)


def test_example_5() -> None:
    memo = explored("q2", "q5")
    solution = solved(memo)
    assert sources(memo, solution) == {"SEQ(E1, E3)": "AND(E1, E3)", "AND(E1, E3)": "scratch"}
    assert solution.roots[0].way.kind is WayKind.FILTER


def test_example_6() -> None:
    memo = explored("q1", "q10")
    assert sources(memo, solved(memo)) == {
        "SEQ(E1, E2, E3)": "AND(E1, E2)",
        "AND(E1, E2, E4)": "AND(E1, E2)",
        "AND(E1, E2)": "scratch",
    }


def test_example_7_and_table_3() -> None:
    """Both interesting sub-queries are kept: the third iteration's and the sixth's."""
    memo = explored("q11", "q12")
    found = {text(memo, number) for number in range(len(memo)) if memo.is_core(number)}
    assert {"AND(E2, E3)", "SEQ(E1, AND(E2, E3))"} <= found
    plan = sources(memo, solved(memo))
    full = "SEQ(E1, AND(E4, E5), AND(E2, E3))"
    assert plan[full] in ("AND(E2, E3)", "SEQ(E1, AND(E2, E3))")
    assert plan["SEQ(E1, E4, AND(E2, E3))"] == plan["SEQ(E1, E5, AND(E2, E3))"] == "SEQ(E1, AND(E2, E3))"


# ---- Example 8: the workload of Fig. 11 and the plan of Fig. 12 ----------------------------------------------

Q1, Q2, Q3, Q4, Q5 = "SEQ(E1, E2, E3)", "SEQ(E1, E3)", "SEQ(E1, E2, E4)", "SEQ(E2, E4, E3)", "AND(E1, E3)"
QX, QY = "SEQ(E1, E2)", "SEQ(E2, E4)"
ALONE: Sources = dict.fromkeys((Q1, Q2, Q3, Q4, Q5), "scratch")
DESCRIBED: dict[str, Sources] = {
    "the default plan": ALONE,
    "q2 merged into q1": ALONE | {Q1: Q2},
    "q1 and q3 share SEQ(E1, E2)": ALONE | {Q1: QX, Q3: QX, QX: "scratch"},
    "q3 and q4 share SEQ(E2, E4)": ALONE | {Q3: QY, Q4: QY, QY: "scratch"},
    "q2 filtered from q5": ALONE | {Q2: Q5},
    "q2 merged into q1, q3 and q4 share": ALONE | {Q1: Q2, Q3: QY, Q4: QY, QY: "scratch"},
    "all three techniques": ALONE | {Q1: Q2, Q2: Q5, Q3: QY, Q4: QY, QY: "scratch"},
    "q1 and q3 share, q2 filtered": ALONE | {Q1: QX, Q3: QX, QX: "scratch", Q2: Q5},
}
RATES = [dict(zip(("E1", "E2", "E3", "E4"), rates, strict=True)) for rates in product((0.2, 4.0), repeat=4)]


@pytest.mark.parametrize("rates", RATES, ids=lambda rates: "-".join(map(str, rates.values())))
def test_fig_12_no_plan_that_the_paper_describes_is_cheaper(rates: dict[str, float]) -> None:
    memo = explored("q1", "q2", "q3", "q4", "q5")
    solution = solved(memo, rates)
    cost = solution.cost(memo, MottoCost(rates))
    assert isclose(cost, cost_of(memo, sources(memo, solution), rates))
    for name, plan in DESCRIBED.items():
        assert cost <= cost_of(memo, plan, rates) * (1 + 1e-9), name
    assert solution.lower_bound is not None
    assert isclose(solution.lower_bound, cost), "proven"


def test_fig_12_with_equal_rates_every_technique_takes_part() -> None:
    memo = explored("q1", "q2", "q3", "q4", "q5")
    plan = sources(memo, solved(memo))
    assert plan[Q1] in (Q2, Q5), "merged"
    assert plan[Q3] == plan[Q4] == QY, "decomposed"
    assert plan[Q2] == Q5, "transformed"
    assert isclose(cost_of(memo, plan, EQUAL), cost_of(memo, DESCRIBED["all three techniques"], EQUAL))


def test_fig_11_decisions_in_conflict() -> None:
    """q1 has one source: either SEQ(E1, E2), shared with q3, or q2."""
    memo = explored("q1", "q2", "q3")
    rare_2 = solved(memo, EQUAL | {"E2": 0.01})
    assert sources(memo, rare_2)[Q1] in (QX, Q2)
    assert sum(len(_shared(memo, node)) for node in rare_2.nodes() if text(memo, node.piece) == Q1) == 1
