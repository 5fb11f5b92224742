"""From a workload to a plan, by a named optimizer."""

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from math import inf

from stretto.errors import Mistake, QueryError, StrettoError, near
from stretto.memo.cost import CostModel
from stretto.memo.explore import explore
from stretto.memo.memo import Memo, build_memo
from stretto.memo.mops.mplan import MPlan
from stretto.memo.mops.operators import operators_of
from stretto.memo.pricing import Pricing
from stretto.memo.rules.continue_runs import continue_runs
from stretto.pattern.branches import NotPlannable
from stretto.pattern.derived.streams import DerivedStream
from stretto.pattern.disjunction import as_one_piece
from stretto.pattern.nodes import Query
from stretto.pattern.piece import Detection, Group, Piece
from stretto.pattern.repetition_terms import duty, tighten
from stretto.pattern.workload import BoundWorkload, Workload
from stretto.plan.assemble import assemble
from stretto.plan.build import Builder
from stretto.plan.check import check
from stretto.plan.dag import Plan
from stretto.plan.estimate import estimated
from stretto.plan.families.gathering import gathered
from stretto.plan.families.templates import apart_from_families, reading_entries, routed, settled
from stretto.plan.forbid import refuse_entangled
from stretto.plan.front.decoding import with_members
from stretto.plan.front.planning import fronted, listing_leaves, needed_streams
from stretto.plan.front.sampled import Derive, with_derived
from stretto.plan.front.stages import in_stages
from stretto.plan.grow import growth_order
from stretto.plan.one_by_one import cost_of_none, cost_of_templates
from stretto.plan.optimizers import RECIPES, TREND_RECIPES, Recipe, model_of, without_rules
from stretto.plan.trials.trying import Rival, Trial, best_tried, worth_trying
from stretto.schema import Schema
from stretto.solve.common.budget import Budget
from stretto.solve.common.solution import Solution
from stretto.solve.units.loads import Capacity
from stretto.stats.estimate import Estimator
from stretto.stats.profile import Stats
from stretto.trends.estimate import estimated as estimated_trends
from stretto.trends.optimize import trend_plan
from stretto.trends.plan import TrendPlan

DEFAULT_BUDGET_S = 5.0
EXPLORING = 0.3
"""The part of the time in which ways are sought: to price them takes twice as long, and what has no price is no way."""
A_FIND, AN_ESTIMATE = 3.5e-5, 2.5e-4
"""Seconds that it takes to find a way, with the pieces that it reads; to estimate the rows of a piece."""
SOLVING = 0.5
"""The part of the time that a solver has at least, however long it took to find what it can choose from."""

LATE, AT_LEAST_S = 2.0, 1.0
"""Times the budget after which no plan is tried any more, and seconds before which that does not matter."""

WITHOUT = " without "
"""Between the name of an optimizer and those of rules that it may not use: a plan made anew keeps to them."""
ON = " on "
OF = " of "
"""Between the name of an optimizer and the number of units that it plans for."""
FOR_TRENDS = {"muse": "auto", "greta": "none"}
"""The names of papers about trends, and what goes by them for detection queries of the same workload."""


def optimize(
    workload: Workload,
    known: Stats | Schema,
    optimizer: str = "auto",
    budget: float | None = None,
    trial: Trial | None = None,
    without: Sequence[str] = (),
    *,
    once: bool = False,
    derive: Derive | None = None,
) -> Plan:
    """The plan for a workload's queries over events with these statistics, or just this schema.

    `budget`: seconds that an optimizer which searches may take. `trial`: how plans are tried on sampled events, by an
    optimizer that compares some; without one the estimates decide. `without`: rules that may not be used.
    `derive`: how sampled events of derived streams are made; without it their terms are assumed. `once`: the
    plan is for the events that were counted alone, and its making should not take longer than it saves. Raises
    QueryError if the workload does not fit the schema or holds a statement that no plan can run.
    """
    time = Budget(DEFAULT_BUDGET_S if budget is None else budget, once=once)
    optimizer = named_without(optimizer, without)
    with uncollected():
        return planned(workload, known, optimizer, recipe_of(optimizer), time, trial, derive)


def planned(
    workload: Workload,
    known: Stats | Schema,
    optimizer: str,
    recipe: Recipe,
    time: Budget,
    trial: Trial | None = None,
    derive: Derive | None = None,
) -> Plan:
    """The same by a recipe, for which the plan has the name of an optimizer."""
    stats = known if isinstance(known, Stats) else Stats.assumed(known)
    bound = workload.bind(stats.schema)
    plan = _of_bound(workload, bound, stats, known, optimizer, recipe, time, trial, derive)
    if plan.estimate is None:
        return plan
    alone = plan.estimate.cost if recipe is RECIPES["none"] else plan.estimate.alone
    estimate = replace(plan.estimate, alone=alone, events=stats.events, rate=stats.total_rate)
    return replace(plan, estimate=estimate)


def _of_bound(
    workload: Workload,
    written: BoundWorkload,
    stats: Stats,
    known: Stats | Schema,
    optimizer: str,
    recipe: Recipe,
    time: Budget,
    trial: Trial | None,
    derive: Derive | None = None,
    *,
    priced: bool = False,
) -> Plan:
    """The plan of a workload's bound form. `priced`: for its cost alone, with just the families that are there."""
    families = written if priced else gathered(written) if recipe.templates else _one_by_one(written)
    found = settled(families, stats)
    bound = found.bound
    streams = needed_streams(bound)
    mops = None
    if recipe.mops:
        made, queries = apart_from_families(streams, found)
        names = {stream.name for stream in made}
        whole = [query for query in queries if recipe.shared_whole(query, names)]
        mops = recipe.merge(operators_of(made, whole), stats)
    counted = stats
    if streams or (mops is not None and mops.shares):
        if derive is not None and isinstance(known, Stats):
            none = RECIPES["none"]
            draft = _behind_a_front(workload, bound, streams, stats, known, "none", none, time, None)
            counted = with_derived(stats, reading_entries(draft, found), derive)
        plan = _behind_a_front(workload, bound, streams, counted, known, optimizer, recipe, time, mops)
    else:
        plan = _planned(workload, bound, stats, known, optimizer, recipe, time, trial)
    plan = routed(plan, found, counted)
    if priced:
        return plan
    alike = gathered(written)
    if plan.estimate is None or not (alike.templates or (mops is not None and mops.shares)):
        return plan

    def price(queries: BoundWorkload) -> float:
        small = _of_bound(workload, queries, stats, known, "none", RECIPES["none"], time, None, priced=True)
        return 0.0 if small.estimate is None else small.estimate.cost

    estimate = plan.estimate
    alone = estimate.alone if recipe is RECIPES["none"] else cost_of_none(alike, price)
    templates = cost_of_templates(alike, price) if found.routes else None
    return replace(plan, estimate=replace(estimate, alone=alone, templates=templates))


def _one_by_one(bound: BoundWorkload) -> BoundWorkload:
    """A workload whose queries that were written one by one stand so, however alike they are."""
    written = [family for family in bound.templates if family.names is not None]
    queries = (*bound.detections, *(query for family in written for query in family.queries()))
    templates = tuple(family for family in bound.templates if family.names is None)
    return replace(bound, detections=queries, templates=templates)


def _behind_a_front(
    workload: Workload,
    bound: BoundWorkload,
    streams: Sequence[DerivedStream],
    stats: Stats,
    known: Stats | Schema,
    optimizer: str,
    recipe: Recipe,
    time: Budget,
    mops: MPlan | None,
) -> Plan:
    """The plan of queries over derived streams, with what makes these."""
    stages = sum(1 for _ in in_stages(streams)) + 1

    def plan_of(queries: BoundWorkload, extended: Stats) -> Plan:
        schema = known if isinstance(known, Schema) else extended
        return _planned(
            workload, queries, extended, schema, optimizer, recipe, time.of(time.seconds / stages), None
        )

    def of_stage(queries: tuple[Query, ...], extended: Stats) -> Plan:
        return plan_of(BoundWorkload(queries, text=bound.text, file=bound.file), extended)

    found = fronted(bound, streams, stats, of_stage, mops)
    plan = plan_of(found.bound, found.stats)
    plan = listing_leaves(plan, found.bound.detections, found.front.leaves, found.front.names)
    plan = with_members(plan, found.merged)
    estimate = plan.estimate
    if estimate is not None:
        more = found.front.cost
        bound_below = None if estimate.lower_bound is None else estimate.lower_bound + more
        alone = estimate.alone + found.front.unshared_cost
        estimate = replace(estimate, cost=estimate.cost + more, alone=alone, lower_bound=bound_below)
    return replace(plan, schema=stats.schema, front=found.front, estimate=estimate)


def _planned(
    workload: Workload,
    bound: BoundWorkload,
    stats: Stats,
    known: Stats | Schema,
    optimizer: str,
    recipe: Recipe,
    time: Budget,
    trial: Trial | None,
) -> Plan:
    detections = as_read(plannable(bound), recipe)
    memo, pricing = explored(detections, stats, recipe, time)
    solution = recipe.solve(memo, pricing, time.at_least(SOLVING))
    model = pricing if isinstance(pricing, CostModel) else model_of(stats)
    # A bound in another cost than the model's says nothing here.
    bounded = solution if model is pricing else replace(solution, lower_bound=None)
    # Figures made up for a bare schema are nobody's business.
    measured = known if isinstance(known, Stats) else None
    trends = _trends(bound, measured, optimizer, model)

    def plan_of(found: Solution) -> Plan:
        builder = Builder(stats.schema.attributes)
        emits = assemble(detections, memo, found, builder, None if measured is None else model)
        estimate = None
        if measured is not None:
            estimate = estimated(memo, found, builder, emits, model, trends, time)
        records = tuple(builder.records)
        plan = Plan(
            tuple(builder.ops),
            emits,
            records,
            stats.schema,
            optimizer,
            estimate,
            workload,
            trends,
            replay=found.replay,
        )
        return check(plan)

    plan = plan_of(bounded)
    if trial is None or measured is None or not recipe.rivals or not worth_trying(plan, measured):
        return plan
    if time.spent > max(LATE * time.seconds, AT_LEAST_S):
        return plan
    assert plan.estimate is not None
    always = plan.estimate.cost - solution.cost(memo, model)
    rivals = (
        Rival(
            always + rival.cost(memo, model),
            partial(plan_of, replace(rival, lower_bound=bounded.lower_bound)),
        )
        for rival in recipe.rivals(memo, model, solution, time)
    )
    return best_tried(plan, rivals, measured, model, trial, time)


def _trends(bound: BoundWorkload, stats: Stats | None, optimizer: str, model: CostModel) -> TrendPlan | None:
    """The plan of a workload's trend queries, if it has any; with statistics also what it costs."""
    if not bound.trends:
        return None
    found = trend_plan(
        bound.trends, stats, TREND_RECIPES.get(optimizer.partition(WITHOUT)[0], TREND_RECIPES["auto"])
    )
    if stats is None:
        return found
    return replace(found, estimate=estimated_trends(found, stats, model.prices.update))


@contextmanager
def uncollected() -> Iterator[None]:
    """No search for garbage in cycles meanwhile: there is next to none, and the memo is all that it would look at."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def recipe_of(optimizer: str) -> Recipe:
    """The recipe of a named optimizer, `NAME`, `NAME on UNITS [of IOTA,KAPPA]` or `NAME without RULE,RULE`.

    Errors say which names there are.
    """
    name, _, left_out = optimizer.partition(WITHOUT)
    name, _, units = name.partition(ON)
    units, _, able = units.partition(OF)
    known = {**RECIPES, **{name: RECIPES[same] for name, same in FOR_TRENDS.items()}}
    if name not in known:
        hint = f", {found}" if (found := near(name, known)) else ""
        raise StrettoError(f"unknown optimizer `{name}`{hint}; there are: {', '.join(known)}")
    capacity = Capacity(*map(float, able.split(","))) if able else None
    recipe = known[name].for_units(int(units), capacity) if units.isdecimal() else known[name]
    return without_rules(recipe, left_out.split(",")) if left_out else recipe


def named_for(optimizer: str, units: int | None, capacity: Capacity | None = None) -> str:
    """The name of an optimizer that plans for so many units, which can do so much, if it is one that does."""
    known = RECIPES.get(optimizer)
    if units is None or known is None or known.on_units is None:
        return optimizer
    return f"{optimizer}{ON}{units}" + (f"{OF}{capacity.iota!r},{capacity.kappa!r}" if capacity else "")


def named_without(optimizer: str, without: Sequence[str]) -> str:
    """The name of an optimizer that may not use some of its rules."""
    return f"{optimizer}{WITHOUT}{','.join(without)}" if without else optimizer


def explored(
    detections: Iterable[Detection], stats: Stats, recipe: Recipe, time: Budget | None = None
) -> tuple[Memo, Pricing]:
    """The memo of a workload with the ways that an optimizer considers, and the costs it goes by."""
    memo, pricing = build_memo(detections, as_written=recipe.as_written), recipe.pricing(stats)
    if time is not None:
        time.counting(lambda: A_FIND * memo.found)
        estimator = getattr(pricing, "estimator", None)
        if isinstance(estimator, Estimator):
            time.counting(lambda: AN_ESTIMATE * estimator.made)
    rules = recipe.rules(memo, pricing, inf if time is None else time.left)
    if recipe.prefixes:
        rules = replace(rules, first=(*rules.first, continue_runs))
    if time is None:
        explore(memo, rules)
    else:
        seeking = time.share(EXPLORING)
        explore(memo, rules, over=lambda: seeking.over)
    return memo, pricing


def as_read(detections: Sequence[Detection], recipe: Recipe) -> Sequence[Detection]:
    """Queries as an optimizer reads them: each ANY of single events is one piece, or one for every alternative."""
    return [as_one_piece(one) for one in detections] if recipe.disjunctions else detections


def plannable(bound: BoundWorkload) -> Sequence[Detection]:
    """The queries' normal forms; QueryError names those with terms that no operator can judge."""
    detections = bound.normal_forms()
    mistakes: list[Mistake] = []
    for query, detection in zip(bound.detections, detections, strict=True):
        try:
            for branch in detection.branches:
                refuse_unplannable(branch.piece)
        except NotPlannable as reason:
            mistakes.append(Mistake(f"not supported yet: {reason} (query `{query.name}`)", query.span))
    if mistakes:
        raise QueryError(mistakes, bound.text, bound.file)
    return detections


def refuse_unplannable(piece: Piece) -> None:
    """Raise NotPlannable for the few terms on the repetitions of groups that no operator can judge."""
    if piece.follows:
        return
    piece = tighten(piece)
    growing = piece.growing
    growth_order(piece, growing, [duty(term, piece, growing) for term in piece.terms])
    refuse_entangled(piece, growing)
    for slot in piece.slots:
        if isinstance(slot.source, Group):
            for branch in slot.source.branches:
                refuse_unplannable(branch.piece)
