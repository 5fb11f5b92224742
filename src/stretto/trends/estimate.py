"""What a plan of trend queries is expected to do, by the model of this engine's costs, whichever optimizer made it."""

from collections.abc import Iterator, Sequence

from stretto.stats.estimate import MICROSECONDS
from stretto.stats.profile import Stats
from stretto.trends.benefit import Costs
from stretto.trends.graph import TrendGraph, merged
from stretto.trends.judge import Judge, SharedPart
from stretto.trends.plan import Edge, TrendEstimate, TrendPlan, TrendUnit, UnitEstimate, UnitPart
from stretto.trends.rates import Rates


def estimated(plan: TrendPlan, stats: Stats, price: float = 1.0) -> TrendEstimate:
    """The estimate of a plan over events with these statistics; plans of the same queries can be compared by it.

    `price` is that of an update of one value by one event, in nanoseconds.
    """
    graph = merged(plan.automata)
    rates = Rates(graph.nodes, graph.repeated, stats)
    judge = Judge(graph, plan.queries, rates)
    nodes = tuple(rates.events(node, int(MICROSECONDS), ()) for node in range(len(graph.nodes)))
    units = (_unit(judge, unit) for unit in plan.units)
    return TrendEstimate(
        nodes, tuple(UnitEstimate(one.matstates, price * one.cost, price * one.alone) for one in units)
    )


def _unit(judge: Judge, unit: TrendUnit) -> UnitEstimate:
    """Costs are updates of one value by one event."""
    parts = [part_of(judge.graph, unit, part) for part in unit.parts]
    queries = [member.query for member in unit.members]
    alone = {(query, edge): cost for query in queries for edge, cost in _alone(judge, query)}
    shared = {(query, edge) for part in parts for query in part.queries for edge in part.edges}
    cost = sum(own for place, own in alone.items() if place not in shared)
    rate = 0.0
    for part in parts:
        matstates = judge.matstates(part)
        for edge in part.edges:
            found = _costs(judge, edge, part, matstates)
            cost += found.shared + found.evaluation
        rate += matstates * _times(judge, part, sorted(judge.entries(part)))
    return UnitEstimate(rate, cost, sum(alone.values()))


def part_of(graph: TrendGraph, unit: TrendUnit, part: UnitPart) -> SharedPart:
    """What queries of a unit share, by nodes and edges of the graph."""
    numbers = {labelled.edge: number for number, labelled in enumerate(graph.edges)}
    edges = (Edge(unit.nodes[one.source], unit.nodes[one.target], one.condition) for one in part.edges)
    return SharedPart(
        frozenset(unit.members[place].query for place in part.members),
        frozenset(unit.nodes[node] for node in part.nodes),
        frozenset(numbers[edge] for edge in edges),
    )


def _alone(judge: Judge, query: int) -> Iterator[tuple[int, float]]:
    """The edges of a query with their costs where it shares nothing: the same in every plan."""
    mine = SharedPart(frozenset({query}), frozenset(judge.graph.places[query]), judge.graph.of_query[query])
    for edge in judge.graph.of_query[query]:
        yield edge, _costs(judge, edge, mine, 1.0).alone


def _costs(judge: Judge, edge: int, part: SharedPart, matstates: float) -> Costs:
    """The costs of an edge per second."""
    found = judge.model(judge.load(edge, part, matstates))
    times = _times(judge, part, (judge.graph.edges[edge].edge.target,))
    return Costs(found.alone * times, found.shared * times, found.evaluation * times)


def _times(judge: Judge, part: SharedPart, nodes: Sequence[int]) -> float:
    """How often per second what happens in one window and one partition does: with conditions in every window, else
    in as many of them as lie side by side.
    """
    first = min(part.queries)
    partition, conditioned = judge.classes[first]
    window = judge.window(part.queries)
    all_of_them = sum(judge.rates.events(node, window, ()) for node in nodes)
    of_one = sum(judge.rates.events(node, window, partition) for node in nodes)
    period = window if conditioned is None else judge.queries[first].slide_us
    return all_of_them / of_one * MICROSECONDS / period if of_one else 0.0
