"""The named optimizers: rules that say what is possible, a cost to go by, a solver that chooses."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from stretto.memo.explore import Rules
from stretto.memo.memo import Memo
from stretto.memo.pricing import Pricing
from stretto.memo.rules.join_left_to_right import join_left_to_right
from stretto.memo.ways import Way
from stretto.solve.budget import Budget
from stretto.solve.solution import Solution, each_alone
from stretto.stats.profile import Stats

Solver = Callable[[Memo, Pricing, Budget], Solution]


@dataclass(frozen=True, slots=True)
class Recipe:
    """What makes an optimizer."""

    rules: Rules
    pricing: Callable[[Stats], Pricing]
    solve: Solver


class NoPricing:
    """Nothing is known, everything is free."""

    def rows(self, memo: Memo, number: int) -> float:  # noqa: ARG002 - of the protocol
        return 0.0

    def cost(self, memo: Memo, number: int, way: Way) -> float:  # noqa: ARG002 - of the protocol
        return 0.0


def no_pricing(_stats: Stats) -> Pricing:
    return NoPricing()


def one_by_one(memo: Memo, _pricing: Pricing, _budget: Budget) -> Solution:
    """Each query's own left-to-right order; nothing is shared but the scans of equal streams."""
    return Solution(each_alone(memo, {}))


RECIPES: Final[Mapping[str, Recipe]] = MappingProxyType(
    {"none": Recipe(Rules((join_left_to_right,)), no_pricing, one_by_one)}
)
