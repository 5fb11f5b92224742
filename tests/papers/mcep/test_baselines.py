import pytest
from tests.papers.mcep.patterns import (
    RATES,
    core_nodes,
    joins,
    letters,
    memo_of_patterns,
    paper_cost,
    random_patterns,
    seq,
)

from stretto.memo.memo import Memo
from stretto.papers.mcep.baselines import reorder, share
from stretto.papers.mcep.spass import spass
from stretto.solve.common.budget import Budget
from stretto.solve.common.solution import Computation, Solution
from stretto.solve.quick.as_written import none

FOREVER = Budget(1e9)
BASELINES = [none, reorder, share, spass]


def steps(memo: Memo, node: Computation) -> str:
    """What a join takes from left to right."""
    return ",".join(letters(memo, part.piece) for part in node.inputs)


@pytest.mark.parametrize("solver", BASELINES)
@pytest.mark.parametrize("seed", range(4))
def test_every_root_is_answered(solver, seed: int) -> None:
    memo = random_patterns(seed, windows=(10, 20))
    found = solver(memo, paper_cost(RATES), FOREVER)
    assert [node.piece for node in found.roots] == [root.piece for root in memo.roots]
    for node in found.nodes():
        assert [part.piece for part in node.inputs] == list(node.way.pieces)


@pytest.mark.parametrize("solver", BASELINES)
def test_no_budget_at_all(solver) -> None:
    memo = random_patterns(1, windows=(10, 20))
    assert len(solver(memo, paper_cost(RATES), Budget(0)).roots) == len(memo.roots)


def test_none_joins_in_the_order_of_the_text_and_shares_nothing() -> None:
    memo = memo_of_patterns(seq("CAB"), seq("CAB"), "SEQ(C c, A a, B b+)")
    found = none(memo, paper_cost(RATES), FOREVER)
    assert [steps(memo, node) for node in core_nodes(memo, found)] == ["C,A,B"] * 3


def test_reorder_begins_with_the_rarest_and_shares_nothing() -> None:
    memo = memo_of_patterns(seq("ABCD"), seq("ABCD"))
    found = reorder(memo, paper_cost({"A": 4.0, "B": 3.0, "C": 1.0, "D": 2.0}), FOREVER)
    assert [steps(memo, node) for node in core_nodes(memo, found)] == ["C,D,B,A"] * 2


def test_reorder_heeds_selectivities() -> None:
    memo = memo_of_patterns(seq("ABC") + " WHERE a.k = c.k")
    found = reorder(memo, paper_cost({"A": 1.0, "B": 2.0, "C": 3.0}), FOREVER)
    assert steps(memo, core_nodes(memo, found)[0]) == "A,C,B"


def test_share_merges_equal_prefixes_of_the_texts() -> None:
    memo = memo_of_patterns(seq("ABCD"), seq("ABCE"), seq("BCD"))
    found = share(memo, paper_cost(RATES), FOREVER)
    assert joins(memo, found) == ["AB", "ABC", "ABCD", "ABCE", "BC", "BCD"]


def test_share_takes_the_widest_window() -> None:
    memo = memo_of_patterns(seq("ABC"), seq("ABD"), within=[10, 20])
    found = share(memo, paper_cost(RATES), FOREVER)
    pairs = [memo.pieces[node.piece] for node in core_nodes(memo, found) if letters(memo, node.piece) == "AB"]
    assert [piece.window.size for piece in pairs] == [20_000_000]


def join_cost(memo: Memo, found: Solution) -> float:
    pricing = paper_cost(RATES)
    return sum(pricing.cost(memo, node.piece, node.way) for node in core_nodes(memo, found))


def test_spass_shares_a_substring_in_the_middle() -> None:
    memo = memo_of_patterns(seq("ABCD"), seq("EBCF"), seq("BCA"))
    rates = dict.fromkeys("ABCDEF", 1.0)
    found = spass(memo, paper_cost(rates), FOREVER)
    assert sorted(steps(memo, node) for node in core_nodes(memo, found)) == [
        "A,BC,D",
        "B,C",
        "BC,A",
        "E,BC,F",
    ]


def test_spass_does_not_reorder() -> None:
    memo = memo_of_patterns(seq("ABC"), seq("ADC"))
    found = spass(memo, paper_cost(RATES), FOREVER)
    assert sorted(steps(memo, node) for node in core_nodes(memo, found)) == ["A,B,C", "A,D,C"]


def test_spass_reads_a_whole_query_inside_another() -> None:
    memo = memo_of_patterns(seq("ABC"), seq("XABC"))
    found = spass(memo, paper_cost(dict.fromkeys("ABCX", 1.0)), FOREVER)
    assert sorted(steps(memo, node) for node in core_nodes(memo, found)) == ["A,B,C", "X,ABC"]


def test_spass_shares_at_the_widest_window() -> None:
    memo = memo_of_patterns(seq("ABC"), seq("ABC"), seq("ABCD"), within=[10, 20, 20])
    found = spass(memo, paper_cost(dict.fromkeys("ABCD", 1.0)), FOREVER)
    shown = sorted(
        (node.way.kind, memo.pieces[node.piece].window.size, steps(memo, node))
        for node in core_nodes(memo, found)
    )
    assert ("join", 20_000_000, "A,B,C") in shown
    assert ("join", 20_000_000, "ABC,D") in shown
    assert ("filter", 10_000_000, "ABC") in shown


def test_spass_leaves_alone_what_does_not_pay() -> None:
    memo = memo_of_patterns(seq("ABC"), seq("DBC"))
    rare_first = {"A": 0.001, "B": 50.0, "C": 50.0, "D": 0.001}
    found = spass(memo, paper_cost(rare_first), FOREVER)
    assert sorted(steps(memo, node) for node in core_nodes(memo, found)) == ["A,B,C", "D,B,C"]


@pytest.mark.parametrize("seed", range(4))
def test_sharing_costs_no_more_than_sharing_nothing(seed: int) -> None:
    memo = random_patterns(seed, count=12)
    alone = join_cost(memo, none(memo, paper_cost(RATES), FOREVER))
    assert join_cost(memo, share(memo, paper_cost(RATES), FOREVER)) <= alone * (1 + 1e-9)
    assert join_cost(memo, spass(memo, paper_cost(RATES), FOREVER)) <= alone * (1 + 1e-9)
