"""The default optimizer is never worse than the quick ones, however short the time."""

from itertools import count
from math import inf

import pytest

from stretto.generate.workloads import workload
from stretto.memo.explore import explore
from stretto.memo.memo import Memo, build_memo
from stretto.papers.mcep.baselines import reorder, share
from stretto.papers.partial_matches import PaperCost
from stretto.pattern.workload import Workload
from stretto.plan.optimize import plannable
from stretto.plan.optimizers import OF_ORDERS, QUICK, RECIPES, all_that_fit, model_of
from stretto.schema import Kind, Schema
from stretto.solve.auto import auto, worth_trying
from stretto.solve.common.budget import Budget
from stretto.solve.quick.as_written import none
from stretto.stats.profile import Stats

SCHEMA = Schema({"price": Kind.FLOAT, "diff": Kind.FLOAT})


@pytest.mark.parametrize("seconds", [0.0, 1.0])
def test_no_worse_than_the_quick_plans(seconds: float) -> None:
    text = workload("mcep-stocks", 12, seed=3, length=4)
    stats = Stats.assumed(SCHEMA)
    memo = build_memo(plannable(Workload.parse(text).bind(SCHEMA)), as_written=False)
    model = model_of(stats)
    explore(memo, all_that_fit(memo, model))
    found = auto(memo, model, Budget(seconds), quick=QUICK, of_orders=OF_ORDERS)
    cost = found.cost(memo, model)
    for other in (none, reorder, share):
        assert cost <= other(memo, model, Budget(1.0)).cost(memo, model) * (1 + 1e-9)
    assert found.lower_bound is not None
    assert found.lower_bound <= cost * (1 + 1e-9)


def hurried(text: str, after: int) -> Memo:
    """A memo for whose exploration the time was up when so many pieces had been looked at."""
    memo = build_memo(plannable(Workload.parse(text).bind(SCHEMA)), as_written=False)
    turns = count()
    explore(memo, all_that_fit(memo, model_of(Stats.assumed(SCHEMA))), over=lambda: next(turns) >= after)
    return memo


def test_in_a_hurry_slots_are_joined_by_rate_not_as_written() -> None:
    memo = hurried(workload("mcep-stocks", 12, seed=3, length=4), after=0)
    rules = {way.rule for ways in memo.ways for way in ways}
    assert "split_off_commonest" in rules
    assert "split_in_two" not in rules
    assert all(memo.ways)


@pytest.mark.parametrize("after", [0, 5, 40])
def test_no_worse_than_the_quick_plans_in_a_hurry(after: int) -> None:
    text = workload("mcep-stocks", 12, seed=3, length=4)
    model = model_of(Stats.assumed(SCHEMA))
    memo = hurried(text, after)
    cost = auto(memo, model, Budget(0.0), quick=QUICK, of_orders=OF_ORDERS).cost(memo, model)
    for other in (none, reorder, share):
        assert cost <= other(memo, model, Budget(inf)).cost(memo, model) * (1 + 1e-9)


def test_orders_are_tried_only_where_trees_are_missing_or_have_no_price() -> None:
    text = workload("mcep-stocks", 12, seed=3, length=4)
    assert worth_trying(hurried(text, after=5), Budget(60.0), QUICK, OF_ORDERS) == (*OF_ORDERS, share)
    assert reorder in OF_ORDERS
    whole = build_memo(plannable(Workload.parse(text).bind(SCHEMA)), as_written=False)
    explore(whole, all_that_fit(whole, model_of(Stats.assumed(SCHEMA))))
    assert worth_trying(whole, Budget(60.0), QUICK, OF_ORDERS) == (share,)
    assert worth_trying(whole, Budget(0.0), QUICK, OF_ORDERS) == (*OF_ORDERS, share)


def test_a_bound_is_one_of_all_splits() -> None:
    text = workload("mcep-stocks", 4, seed=3, length=4)
    model = model_of(Stats.assumed(SCHEMA))
    cut = hurried(text, after=1)
    assert auto(cut, model, Budget(1.0), quick=QUICK).lower_bound is None
    whole = build_memo(plannable(Workload.parse(text).bind(SCHEMA)))
    explore(whole, all_that_fit(whole, model))
    assert auto(whole, model, Budget(1.0), quick=QUICK).lower_bound is not None


def test_every_name_of_the_papers_is_there() -> None:
    names = (
        "none motto motto-paper motto-anneal motto-mst lcse mcep mcep-tabu mcep-vertex4 mcep-vertex8 mcep-prefix "
        "reorder share spass auto"
    )
    assert set(names.split()) <= set(RECIPES)


def test_no_bound_is_claimed_where_ways_have_no_price() -> None:
    text = workload("mcep-stocks", 60, seed=3, length=5)
    model = model_of(Stats.assumed(SCHEMA))
    memo = build_memo(plannable(Workload.parse(text).bind(SCHEMA)), as_written=False)
    explore(memo, all_that_fit(memo, model))
    found = auto(memo, model, Budget(0.0), quick=QUICK, of_orders=OF_ORDERS)
    assert found.lower_bound is None
    assert found.cost(memo, model) <= reorder(memo, PaperCost(model.estimator), Budget(inf)).cost(memo, model)


def test_splits_are_looked_for_where_there_is_time_for_all_of_them() -> None:
    model = model_of(Stats.assumed(SCHEMA))

    def rules(queries: int, seconds: float) -> set[str]:
        text = workload("mcep-stocks", queries, seed=3, length=5)
        memo = build_memo(plannable(Workload.parse(text).bind(SCHEMA)), as_written=False)
        return {rule.__name__ for rule in all_that_fit(memo, model, seconds).pieces}

    assert "split_in_two" in rules(60, seconds=5.0)
    assert "split_in_two" not in rules(60, seconds=0.1)
    assert "split_in_two" in rules(10, seconds=0.0)
