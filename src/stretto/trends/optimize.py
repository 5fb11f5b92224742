"""Trend queries to their plan."""

from collections.abc import Callable, Sequence

from stretto.pattern.disjoint_sets import DisjointSets
from stretto.pattern.nodes import TrendQuery
from stretto.records import dataclass
from stretto.stats.profile import Stats
from stretto.trends.automaton import automaton
from stretto.trends.benefit import Model, engine_costs
from stretto.trends.graph import TrendGraph, merged
from stretto.trends.judge import Judge, SharedPart
from stretto.trends.plan import TrendPlan
from stretto.trends.rates import Rates
from stretto.trends.units import Sharing, decisions_of, pane_part, shared_parts, unit_of

Judged = tuple[Judge, SharedPart]


@dataclass(frozen=True, slots=True)
class TrendRecipe:
    """How an optimizer shares trend queries: `share` finds sharing by what a model says it is worth.

    `unmeasured` is the model where there are no statistics. With `panes` the windows of one query that overlap share
    too. An optimizer without `share` computes each query alone.
    """

    name: str
    share: Callable[[Judge], Sharing] | None = None
    model: Model = engine_costs
    unmeasured: Model = engine_costs
    panes: bool = False
    about: str = ""


def trend_plan(queries: Sequence[TrendQuery], stats: Stats | None, recipe: TrendRecipe) -> TrendPlan:
    """The plan of trend queries, every query in one unit, in the order of each unit's first query."""
    graph = merged([automaton(query) for query in queries])
    rates = Rates(graph.nodes, graph.repeated, stats)
    units = _units(_parts(graph, queries, rates, recipe, known=stats is not None))
    decisions = [[one for judge, part in unit for one in decisions_of(judge, part)] for unit in units]
    return TrendPlan(
        tuple(queries),
        graph.automata,
        graph.places,
        graph.nodes,
        graph.edges,
        tuple(
            unit_of(graph, queries, [part for _, part in unit], [judge.entries(part) for judge, part in unit])
            for unit in units
        ),
        tuple(sorted((one for some in decisions for one in some), key=lambda one: (one.edge, one.queries))),
        tuple(sum(one.benefit for one in some) for some in decisions),
        recipe.name,
    )


def _units(judged: Sequence[Judged]) -> list[list[Judged]]:
    """The parts of each unit: those that common queries connect, in the order of the first query."""
    sets = DisjointSets((min(part.queries), query) for _, part in judged for query in part.queries)
    units: dict[int, list[Judged]] = {min(queries): [] for queries in sets.sets()}
    first = {query: min(queries) for queries in sets.sets() for query in queries}
    for judge, part in judged:
        units[first[min(part.queries)]].append((judge, part))
    ordered = (
        sorted(units[query], key=lambda one: (min(one[1].queries), min(one[1].nodes, default=-1)))
        for query in sorted(units)
    )
    return list(ordered)


def _parts(
    graph: TrendGraph, queries: Sequence[TrendQuery], rates: Rates, recipe: TrendRecipe, *, known: bool
) -> list[Judged]:
    """Every query in some part, with the judge of its costs; a part without nodes shares nothing."""
    engine = Judge(graph, queries, rates, engine_costs)
    model = recipe.model if known else recipe.unmeasured
    judge = Judge(graph, queries, rates, model, panes=recipe.panes and model is engine_costs)
    shared = [] if recipe.share is None else shared_parts(judge, recipe.share(judge))
    found = [(judge, part) for part in shared]
    taken = {query for _, part in found for query in part.queries}
    for query in range(len(queries)):
        if query not in taken:
            part = pane_part(engine, query) if recipe.panes else None
            found.append((engine, part or SharedPart(frozenset({query}), frozenset(), frozenset())))
    return found
