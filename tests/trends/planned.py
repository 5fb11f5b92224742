"""Plans of trend queries by the name of an optimizer."""

from collections.abc import Sequence

from stretto.pattern.nodes import TrendQuery
from stretto.plan.optimizers import TREND_RECIPES
from stretto.stats.profile import Stats
from stretto.trends import optimize
from stretto.trends.plan import TrendPlan


def trend_plan(queries: Sequence[TrendQuery], stats: Stats | None, optimizer: str = "auto") -> TrendPlan:
    return optimize.trend_plan(queries, stats, TREND_RECIPES[optimizer])
