"""The plan of trend queries as rows of an explanation: the events that they read, and the units that compute them."""

from collections.abc import Sequence

from stretto.explain.model import EVENTS, UNIT, MatStateFigures, Meaning, Row, SharedEdge, TrendEdge
from stretto.explain.numbers import some
from stretto.pattern.describe import conjunction_text, stream_text
from stretto.trends.graph import merged, processing_order
from stretto.trends.plan import Condition, TrendPlan, TrendUnit, UnitPart
from stretto.trends.work import TrendWork


def trend_rows(plan: TrendPlan, first: int, done: TrendWork | None) -> list[Row]:
    """The rows of a plan, numbered from `first` on: nodes in the order of the SEQs, then units."""
    places = _places(plan, first)
    nodes = [_node(plan, node, place, done) for node, place in places.items()]
    after = first + len(nodes)
    return [*nodes, *(_unit(plan, number, after, places, done) for number in range(len(plan.units)))]


def trend_edges(plan: TrendPlan, first: int) -> tuple[TrendEdge, ...]:
    """The edges between nodes whose rows are numbered from `first` on, with what is shared along them."""
    places = _places(plan, first)
    return tuple(
        TrendEdge(
            places[labelled.edge.source],
            places[labelled.edge.target],
            _condition_text(labelled.edge.condition),
            labelled.is_loop,
            tuple(_names(plan, queries) for queries in _parted(plan, number)),
            tuple(
                SharedEdge(_names(plan, one.queries), places[one.matpoint], one.matstates, one.benefit)
                for one in plan.decisions
                if one.edge == number
            ),
        )
        for number, labelled in enumerate(plan.edges)
    )


def _places(plan: TrendPlan, first: int) -> dict[int, int]:
    """The row of every node, in the order of rows."""
    return {node: first + turn for turn, node in enumerate(processing_order(merged(plan.automata)))}


def _node(plan: TrendPlan, node: int, place: int, done: TrendWork | None) -> Row:
    name, (starts, ends) = _node_name(plan, node), _entries(plan, node)
    words = [f"events {name}", *(f"starts {some(starts)}" for _ in starts[:1])]
    words += (f"ends {some(ends)}" for _ in ends[:1])
    return Row(
        place,
        EVENTS,
        (),
        "  ".join(words),
        Meaning(lambda: plan.nodes[node], lambda: name),
        _names(plan, [query for query, places in enumerate(plan.places) if node in places]),
        "merge_streams",
        None if plan.estimate is None else plan.estimate.nodes[node],
        measured=None if done is None else done.nodes[node],
        is_shared=any(node in _of(unit, unit.shared) for unit in plan.units),
        is_matpoint=any(node in _of(unit, unit.entries) for unit in plan.units),
    )


def _unit(plan: TrendPlan, number: int, first: int, places: dict[int, int], done: TrendWork | None) -> Row:
    """A unit takes the events of its nodes."""
    unit, known = plan.units[number], plan.estimate
    inputs = tuple(sorted({places[node] for node in unit.nodes}))
    rest = _sharing_text(plan, unit)
    work = None if done is None else done.units[number]
    matstates = None
    if unit.shared:
        rate = None if known is None else known.units[number].matstates
        matstates = (
            MatStateFigures(rate)
            if work is None
            else MatStateFigures(rate, work.matstates, work.shared, work.turns)
        )
    return Row(
        first + number,
        UNIT,
        inputs,
        f"trends {' '.join(f'n{place}' for place in inputs)} {rest}",
        Meaning(
            lambda: unit, lambda: f"{', '.join(_node_name(plan, n) for n in sorted(set(unit.nodes)))} {rest}"
        ),
        _names(plan, [member.query for member in unit.members]),
        "compute_alone" if not unit.shared else "share_trends" if len(unit.members) > 1 else "share_windows",
        None if known is None else sum(known.nodes[node] for node in set(unit.nodes)),
        None if known is None else known.units[number].cost,
        None if work is None else work.events,
        None if work is None else work.seconds,
        is_shared=bool(unit.shared),
        matstates=matstates,
    )


def _sharing_text(plan: TrendPlan, unit: TrendUnit) -> str:
    """A unit's partition, and what it shares from which MatPoints: `by k share B from B`.

    Of several parts, each with how many of the queries share it: `share A from A (5); B from B (3)`.
    """
    parts = [f"by {', '.join(unit.partition)}"] if unit.partition else []
    if not unit.parts:
        return " ".join([*parts, "alone"])
    whose = "" if len(unit.members) > 1 else " over overlapping windows"
    shared = (
        _part_text(plan, unit, part) + (f" ({len(part.members)})" if len(unit.parts) > 1 else whose)
        for part in unit.parts
    )
    return " ".join([*parts, f"share {'; '.join(shared)}"])


def _part_text(plan: TrendPlan, unit: TrendUnit, part: UnitPart) -> str:
    shared, points = (
        ", ".join(_node_name(plan, node) for node in _of(unit, local)) for local in (part.nodes, part.entries)
    )
    return f"{shared} from {points}"


def _of(unit: TrendUnit, local: Sequence[int]) -> list[int]:
    """Nodes of the graph by their places in a unit."""
    return [unit.nodes[node] for node in local]


def _names(plan: TrendPlan, queries: Sequence[int]) -> tuple[str, ...]:
    return tuple(plan.queries[query].name for query in queries)


def _node_name(plan: TrendPlan, number: int) -> str:
    """The stream of a node; a further copy of it is numbered: `B`, `B#2`."""
    node = plan.nodes[number]
    return stream_text(node.stream) + (f"#{node.copy + 1}" if node.copy else "")


def _entries(plan: TrendPlan, node: int) -> tuple[list[str], list[str]]:
    """The queries that start, and those that end, at a node."""
    starts: list[str] = []
    ends: list[str] = []
    for query, automaton in enumerate(plan.automata):
        for entries, found in ((automaton.starts, starts), (automaton.ends, ends)):
            at_node = sum(plan.places[query][entry.node] == node for entry in entries)
            found.extend([plan.queries[query].name] * at_node)
    return starts, ends


def _parted(plan: TrendPlan, edge: int) -> list[tuple[int, ...]]:
    """The queries that have an edge, in the sets that share it; a set of one computes it alone."""
    sets = [decision.queries for decision in plan.decisions if decision.edge == edge]
    shared = {query for queries in sets for query in queries}
    alone = [(query,) for query in plan.edges[edge].queries if query not in shared]
    return sorted([*sets, *alone])


def _condition_text(condition: Condition | None) -> str:
    """`earlier.x < later.x`, of neighbours; empty where it always holds."""
    alternatives = [conjunction_text(terms, ("earlier", "later")) for terms in condition or ()]
    if len(alternatives) > 1:
        alternatives = [f"({one})" if " AND " in one else one for one in alternatives]
    return " OR ".join(alternatives)
