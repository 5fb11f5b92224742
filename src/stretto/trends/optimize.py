"""Trend queries to their plan."""

from collections.abc import Sequence

from stretto.pattern.nodes import TrendQuery
from stretto.stats.profile import Stats
from stretto.trends.automaton import automaton
from stretto.trends.benefit import engine_costs, paper_costs
from stretto.trends.graph import Graph, merged
from stretto.trends.judge import Judge, Part
from stretto.trends.plan import Decision, Optimizer, TrendPlan
from stretto.trends.rates import Rates
from stretto.trends.sharing import choose
from stretto.trends.units import decisions_of, pane_part, shared_parts, unit_of


def trend_plan(
    queries: Sequence[TrendQuery], stats: Stats | None, optimizer: Optimizer = "auto"
) -> TrendPlan:
    """The plan of trend queries, every query in one unit, in the order of each unit's first query.

    `muse` shares by the paper's model of costs, `auto` by that of this engine, where overlapping windows of one query
    share too; without statistics `auto` shares whatever can be. `none` and `greta` compute each query alone.
    """
    graph = merged([automaton(query) for query in queries])
    rates = Rates(graph.nodes, graph.repeated, stats)
    judged = _parts(graph, queries, rates, optimizer, known=stats is not None)
    judged.sort(key=lambda one: min(one[1].queries))
    decisions = [list(decisions_of(judge, part)) for judge, part in judged]
    return TrendPlan(
        tuple(queries),
        graph.automata,
        graph.places,
        graph.nodes,
        graph.edges,
        tuple(unit_of(graph, queries, part, judge.entries(part)) for judge, part in judged),
        tuple(sorted((one for some in decisions for one in some), key=_place)),
        tuple(sum(one.benefit for one in some) for some in decisions),
        optimizer,
    )


def _parts(
    graph: Graph, queries: Sequence[TrendQuery], rates: Rates, optimizer: Optimizer, *, known: bool
) -> list[tuple[Judge, Part]]:
    """Every query in one part, with the judge of its costs; a part without nodes shares nothing."""
    engine = Judge(graph, queries, rates, engine_costs)
    by_engine = optimizer == "auto" and known
    judge = engine if by_engine else Judge(graph, queries, rates, paper_costs, panes=False)
    shares = optimizer in ("auto", "muse")
    found = [(judge, part) for part in (shared_parts(judge, choose(judge)) if shares else ())]
    taken = {query for _, part in found for query in part.queries}
    for query in range(len(queries)):
        if query not in taken:
            part = pane_part(engine, query) if optimizer == "auto" else None
            found.append((engine, part or Part(frozenset({query}), frozenset(), frozenset())))
    return found


def _place(decision: Decision) -> tuple[int, tuple[int, ...]]:
    return decision.edge, decision.queries
