"""Budgets by a clock that counts."""

from tests.solve.ticks import Ticks

from stretto.solve.common.budget import Budget


def test_it_is_over_after_so_many_asks() -> None:
    budget = Budget(3, Ticks())
    assert [budget.over for _ in range(5)] == [False, False, True, True, True]


def test_what_is_free_is_done_without_any_time() -> None:
    budget = Budget(0, Ticks(), free=10)
    assert [budget.denies(4) for _ in range(4)] == [False, False, True, True]


def test_with_time_left_nothing_is_denied() -> None:
    budget = Budget(100, Ticks())
    assert not any(budget.denies(1_000) for _ in range(50))


def test_free_work_does_not_ask_the_clock() -> None:
    ticks = Ticks()
    budget = Budget(0, ticks, free=1_000)
    before = ticks.asked
    assert not any(budget.denies() for _ in range(1_000))
    assert ticks.asked == before


def test_parts_run_by_the_same_clock() -> None:
    ticks = Ticks()
    whole = Budget(100, ticks)
    half = whole.share(0.5)
    assert 45 <= half.seconds <= 50
    before = ticks.asked
    assert not half.over
    assert ticks.asked == before + 1


def test_at_least_a_part_is_left_of_a_budget_that_is_over() -> None:
    budget = Budget(10, Ticks())
    while not budget.over:
        pass
    assert budget.at_least(0.3).seconds == 3.0
    assert budget.at_least(0.0, free=7).free == 7
