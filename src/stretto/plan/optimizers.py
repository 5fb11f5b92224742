"""The named optimizers: rules that say what is possible, a cost to go by, a solver that chooses."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Final

from stretto.memo.cost import CostModel
from stretto.memo.explore import Rules
from stretto.memo.memo import Memo
from stretto.memo.prices import load
from stretto.memo.pricing import Pricing
from stretto.memo.rules import AUTO
from stretto.memo.rules.join_left_to_right import join_left_to_right
from stretto.memo.rules.split_off_commonest import split_off_commonest
from stretto.papers.mcep.anneal import anneal
from stretto.papers.mcep.baselines import reorder, share
from stretto.papers.mcep.local_plans import OrderPlans
from stretto.papers.mcep.spass import spass
from stretto.papers.mcep.tabu import tabu
from stretto.papers.motto.rules import LCSE, MOTTO, MOTTO_MST
from stretto.papers.motto.steiner import steiner
from stretto.papers.muse.costs import paper_costs
from stretto.papers.muse.sharing import choose
from stretto.papers.partial_matches import PaperCost
from stretto.solve.auto import auto
from stretto.solve.common.budget import Budget
from stretto.solve.common.solution import Solution
from stretto.solve.quick.as_written import none
from stretto.stats.estimate import Estimator
from stretto.stats.profile import Stats
from stretto.trends.benefit import engine_costs
from stretto.trends.optimize import TrendRecipe

Solver = Callable[[Memo, Pricing, Budget], Solution]


@dataclass(frozen=True, slots=True)
class Recipe:
    """What makes an optimizer; `pricing` is what the solver goes by."""

    rules: Callable[[Memo, Pricing], Rules]
    pricing: Callable[[Stats], Pricing]
    solve: Solver


def model_of(stats: Stats) -> CostModel:
    """Nanoseconds, by this machine's prices."""
    return CostModel(Estimator(stats), load())


def partial_matches(stats: Stats) -> PaperCost:
    """The number of partial matches, as the papers count."""
    return PaperCost(Estimator(stats))


def as_written(_memo: Memo, _pricing: Pricing) -> Rules:
    """The queries' own orders; solvers that build trees find the parts themselves."""
    return Rules((join_left_to_right,), few=True)


def by(rules: Rules) -> Callable[[Memo, Pricing], Rules]:
    return lambda _memo, _pricing: rules


MANY_PARTS: Final = 60_000
"""So many parts of cores can be looked at; of a larger workload only orders by rate are, and what those share."""


def all_that_fit(memo: Memo, pricing: Pricing) -> Rules:
    """Every rule, or for very large workloads those whose number of pieces grows with the queries' length alone."""
    parts = sum(2.0 ** min(len(memo.pieces[core].slots), 12) for core in memo.cores())
    by_rate = (join_left_to_right, split_off_commonest(pricing))
    return replace(AUTO, hurried=by_rate) if parts <= MANY_PARTS else Rules(by_rate, few=True)


QUICK: Final[tuple[Solver, ...]] = (share,)
OF_ORDERS: Final[tuple[Solver, ...]] = (reorder,)
"""What no plan of `auto` may be worse than, however short the time."""

RECIPES: Final[Mapping[str, Recipe]] = MappingProxyType(
    {
        "none": Recipe(as_written, partial_matches, none),
        "motto": Recipe(by(MOTTO), partial_matches, steiner),
        "motto-mst": Recipe(by(MOTTO_MST), partial_matches, steiner),
        "lcse": Recipe(by(LCSE), partial_matches, steiner),
        "mcep": Recipe(as_written, partial_matches, anneal),
        "mcep-tabu": Recipe(as_written, partial_matches, tabu),
        "mcep-tabu-vertex4": Recipe(as_written, partial_matches, partial(tabu, most=4)),
        "mcep-tabu-vertex8": Recipe(as_written, partial_matches, partial(tabu, most=8)),
        "mcep-tabu-prefix": Recipe(as_written, partial_matches, partial(tabu, planner=OrderPlans)),
        "mcep-vertex4": Recipe(as_written, partial_matches, partial(anneal, most=4)),
        "mcep-vertex8": Recipe(as_written, partial_matches, partial(anneal, most=8)),
        "mcep-prefix": Recipe(as_written, partial_matches, partial(anneal, planner=OrderPlans)),
        "reorder": Recipe(as_written, partial_matches, reorder),
        "share": Recipe(as_written, partial_matches, share),
        "spass": Recipe(as_written, partial_matches, spass),
        "auto": Recipe(all_that_fit, model_of, partial(auto, quick=QUICK, of_orders=OF_ORDERS)),
    }
)

TREND_RECIPES: Final[Mapping[str, TrendRecipe]] = MappingProxyType(
    {
        recipe.name: recipe
        for recipe in (
            TrendRecipe("none"),
            TrendRecipe("greta"),
            TrendRecipe("muse", choose, paper_costs, paper_costs),
            # Without statistics the engine's model cannot tell; the paper's shares whatever can be.
            TrendRecipe("auto", choose, engine_costs, paper_costs, panes=True),
        )
    }
)
"""Optimizers that decide about trends by themselves; all others leave that to `auto`."""
