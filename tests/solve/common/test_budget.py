"""Budgets by a clock that counts."""

import pytest
from tests.solve.ticks import Ticks

from stretto.solve.common import budget as budgets
from stretto.solve.common.budget import PATIENCE, Budget


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


# ---- work ----------------------------------------------------------------------------------------------------------


def test_time_is_what_was_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "thread_time", lambda: 0.0)
    budget = Budget(3)
    half = budget.share(0.5)
    half.work(1.0)
    assert not half.over
    half.work(0.5)
    assert half.over
    assert budget.left == 1.5


def test_what_others_count_is_counted_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "thread_time", lambda: 0.0)
    found, budget = [1.0], Budget(3)
    budget.counting(lambda: sum(found))
    assert budget.spent == 0.0
    found.append(2.0)
    budget.work(0.5)
    assert budget.spent == 2.5


def test_the_time_on_a_processor_ends_it_late(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(budgets, "thread_time", lambda: now[0])
    budget = Budget(3)
    now[0] = 3 * PATIENCE - 0.1
    assert not budget.over
    now[0] = 3 * PATIENCE
    assert budget.over


def test_another_clock_counts_no_work() -> None:
    budget = Budget(100, Ticks())
    budget.work(1_000.0)
    budget.counting(lambda: 1_000.0)
    assert not budget.over
