"""The named optimizers: rules that say what is possible, a cost to go by, a solver that chooses."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from types import MappingProxyType
from typing import Final

from stretto.errors import StrettoError
from stretto.memo.caution import WEAKER, CautiousModel
from stretto.memo.cost import CostModel
from stretto.memo.explore import Rules
from stretto.memo.join_work import steps_per_second
from stretto.memo.memo import Memo
from stretto.memo.mops.channel_cost import ChannelCosts
from stretto.memo.mops.mplan import MPlan
from stretto.memo.mops.operators import StreamOperator
from stretto.memo.mops.patterns import first_atom
from stretto.memo.prices import load
from stretto.memo.pricing import Pricing
from stretto.memo.rules import AUTO
from stretto.memo.rules.continue_runs import continue_runs
from stretto.memo.rules.join_left_to_right import join_left_to_right
from stretto.memo.rules.split_in_two import MOST_SLOTS
from stretto.memo.rules.split_kleene import kleene_that_reduce
from stretto.memo.rules.split_off_commonest import split_off_commonest
from stretto.memo.rules.split_overlapping import overlapping_that_reduce
from stretto.memo.rules.unite_disjunction import commonest_last, unite_disjunction
from stretto.papers.decopa.on_memo import decopa_solver
from stretto.papers.mcep.baselines import reorder, share
from stretto.papers.mcep.local_plans import OrderPlans
from stretto.papers.mcep.simulated_annealing import anneal
from stretto.papers.mcep.spass import spass
from stretto.papers.mcep.tabu_search import tabu
from stretto.papers.motto.rules import LCSE, MOTTO, MOTTO_MST
from stretto.papers.motto.steiner import unbounded_steiner
from stretto.papers.muse.cost import paper_costs
from stretto.papers.muse.sharing import choose
from stretto.papers.partial_matches import PaperCost
from stretto.papers.rumor.channels import Worth
from stretto.papers.rumor.driver import always, merged
from stretto.papers.rumor.rules import CHANNELS, PRIORITIES
from stretto.papers.rumor.rules import Rule as MRule
from stretto.pattern.nodes import Policy, Query
from stretto.records import dataclass
from stretto.solve.auto import auto
from stretto.solve.common.budget import Budget
from stretto.solve.common.solution import Solution
from stretto.solve.quick.as_written import none
from stretto.solve.units.allocation import Allocation
from stretto.solve.units.loads import Capacity
from stretto.solve.units.on_memo import on_units
from stretto.stats.estimate import Estimator
from stretto.stats.profile import Stats
from stretto.trends.benefit import engine_costs
from stretto.trends.optimize import TrendRecipe

RulesFor = Callable[[Memo, Pricing, float], Rules]
"""What is possible, given so many seconds."""
Solver = Callable[[Memo, Pricing, Budget], Solution]
UnitSolver = Callable[..., Solution]
"""From a number of units, the memo, the pricing and the budget."""
Rivals = Callable[[Memo, CostModel, Solution, Budget], Iterator[Solution]]


@dataclass(frozen=True, slots=True)
class Recipe:
    """What makes an optimizer; `pricing` is what the solver goes by, `about` says in a line what it is.

    `rivals`: other solutions over the same memo that are worth trying, where plans are tried.
    `mops`: rules by which operators of streams and queries are computed as one, `worth`: whether a channel is, by
    statistics. `shared_whole`: the queries that these are about, given the names of derived streams.
    `on_units`: the solver for a number of units, where an optimizer plans for some; `allocation`: how it gives them.
    `templates`: whether queries of a text that differ in constants alone are planned as one. Papers know no templates,
    and `none` is every query by itself; a table's `FOR EACH` is one template for every optimizer.
    `as_written`: whether it may go by the order of a query's text, as the papers do. `disjunctions`: whether an ANY
    is one piece, which may be a chain of joins; else its alternatives are apart. `prefixes`: whether runs may go on
    from those over common first steps.
    """

    rules: RulesFor
    pricing: Callable[[Stats], Pricing]
    solve: Solver
    about: str = ""
    rivals: Rivals | None = None
    as_written: bool = True
    disjunctions: bool = False
    mops: tuple[MRule, ...] = ()
    worth: Callable[[Stats], Worth] = lambda _: always
    shared_whole: Callable[[Query, Collection[str]], bool] = lambda _query, _streams: True
    templates: bool = False
    on_units: UnitSolver | None = None
    allocation: Allocation = "best"
    prefixes: bool = False

    def for_units(self, count: int, capacity: Capacity | None = None) -> "Recipe":
        """The same for so many units; `capacity`: of each, for an optimizer whose split depends on that."""
        if self.on_units is None:
            return self
        by_capacity = capacity is not None and self.allocation == "best"
        able = {"capacity": capacity} if by_capacity else {}
        return replace(self, solve=partial(self.on_units, count, **able))

    def merge(self, operators: Sequence[StreamOperator], stats: Stats) -> MPlan | None:
        """What operators of streams and queries are computed as one; None where there is no rule for that."""
        return merged(operators, self.mops, self.worth(stats)) if self.mops else None


def without_rules(recipe: Recipe, names: Sequence[str]) -> Recipe:
    """A recipe that leaves out some of its rules; StrettoError for a name that none of them has."""
    known = [rule.__name__ for rule in recipe.mops] + [continue_runs.__name__] * recipe.prefixes
    for name in names:
        if name not in known:
            there = (
                f"there are: {', '.join(known)}" if known else "this optimizer has none that can be left out"
            )
            raise StrettoError(f"unknown rule `{name}`; {there}")
    return replace(
        recipe,
        mops=tuple(rule for rule in recipe.mops if rule.__name__ not in names),
        prefixes=recipe.prefixes and continue_runs.__name__ not in names,
    )


def model_of(stats: Stats) -> CostModel:
    """Nanoseconds, by this machine's prices."""
    return CostModel(Estimator(stats), load(), stats.events)


def channel_costs(stats: Stats) -> Worth:
    """Channels where the disjunction of streams is cheaper than they are."""
    estimator = Estimator(stats)
    return ChannelCosts(estimator, load(), steps_per_second(estimator.total_rate, stats.events))


def has_no_parts(query: Query, streams: Collection[str]) -> bool:
    """Whether a query is shared as a whole or not at all; of others the memo has parts that they have in common.

    So it is for runs of NEXT, for single events, and for what begins with an event that only its own stream has.
    """
    atom = first_atom(query)
    return query.policy is Policy.NEXT or (
        atom is not None and (atom is query.pattern or atom.stream.type in streams)
    )


def partial_matches(stats: Stats) -> PaperCost:
    """The number of partial matches, as the papers count."""
    return PaperCost(Estimator(stats))


def longest_prefixes(memo: Memo, pricing: Pricing, budget: Budget) -> Solution:
    """Every query in the order of its text, equal prefixes computed once; those of runs too, the longest ones."""
    for number, ways in enumerate(memo.ways):
        longest = next((way for way in ways if way.rule == continue_runs.__name__), None)
        if longest is not None:
            memo.give(number, longest)
    return share(memo, pricing, budget)


def as_written(_memo: Memo, _pricing: Pricing, _seconds: float) -> Rules:
    """The queries' own orders; solvers that build trees find the parts themselves."""
    return Rules((join_left_to_right,), few=True)


def by(rules: Rules) -> RulesFor:
    return lambda _memo, _pricing, _seconds: rules


def by_rate(rules: Rules) -> RulesFor:
    """The same rules, those that make an ANY of several streams with the commonest one last."""

    def known(_memo: Memo, pricing: Pricing, _seconds: float) -> Rules:
        united = commonest_last(pricing)
        first = tuple(united if rule is unite_disjunction else rule for rule in rules.first)
        return replace(rules, first=first)

    return known


MANY_PARTS: Final = 60_000
"""So many parts of cores can be looked at; of a larger workload only orders by rate are, and what those share."""


FEW_SPLITS: Final = 4_000
"""So many splits of cores and their parts are looked at however short the time."""
A_SPLIT: Final = 1e-4
"""Seconds that it takes to find and price one of them, about."""


def all_that_fit(memo: Memo, pricing: Pricing, seconds: float = inf) -> Rules:
    """Every rule, or for very large workloads those whose number of pieces grows with the queries' length alone.

    The same where there is no time for the splits: better a search over the trees of all queries than all splits of
    some and nothing of the others.
    """
    sizes = [len(memo.pieces[core].slots) for core in memo.cores()]
    parts = sum(2.0 ** min(size, 12) for size in sizes)
    splits = sum((3.0**size - 2 * 2.0**size + 1) / 2 for size in (min(size, MOST_SLOTS) for size in sizes))
    orders = (join_left_to_right, split_off_commonest(pricing))
    rules = by_rate(AUTO)(memo, pricing, seconds)
    if parts > MANY_PARTS or (splits > FEW_SPLITS and A_SPLIT * splits > seconds):
        return Rules(orders, few=True, first=rules.first)
    return replace(
        rules,
        pieces=(*rules.pieces, *overlapping_that_reduce(memo, pricing)),
        hurried=orders,
        grown=(*rules.grown, *kleene_that_reduce(memo, pricing)),
    )


ANNEALED: Final = 2_000
"""Steps of annealing for each component: fixed, so that the same input has the same plan."""
FEW_ROOTS: Final = 50
"""Queries up to which plans are annealed, and all rivals are tried; of more queries `reorder` is the only one."""
CAUTIOUS_PART: Final = 0.25
"""The part of the planning time that the search by cautious costs may take."""


def by_partial_matches(solve: Solver) -> Solver:
    """A solver that goes by the papers' cost, where the pricing can tell rows."""

    def solved(memo: Memo, pricing: Pricing, budget: Budget) -> Solution:
        counted = PaperCost(pricing.estimator) if isinstance(pricing, CostModel) else pricing
        return solve(memo, counted, budget)

    return solved


def annealed(memo: Memo, pricing: Pricing, budget: Budget) -> Solution:
    """MCEP's plan after a fixed number of steps; where there are many queries that of `reorder`."""
    if len(memo.roots) > FEW_ROOTS:
        return reorder(memo, pricing, budget)
    return anneal(memo, pricing, budget, steps=ANNEALED)


def searched(memo: Memo, pricing: Pricing, budget: Budget) -> Solution:
    """MCEP's plan of many queries; of few it is a rival that is tried."""
    few = len(memo.roots) <= FEW_ROOTS
    return none(memo, pricing, budget) if few else anneal(memo, pricing, budget, steps=ANNEALED)


QUICK: Final[tuple[Solver, ...]] = (share,)
OF_ORDERS: Final[tuple[Solver, ...]] = (
    by_partial_matches(reorder),
    by_partial_matches(searched),
    reorder,
)
"""What no plan of `auto` may be worse than where trees are missing; the first one however short the time."""
RIVALS: Final[tuple[Solver, ...]] = (annealed, reorder, share, none)


def rivals(memo: Memo, model: CostModel, chosen: Solution, budget: Budget) -> Iterator[Solution]:
    """What others would do by the papers' own cost; before that, what a doubter would choose.

    He is asked only where weaker pieces are shared.
    """
    few = len(memo.roots) <= FEW_ROOTS
    if few and any(node.way.rule in WEAKER for node in chosen.nodes()):
        cautious = CautiousModel(model.estimator, model.prices, model.events)
        yield auto(memo, cautious, budget.of(CAUTIOUS_PART * budget.seconds))
    pricing = PaperCost(model.estimator)
    for solve in RIVALS if few else (reorder,):
        yield solve(memo, pricing, budget.of(budget.seconds))


UNITS: Final = 20
"""Units that are planned for where nobody says how many there are."""


def split_for_units(
    units: int, memo: Memo, pricing: Pricing, budget: Budget, *, capacity: Capacity | None = None
) -> Solution:
    """Split and units together; the plan of `auto` is where the search starts, and what stays if it is too large."""
    start = auto(memo, pricing, budget.of(budget.left / 2), quick=QUICK, of_orders=OF_ORDERS)
    if budget.over or not isinstance(pricing, CostModel):
        return start
    return on_units(memo, pricing, start, units, budget, capacity)


def by_text(about: str, allocation: Allocation) -> Recipe:
    """A rival of DecoPa: left-deep in the order of the text, divided in its own way (sec. 7.1)."""
    return Recipe(as_written, partial_matches, none, about, on_units=_as_text, allocation=allocation)


def _as_text(_units: int, memo: Memo, pricing: Pricing, budget: Budget) -> Solution:
    return none(memo, pricing, budget)


RECIPES: Final[Mapping[str, Recipe]] = MappingProxyType(
    {
        "none": Recipe(
            as_written, partial_matches, none, "every query alone, its slots joined in the order of the text"
        ),
        # MOTTO takes the costs of the system it runs on (sec. VI), and so do its parts: they differ by rules alone.
        "motto": Recipe(
            by_rate(MOTTO),
            model_of,
            unbounded_steiner,
            "MOTTO: merging, decomposition and operator transformation, as a directed Steiner tree",
            disjunctions=True,
        ),
        "motto-paper": Recipe(
            by_rate(MOTTO),
            partial_matches,
            unbounded_steiner,
            "MOTTO by the number of partial matches, as MCEP counts",
            disjunctions=True,
        ),
        "motto-anneal": Recipe(
            by_rate(MOTTO),
            model_of,
            partial(unbounded_steiner, exact_share=0.0),
            "MOTTO with its approximate solution alone: simulated annealing",
            disjunctions=True,
        ),
        "motto-mst": Recipe(
            by(MOTTO_MST), model_of, unbounded_steiner, "MOTTO with its merge technique alone"
        ),
        "lcse": Recipe(
            by(LCSE),
            model_of,
            unbounded_steiner,
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
            as_written,
            model_of,  # the redundancy ratio is the gain of sharing a computation, and that is the engine's
            spass,
            "MCEP's rival SPASS: common substrings, by redundancy ratio",
        ),
        "rumor": Recipe(
            as_written,
            partial_matches,
            longest_prefixes,
            "RUMOR: operators merged by rules, streams that are read alike as channels",
            mops=PRIORITIES,
            prefixes=True,
        ),
        "rumor-no-channels": Recipe(
            as_written,
            partial_matches,
            longest_prefixes,
            "RUMOR without channels: only operators that read the same streams are merged",
            mops=tuple(rule for rule in PRIORITIES if rule.__name__ not in CHANNELS),
            prefixes=True,
        ),
        "decopa": Recipe(
            as_written,
            partial_matches,
            partial(decopa_solver, UNITS),
            "DecoPa: splits that may overlap, over rate-reducing sub-queries, for units in proportion to comparisons",
            on_units=decopa_solver,
            allocation="proportional",
        ),
        "centralized": by_text("DecoPa's rival: the order of the text, all on one unit", "together"),
        "state-parallel": by_text(
            "DecoPa's rival: the order of the text, a unit for each operator", "one each"
        ),
        "hybrid": by_text(
            "DecoPa's rival: the order of the text, units in proportion to comparisons", "proportional"
        ),
        "rip": by_text(
            "DecoPa's rival: batches of two windows that overlap by one, to units in turn", "slices"
        ),
        "units": Recipe(
            all_that_fit,
            model_of,
            partial(split_for_units, UNITS),
            "ours for units: split and allocation together, for all queries at once; see `explain --units`",
            as_written=False,
            templates=True,
            on_units=split_for_units,
        ),
        "auto": Recipe(
            all_that_fit,
            model_of,
            partial(auto, quick=QUICK, of_orders=OF_ORDERS),
            "every rule, by what the engine would spend; the best few plans are tried on sampled events",
            rivals,
            as_written=False,
            templates=True,
            disjunctions=True,
            mops=PRIORITIES,
            worth=channel_costs,
            shared_whole=has_no_parts,
            prefixes=True,
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
