"""The default optimizer is never worse than the quick ones, however short the time."""

import pytest

from stretto.data.workloads import workload
from stretto.memo.explore import explore
from stretto.memo.memo import build_memo
from stretto.pattern.workload import Workload
from stretto.plan.optimize import plannable
from stretto.plan.recipes import RECIPES, all_that_fit, model_of
from stretto.schema import Kind, Schema
from stretto.solve.auto import auto
from stretto.solve.baselines import none, reorder, share
from stretto.solve.budget import Budget
from stretto.stats.profile import Stats

SCHEMA = Schema({"price": Kind.FLOAT, "diff": Kind.FLOAT})


@pytest.mark.parametrize("seconds", [0.0, 1.0])
def test_no_worse_than_the_quick_plans(seconds: float) -> None:
    text = workload("mcep-stocks", 12, seed=3, length=4)
    stats = Stats.assumed(SCHEMA)
    memo = build_memo(plannable(Workload.parse(text).bind(SCHEMA)))
    model = model_of(stats)
    explore(memo, all_that_fit(memo, model))
    found = auto(memo, model, Budget(seconds))
    cost = found.cost(memo, model)
    for other in (none, reorder, share):
        assert cost <= other(memo, model, Budget(1.0)).cost(memo, model) * (1 + 1e-9)
    assert found.lower_bound is not None
    assert found.lower_bound <= cost * (1 + 1e-9)


def test_every_name_of_the_papers_is_there() -> None:
    names = "none motto motto-mst lcse mcep mcep-tabu mcep-vertex4 mcep-vertex8 mcep-prefix reorder share spass auto"
    assert set(names.split()) <= set(RECIPES)
