from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.trends.shapes import figure_queries, parsed, shapes, trend

from stretto.pattern.nodes import Stream
from stretto.trends.automaton import automaton
from stretto.trends.graph import TrendGraph, cycles, merged, processing_order
from stretto.trends.plan import Edge, GraphNode, LabelledEdge


def graph_of(*queries: Any) -> TrendGraph:
    return merged([automaton(query) for query in queries])


def test_figure_1() -> None:
    graph = graph_of(*figure_queries())
    assert graph.nodes == (GraphNode(Stream("B")), GraphNode(Stream("A")))
    b, a = 0, 1
    assert graph.edges == (
        LabelledEdge(Edge(b, b), (0, 1, 2), is_loop=True),
        LabelledEdge(Edge(a, b), (1, 2), is_step=True),
        LabelledEdge(Edge(b, a), (2,), is_loop=True),
    )
    assert processing_order(graph) == (a, b)
    assert cycles(graph) == {0: {b}, 2: {a, b}}


def test_a_stream_used_twice_has_two_nodes_the_repeated_one_first() -> None:
    graph = graph_of(trend(("+", "B")), trend(("seq", "B", "A", ("+", "B"))))
    assert graph.nodes == (GraphNode(Stream("B")), GraphNode(Stream("B"), 1), GraphNode(Stream("A")))
    assert graph.places == ((0,), (1, 2, 0))
    assert graph.edges[0] == LabelledEdge(Edge(0, 0), (0, 1), is_loop=True)


def test_filters_and_conditions_keep_nodes_and_edges_apart() -> None:
    graph = graph_of(
        *parsed("""
            QUERY q1 PATTERN B b+ WITHIN 10 s RETURN COUNT(*);
            QUERY q2 PATTERN B b+ WHERE b.x > 3 WITHIN 10 s RETURN COUNT(*);
            QUERY q3 PATTERN B b+ WHERE b[i].x > b[i-1].x WITHIN 10 s RETURN COUNT(*);
            QUERY q4 PATTERN B c+ WHERE c[i-1].x < c[i].x WITHIN 10 s RETURN COUNT(*);
        """)
    )
    assert len(graph.nodes) == 2
    assert [labelled.queries for labelled in graph.edges] == [(0,), (1,), (2, 3)]


def test_sequences_that_disagree_about_the_order() -> None:
    graph = graph_of(trend(("seq", "A", "B")), trend(("seq", "B", "A", "C")))
    assert sorted(processing_order(graph)) == [0, 1, 2]
    assert processing_order(graph)[-1] == 2


@given(st.lists(shapes("ABCD"), min_size=1, max_size=5))
def test_every_query_is_in_the_graph_whole(found: list[Any]) -> None:
    graph = graph_of(*map(trend, found))
    for query, known in enumerate(graph.automata):
        places = graph.places[query]
        assert len(set(places)) == len(places)
        assert tuple(graph.nodes[place].stream for place in places) == known.streams
        expected = Counter(Edge(places[e.source], places[e.target], e.condition) for e in known.edges)
        assert Counter(graph.edges[number].edge for number in graph.of_query[query]) == expected


@given(st.lists(shapes("ABCD"), min_size=1, max_size=3))
def test_steps_go_forward_where_they_can(found: list[Any]) -> None:
    graph = graph_of(*map(trend, found[:1]))
    rank = {node: place for place, node in enumerate(processing_order(graph))}
    for labelled in graph.edges:
        if not labelled.is_loop:
            assert rank[labelled.edge.source] < rank[labelled.edge.target]
