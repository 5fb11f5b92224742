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
from stretto.papers.mcep.baselines import reorder, share
from stretto.papers.mcep.local_plans import OrderPlans
from stretto.papers.mcep.simulated_annealing import anneal
from stretto.papers.mcep.spass import spass
from stretto.papers.mcep.tabu_search import tabu
from stretto.papers.motto.rules import LCSE, MOTTO, MOTTO_MST
from stretto.papers.motto.steiner import steiner
from stretto.papers.muse.cost import paper_costs
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
    """What makes an optimizer; `pricing` is what the solver goes by, `about` says in a line what it is.

    `as_written`: whether it may go by the order of a query's text, as the papers do.
    """

    rules: Callable[[Memo, Pricing], Rules]
    pricing: Callable[[Stats], Pricing]
    solve: Solver
    about: str = ""
    as_written: bool = True


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
        "none": Recipe(
            as_written, partial_matches, none, "every query alone, its slots joined in the order of the text"
        ),
        "motto": Recipe(
            by(MOTTO),
            partial_matches,
            steiner,
            "MOTTO: merging, decomposition and operator transformation, as a directed Steiner tree",
        ),
        "motto-mst": Recipe(by(MOTTO_MST), partial_matches, steiner, "MOTTO with its merge technique alone"),
        "lcse": Recipe(
            by(LCSE),
            partial_matches,
            steiner,
            "MOTTO's rival: the longest common sub-expression of two queries",
        ),
        "mcep": Recipe(
            as_written,
            partial_matches,
            anneal,
            "MCEP: sharing and reordering of trees together, by simulated annealing over N_edge",
        ),
        "mcep-tabu": Recipe(as_written, partial_matches, tabu, "the same by tabu search"),
        "mcep-tabu-vertex4": Recipe(
            as_written, partial_matches, partial(tabu, most=4), "tabu search over N_vertex^4"
        ),
        "mcep-tabu-vertex8": Recipe(
            as_written, partial_matches, partial(tabu, most=8), "tabu search over N_vertex^8"
        ),
        "mcep-tabu-prefix": Recipe(
            as_written,
            partial_matches,
            partial(tabu, planner=OrderPlans),
            "tabu search over orders that share prefixes",
        ),
        "mcep-vertex4": Recipe(
            as_written, partial_matches, partial(anneal, most=4), "simulated annealing over N_vertex^4"
        ),
        "mcep-vertex8": Recipe(
            as_written, partial_matches, partial(anneal, most=8), "simulated annealing over N_vertex^8"
        ),
        "mcep-prefix": Recipe(
            as_written,
            partial_matches,
            partial(anneal, planner=OrderPlans),
            "simulated annealing over orders that share prefixes",
        ),
        "reorder": Recipe(
            as_written, partial_matches, reorder, "MCEP's rival RE: every query alone, greedily reordered"
        ),
        "share": Recipe(
            as_written,
            partial_matches,
            share,
            "MCEP's rival SH: the order of the text, equal prefixes shared",
        ),
        "spass": Recipe(
            as_written, partial_matches, spass, "MCEP's rival SPASS: common substrings, by redundancy ratio"
        ),
        "auto": Recipe(
            all_that_fit,
            model_of,
            partial(auto, quick=QUICK, of_orders=OF_ORDERS),
            "every rule, by what the engine would spend; proven best where the time allows",
            as_written=False,
        ),
    }
)

TREND_RECIPES: Final[Mapping[str, TrendRecipe]] = MappingProxyType(
    {
        recipe.name: recipe
        for recipe in (
            TrendRecipe("none", about="every trend query alone"),
            TrendRecipe("greta", about="GRETA, MUSE's rival: every trend query alone, online"),
            TrendRecipe(
                "muse",
                choose,
                paper_costs,
                paper_costs,
                about="MUSE: for every edge who shares it and from where, by the paper's benefit",
            ),
            # Without statistics the engine's model cannot tell; the paper's shares whatever can be.
            TrendRecipe(
                "auto",
                choose,
                engine_costs,
                paper_costs,
                panes=True,
                about="MUSE's choice by what our executors spend; overlapping windows share too",
            ),
        )
    }
)
"""Optimizers that decide about trends by themselves; all others leave that to `auto`."""


def about() -> dict[str, str]:
    """Every name that `--optimizer` takes, with a line that says what it is."""
    return {
        **{name: recipe.about for name, recipe in TREND_RECIPES.items()},
        **{name: recipe.about for name, recipe in RECIPES.items()},
    }
