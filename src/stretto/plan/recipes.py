"""The named optimizers: rules that say what is possible, a cost to go by, a solver that chooses."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Final

from stretto.memo.cost import CostModel, PaperCost
from stretto.memo.explore import Rules
from stretto.memo.memo import Memo
from stretto.memo.prices import load
from stretto.memo.pricing import Pricing
from stretto.memo.rules.join_left_to_right import join_left_to_right
from stretto.solve.anneal import anneal
from stretto.solve.baselines import none, reorder, share
from stretto.solve.budget import Budget
from stretto.solve.local import OrderPlans
from stretto.solve.solution import Solution
from stretto.solve.spass import spass
from stretto.solve.tabu import tabu
from stretto.stats.estimate import Estimator
from stretto.stats.profile import Stats

Solver = Callable[[Memo, Pricing, Budget], Solution]


@dataclass(frozen=True, slots=True)
class Recipe:
    """What makes an optimizer; `pricing` is what the solver goes by."""

    rules: Rules
    pricing: Callable[[Stats], Pricing]
    solve: Solver


def model_of(stats: Stats) -> CostModel:
    """Nanoseconds, by this machine's prices."""
    return CostModel(Estimator(stats), load())


def partial_matches(stats: Stats) -> PaperCost:
    """The number of partial matches, as the papers count."""
    return PaperCost(Estimator(stats))


ALONE: Final = Rules((join_left_to_right,))

RECIPES: Final[Mapping[str, Recipe]] = MappingProxyType(
    {
        "none": Recipe(ALONE, partial_matches, none),
        "reorder": Recipe(ALONE, partial_matches, reorder),
        "share": Recipe(ALONE, partial_matches, share),
        "spass": Recipe(ALONE, partial_matches, spass),
        "mcep": Recipe(ALONE, partial_matches, anneal),
        "mcep-tabu": Recipe(ALONE, partial_matches, tabu),
        "mcep-vertex4": Recipe(ALONE, partial_matches, partial(anneal, most=4)),
        "mcep-vertex8": Recipe(ALONE, partial_matches, partial(anneal, most=8)),
        "mcep-prefix": Recipe(ALONE, partial_matches, partial(anneal, planner=OrderPlans)),
    }
)
