"""DecoPa's own figures, and that no plan of its construction or its rivals beats the proven optimum."""

import pytest

from stretto.papers.decopa.baselines import (
    centralized,
    hybrid,
    hybrid_exact,
    proportional,
    rip,
    state_parallel,
    text_split,
)
from stretto.papers.decopa.construction import construct, decopa, rate_reducing
from stretto.papers.decopa.published import QUERIES
from stretto.solve.common.budget import Budget
from stretto.solve.units.allocation import allocate
from stretto.solve.units.loads import Capacity
from stretto.solve.units.rates import RatedQuery, SubQuery, Tree
from stretto.solve.units.splits import joined
from stretto.solve.units.together import fastest

FIGURE_2 = RatedQuery.even(Tree("SEQ", (0, 1, 2)), (1000.0, 1000.0, 30.0), 0.01)
SMALL = Capacity(6_000.0, 60_000.0)


def test_figure_2_hybrid() -> None:
    found = hybrid(FIGURE_2, 4, SMALL)
    assert found is not None
    assert found.grids[SubQuery(0b011)].left == 3
    assert found.speed == pytest.approx(0.09)


def test_figure_2_decomposed() -> None:
    a_c, b_c, whole = SubQuery(0b101), SubQuery(0b110), SubQuery(0b111)
    split = {
        a_c: joined(FIGURE_2, SubQuery(0b001), SubQuery(0b100)),
        b_c: joined(FIGURE_2, SubQuery(0b010), SubQuery(0b100)),
        whole: joined(FIGURE_2, a_c, b_c),
    }
    found = allocate(split, 4, SMALL)
    assert found is not None
    assert found.speed == pytest.approx(2 / 3)
    assert found.bottleneck == whole
    assert found.grids[whole].units == 2
    best = fastest(FIGURE_2, 4, SMALL, Budget(600.0))
    assert best is not None
    assert best.speed == best.bound == pytest.approx(2 / 3)


def test_figure_6_rates() -> None:
    """SEQ(A, B, AND(C, D)): 10, 5, 5 and 20 rows of SEQ(A, C), SEQ(A, D), SEQ(A, AND(C, D)) and the whole."""
    pairs = {(0, 2): 0.1, (0, 3): 0.1, (2, 3): 0.2, (0, 1): 0.1}
    query = RatedQuery(Tree("SEQ", (0, 1, Tree("AND", (2, 3)))), (4.0, 40.0, 25.0, 12.5), pairs)
    rates = [query.rate(SubQuery(slots)) for slots in (0b0101, 0b1001, 0b1101, 0b1111)]
    assert rates == pytest.approx([10.0, 5.0, 5.0, 20.0])


GOALS = {"google1": 3.86, "google2": 12.2, "google3": 8.8, "citi1": 2.06, "citi3": 9.4}


@pytest.mark.parametrize("name", QUERIES)
def test_the_optimum_is_proven_and_beats_all_others(name: str) -> None:
    query, capacity = QUERIES[name]
    budget = Budget(600.0)
    ours = fastest(query, 20, capacity, budget, beyond=True)
    theirs = fastest(query, 20, capacity, Budget(600.0))
    assert ours is not None
    assert theirs is not None
    assert ours.bound == pytest.approx(ours.speed)
    assert theirs.bound == pytest.approx(theirs.speed)
    assert ours.units <= 20
    assert ours.speed >= theirs.speed * (1 - 1e-9)
    assert ours.speed >= GOALS.get(name, 0.0)
    rivals = [decopa(query, 20, capacity), hybrid(query, 20, capacity), hybrid_exact(query, 20, capacity)]
    assert all(rival is None or rival.speed <= theirs.speed * (1 + 1e-9) for rival in rivals)
    assert state_parallel(query, capacity) <= theirs.speed


def test_baselines_of_a_query() -> None:
    query, capacity = QUERIES["citi1"]
    steps = [choice.step.compared(1) for choice in text_split(query).values()]
    assert centralized(query, capacity) == pytest.approx(capacity.kappa / sum(steps))
    assert rip(query, 20, capacity) == pytest.approx(10 * centralized(query, capacity))
    assert hybrid(query, 2, capacity) is None
    found = proportional(construct(query, 20), 20, capacity)
    assert found is not None
    assert found.units == 20
    exact = hybrid_exact(query, 20, capacity)
    plain = hybrid(query, 20, capacity)
    assert exact is not None
    assert plain is not None
    assert exact.speed >= plain.speed


def test_rate_reducing_sub_queries() -> None:
    assert rate_reducing(FIGURE_2) == [SubQuery(0b101), SubQuery(0b110), SubQuery(0b111)]
