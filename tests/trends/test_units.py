from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.trends.planned import trend_plan
from tests.trends.shapes import SCHEMA, SECOND, figure_queries, parsed, shapes, trend

from stretto.pattern.disjoint_sets import DisjointSets
from stretto.pattern.nodes import Aggregate
from stretto.schema import Kind
from stretto.stats.profile import Stats
from stretto.trends.automaton import automaton
from stretto.trends.graph import merged
from stretto.trends.judge import Judge, SharedPart
from stretto.trends.measures import places_in
from stretto.trends.plan import Edge, Entry, Measure, TrendPlan, TrendUnit, UnitPart
from stretto.trends.rates import Rates
from stretto.trends.units import unit_of

OPTIMIZERS = ["auto", "muse", "none", "greta"]
STATS = Stats(SCHEMA, 1000.0, {"A": 0.002, "B": 5.0, "C": 0.1, "D": 1.0})
MINUTE = 60 * SECOND
WINDOWS = st.sampled_from([(100, 100), (100, 5), (60, 20), (10, 30)])


def check(plan: TrendPlan) -> None:
    """A plan computes what its automata say: every query in one unit, which has all of its automaton once."""
    members = [member.query for unit in plan.units for member in unit.members]
    assert sorted(members) == list(range(len(plan.queries)))
    for unit in plan.units:
        homes = [node for part in unit.parts for node in part.nodes]
        assert len(set(homes)) == len(homes)
        assert set(unit.nodes) == {node for member in unit.members for node in plan.places[member.query]}
        for part in unit.parts:
            check_part(unit, part)
        for place in range(len(unit.members)):
            check_member(plan, unit, place)
        assert len(connected(unit)) == 1
        queries = [plan.queries[member.query] for member in unit.members]
        assert {tuple(sorted({*query.groups, *query.same})) for query in queries} == {unit.partition}
        if unit.is_conditioned:
            assert len({(query.window_us, query.slide_us) for query in queries}) == 1


def connected(unit: TrendUnit) -> list[list[int]]:
    """Members that parts connect."""
    alone = ([place] for place in range(len(unit.members)))
    return DisjointSets([*alone, *(part.members for part in unit.parts)]).sets()


def check_part(unit: TrendUnit, part: UnitPart) -> None:
    shared = set(part.nodes)
    assert part.entries
    assert all(edge.source in shared and edge.target in shared for edge in part.edges)
    members = [unit.members[place] for place in part.members]
    entered = {entry.node for member in members for entry in member.starts}
    entered |= {edge.target for member in members for edge in member.edges}
    assert set(part.entries) == entered & shared


def check_member(plan: TrendPlan, unit: TrendUnit, place: int) -> None:
    member = unit.members[place]
    known, places = plan.automata[member.query], plan.places[member.query]
    local = unit.local_nodes(place)
    here = [local[node] for node in places]
    edges = unit.edges_of(place)
    assert len(set(edges)) == len(edges)
    assert set(edges) == {Edge(here[e.source], here[e.target], e.condition) for e in known.edges}
    for part in unit.parts:
        assert (set(part.nodes) <= set(here)) == (place in part.members)
    for found, expected in ((member.starts, known.starts), (member.ends, known.ends)):
        assert list(found) == [Entry(here[entry.node], entry.condition) for entry in expected]


@st.composite
def workloads(draw: st.DrawFn) -> list[Any]:
    found = []
    for number in range(draw(st.integers(1, 7))):
        shape = draw(st.one_of(shapes("ABC"), st.sampled_from([("+", "B"), ("seq", "A", ("+", "B"))])))
        window, slide = draw(WINDOWS)
        groups = draw(st.sampled_from([(), (), ("k",)]))
        found.append(
            trend(shape, f"q{number}", window_us=window * SECOND, slide_us=slide * SECOND, groups=groups)
        )
    return found


@given(workloads(), st.sampled_from(OPTIMIZERS), st.sampled_from([None, STATS]))
def test_every_query_is_computed_whole_in_one_unit(queries: Any, optimizer: Any, stats: Stats | None) -> None:
    plan = trend_plan(queries, stats, optimizer)
    check(plan)
    if optimizer in ("none", "greta"):
        assert all(not unit.shared and len(unit.members) == 1 for unit in plan.units)
    for unit, benefit in zip(plan.units, plan.benefits, strict=True):
        assert (benefit > 0.0) == bool(unit.shared)


@given(st.lists(st.sampled_from(range(8)), min_size=1, max_size=8), st.sampled_from(OPTIMIZERS))
def test_units_with_conditions(chosen: list[int], optimizer: Any) -> None:
    texts = (
        "SEQ(A a, B b+) WHERE b[i].x > b[i-1].x",
        "SEQ(C c, B b+) WHERE b[i].x > b[i-1].x",
        "SEQ(A a, B b+)+ WHERE b[i].x > b[i-1].x AND a.x < FIRST(b).x",
        "B b+ WHERE FIRST(b).x > 1 AND b[i].x > b[i-1].x",
        "(B b+)+ WHERE b[i].x > b[i-1].x AND LAST(b).x > 1",
        "SEQ(A a, B b+)",
        "B b+",
        "SEQ(B b1, B b2+, A a)+ WHERE b1.x = a.x".replace("b1.x = a.x", "LAST(b2).x = a.x"),
    )
    text = "".join(
        f"QUERY q{number} PATTERN {texts[one]} WITHIN {10 * (1 + number % 2)} s RETURN COUNT(*);"
        for number, one in enumerate(chosen)
    )
    check(trend_plan(parsed(text), None, optimizer))


def test_plan_c_of_figure_3_as_a_unit() -> None:
    plan = trend_plan(figure_queries(), None, "muse")
    (unit,) = plan.units
    b, a = 0, 1
    assert (unit.shared, unit.entries, unit.edges) == ((b,), (b,), (Edge(b, b),))
    assert [member.edges for member in unit.members] == [(), (Edge(a, b),), (Edge(a, b), Edge(b, a))]
    assert [member.starts for member in unit.members] == [(Entry(b),), (Entry(a),), (Entry(a),)]
    check(plan)


def test_an_own_edge_inside_the_shared_nodes() -> None:
    """q2 and q3 share SEQ(A, B+) from A; q3 goes back from B to A by itself."""
    queries = figure_queries()[1:]
    graph = merged([automaton(query) for query in queries])
    both, nodes = frozenset({0, 1}), frozenset({0, 1})
    part = SharedPart(both, nodes, graph.common_edges(both, nodes))
    judge = Judge(graph, queries, Rates(graph.nodes, graph.repeated, STATS))
    unit = unit_of(graph, queries, [part], [judge.entries(part)])
    a, b = 0, 1
    assert set(unit.edges) == {Edge(a, b), Edge(b, b)}
    assert unit.entries == (a,)
    assert [member.edges for member in unit.members] == [(), (Edge(b, a),)]
    assert judge.entering(1, part) == {b}


def test_a_query_may_be_in_two_shared_parts() -> None:
    """q0 .. q3 repeat B, q3 and q4 repeat D: q3 shares with both."""
    queries = [trend(("seq", "A", ("+", "B")), f"q{i}") for i in range(3)]
    queries += [trend(("seq", ("+", "B"), "C", ("+", "D")), "q3"), trend(("seq", "A", ("+", "D")), "q4")]
    plan = trend_plan(queries, None, "muse")
    (unit,) = plan.units
    assert shared_types(plan, unit) == {(0, 1, 2, 3): {"B"}, (3, 4): {"D"}}
    check(plan)


def shared_types(plan: TrendPlan, unit: TrendUnit) -> dict[tuple[int, ...], set[str]]:
    """Per part its queries and the types of its nodes."""
    return {
        tuple(unit.members[place].query for place in part.members): {
            plan.nodes[unit.nodes[node]].stream.type for node in part.nodes
        }
        for part in unit.parts
    }


CROSSING_RATES = {
    f"{kind}{i}": rate for kind, rate in {"S": 0.01, "A": 0.5, "B": 9.0}.items() for i in range(5)
}


@pytest.mark.parametrize(
    ("optimizer", "stats"),
    [("auto", None), ("muse", None), ("auto", Stats(SCHEMA, 1000.0, CROSSING_RATES))],
    ids=["auto", "muse", "auto with rates"],
)
def test_crossing_queries_share_both_edges(optimizer: str, stats: Stats | None) -> None:
    """25 queries SEQ(Si, Ai+, Bj+): each Ai+ is shared by five, and each Bj+ by five others."""
    pairs = [(i, j) for i in range(5) for j in range(5)]
    queries = [
        trend(
            ("seq", f"S{i}", ("+", f"A{i}"), ("+", f"B{j}")),
            f"q{i}{j}",
            window_us=MINUTE,
            slide_us=10 * SECOND,
        )
        for i, j in pairs
    ]
    plan = trend_plan(queries, stats, optimizer)
    (unit,) = plan.units
    shared = shared_types(plan, unit)
    for i in range(5):
        first = tuple(n for n, pair in enumerate(pairs) if pair[0] == i)
        last = tuple(n for n, pair in enumerate(pairs) if pair[1] == i)
        assert f"A{i}" in shared[first]
        assert shared[last] == {f"B{i}"}
    decided = {
        (plan.nodes[plan.edges[one.edge].edge.target].stream.type, len(one.queries)) for one in plan.decisions
    }
    assert {(f"{kind}{i}", 5) for kind in "AB" for i in range(5)} <= decided
    check(plan)


def test_two_parts_of_the_same_queries_are_one_unit() -> None:
    shape = ("seq", ("+", "B"), "C", ("+", "D"))
    queries = [trend(("seq", first, shape), f"q{first}") for first in "EFGHIJKL"]
    rates = {"B": 9.0, "C": 0.001, "D": 9.0, **dict.fromkeys("EFGHIJKL", 0.001)}
    plan = trend_plan(queries, Stats(SCHEMA, 1000.0, rates), "auto")
    (unit,) = plan.units
    kinds = {plan.nodes[unit.nodes[node]].stream.type for node in unit.shared}
    assert {"B", "D"} <= kinds


def test_overlapping_windows_of_one_query_share() -> None:
    query = trend(("seq", "A", ("+", "B")), window_us=60 * SECOND, slide_us=SECOND)
    for stats in (None, Stats(SCHEMA, 1000.0, {"A": 10.0, "B": 100.0})):
        (unit,) = trend_plan([query], stats, "auto").units
        assert unit.shared
        assert len(unit.members) == 1
    (unit,) = trend_plan([trend(("seq", "A", ("+", "B")))], None, "auto").units
    assert unit.shared == ()


def test_measures_are_of_local_nodes_linear_ones_first() -> None:
    aggregates = (
        Aggregate("COUNT(*)", "COUNT", None, "", Kind.INT),
        Aggregate("MIN(b.x)", "MIN", 1, "x", Kind.INT),
        Aggregate("AVG(b.x)", "AVG", 1, "x", Kind.INT),
        Aggregate("COUNT(b)", "COUNT", 1, "", Kind.INT),
    )
    plan = trend_plan([trend(("seq", "A", ("+", "B")), aggregates=aggregates)], None)
    (member,) = plan.units[0].members
    assert member.measures == (
        Measure(1, "x", "known"),
        Measure(1, "", "occurrences"),
        Measure(1, "x", "sum"),
        Measure(1, "x", "min"),
    )
    assert places_in(plan, plan.units[0], 0) == (
        {},
        {"known": 0, "min": 3},
        {"occurrences": 1, "sum": 2, "known": 0},
        {"occurrences": 1},
    )
