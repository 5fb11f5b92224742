from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.trends.shapes import SCHEMA, SECOND, figure_queries, parsed, shapes, trend

from stretto.papers.muse.cost import paper_costs
from stretto.papers.muse.sharing import choose
from stretto.pattern.nodes import TrendQuery
from stretto.stats.profile import Stats
from stretto.trends.automaton import automaton
from stretto.trends.benefit import Model, engine_costs
from stretto.trends.graph import cycles, merged
from stretto.trends.judge import Judge, SharedPart
from stretto.trends.rates import Rates


def judge_of(
    queries: Sequence[TrendQuery], rates: Mapping[str, float] | None = None, model: Model = paper_costs
) -> Judge:
    graph = merged([automaton(query) for query in queries])
    stats = None if rates is None else Stats(SCHEMA, 1000.0, rates)
    known = Rates(graph.nodes, graph.repeated, stats)
    return Judge(graph, queries, known, model, panes=model is engine_costs)


def labels(judge: Judge) -> dict[str, list[tuple[tuple[int, ...], str]]]:
    """What was decided of each edge: sets of queries and MatPoints."""
    name = [node.stream.type for node in judge.graph.nodes]
    return {
        name[judge.graph.edges[number].edge.source] + name[judge.graph.edges[number].edge.target]: [
            (decision.queries, name[decision.matpoint]) for decision in decisions
        ]
        for number, decisions in choose(judge).decisions.items()
    }


@pytest.mark.parametrize("rates", [None, {"A": 0.001, "B": 1.0}])
def test_figure_3_plan_c(rates: Mapping[str, float] | None) -> None:
    found = labels(judge_of(figure_queries(), rates))
    assert found["BB"] == [((0, 1, 2), "B")]
    assert "BA" not in found


def test_figure_3_plan_a_where_there_is_no_q1() -> None:
    found = labels(judge_of(figure_queries()[1:]))
    assert found["AB"] == [((0, 1), "A")]
    assert found["BB"] in ([((0, 1), "A")], [((0, 1), "B")])


def test_many_matstates_share_nothing() -> None:
    assert labels(judge_of(figure_queries(), {"A": 1.0, "B": 1.0})) == {}


def test_a_shared_loop_makes_its_nodes_be_analysed_again() -> None:
    """Without it, every edge of SEQ(A, B, C)+ would be entered from the third node at any time."""
    queries = [trend(("+", ("seq", "A", "B", "C")), f"q{i}") for i in range(3)]
    judge = judge_of(queries, {"A": 0.5, "B": 1.0, "C": 1.0})
    found = choose(judge)
    assert {found.analyses[node] for node in range(3)} == {2}
    assert len(found.decisions) == 3
    every = (0, 1, 2)
    assert all(decision.queries == every for some in found.decisions.values() for decision in some)
    assert all(decision.matstates == 1.0 for some in found.decisions.values() for decision in some)


@given(st.lists(shapes("ABC"), min_size=1, max_size=6), st.booleans())
def test_a_node_in_t_cycles_is_analysed_at_most_t_and_once(found: list[Any], known: bool) -> None:
    queries = [trend(shape, f"q{number}") for number, shape in enumerate(found)]
    judge = judge_of(queries, {"A": 0.001, "B": 1.0, "C": 0.02} if known else None)
    around = cycles(judge.graph)
    for node, analyses in choose(judge).analyses.items():
        assert 1 <= analyses <= 1 + sum(node in inside for inside in around.values())


@given(st.lists(shapes("ABC"), min_size=1, max_size=6), st.sampled_from([paper_costs, engine_costs]))
def test_decisions_part_the_queries_of_an_edge(found: list[Any], model: Model) -> None:
    queries = [trend(shape, f"q{number}") for number, shape in enumerate(found)]
    judge = judge_of(queries, {"A": 0.01, "B": 1.0, "C": 0.2}, model)
    for number, decisions in choose(judge).decisions.items():
        named = [query for decision in decisions for query in decision.queries]
        assert len(named) == len(set(named))
        assert set(named) <= set(judge.graph.edges[number].queries)
        assert all(decision.benefit > 0.0 and len(decision.queries) > 1 for decision in decisions)


@given(st.lists(st.floats(0.0001, 0.2), min_size=2, max_size=6), st.floats(0.5, 3.0))
def test_pruning_loses_no_better_set(rates: list[float], often: float) -> None:
    """Each query enters B+ from a type of its own: of all sets of queries the best is found."""
    queries = [trend(("seq", f"T{i}", ("+", "B")), f"q{i}") for i in range(len(rates))]
    judge = judge_of(queries, {"B": often, **{f"T{i}": rate for i, rate in enumerate(rates)}})
    b = next(i for i, node in enumerate(judge.graph.nodes) if node.stream.type == "B")
    edge = next(i for i, one in enumerate(judge.graph.edges) if one.edge.source == one.edge.target == b)
    best = max(
        judge.benefit(SharedPart(frozenset(some), frozenset({b}), frozenset({edge})))
        for size in range(2, len(rates) + 1)
        for some in combinations(range(len(rates)), size)
    )
    decided = choose(judge).decisions.get(edge, [])
    assert bool(decided) == (best > 0.0)
    if decided:
        assert decided[0].benefit == pytest.approx(best)


# ---- kept apart --------------------------------------------------------------------------------------------------


def classes_of(text: str) -> list[list[tuple[int, ...]]]:
    judge = judge_of(parsed(text))
    return [[one.queries for one in some] for some in choose(judge).decisions.values()]


def test_other_groups_are_kept_apart() -> None:
    assert classes_of("""
        QUERY q1 PATTERN B b+ GROUP BY k WITHIN 10 s RETURN COUNT(*);
        QUERY q2 PATTERN B b+ WHERE [k] WITHIN 10 s RETURN COUNT(*);
        QUERY q3 PATTERN B b+ GROUP BY x WITHIN 10 s RETURN COUNT(*);
        QUERY q4 PATTERN B b+ WITHIN 10 s RETURN COUNT(*);
    """) == [[(0, 1)]]


def test_other_windows_are_kept_apart_only_with_conditions() -> None:
    assert classes_of("""
        QUERY q1 PATTERN B b+ WITHIN 10 s RETURN COUNT(*);
        QUERY q2 PATTERN B b+ WITHIN 20 s SLIDE 5 s RETURN COUNT(*);
    """) == [[(0, 1)]]
    assert classes_of("""
        QUERY q1 PATTERN B b+ WHERE b[i].x > b[i-1].x WITHIN 10 s RETURN COUNT(*);
        QUERY q2 PATTERN B b+ WHERE b[i].x > b[i-1].x WITHIN 20 s RETURN COUNT(*);
        QUERY q3 PATTERN SEQ(A a, B b+) WHERE b[i].x > b[i-1].x WITHIN 20 s RETURN COUNT(*);
        QUERY q4 PATTERN SEQ(A a, B b+) WHERE b[i].x < b[i-1].x WITHIN 20 s RETURN COUNT(*);
    """) == [[(1, 2)]]


def test_measures_of_others_are_a_burden() -> None:
    """Three sums over B are carried for the query that only counts."""
    plain, burdened = (
        judge_of(
            parsed(f"""
            QUERY q1 PATTERN B b+ WITHIN 10 s RETURN COUNT(*);
            QUERY q2 PATTERN B b+ WITHIN 10 s AGGREGATE {returned};
            """)
        )
        for returned in ("COUNT(*)", "SUM(b.x), SUM(b.y), COUNT(b)")
    )
    part = SharedPart(frozenset({0, 1}), frozenset({0}), frozenset({0}))
    loads = [judge.load(0, part, 1.0) for judge in (plain, burdened)]
    assert [(load.values, load.lanes) for load in loads] == [(2, 1), (7, 6)]


def test_windows_that_overlap_count_as_users() -> None:
    query = trend(("+", "B"), window_us=60 * SECOND, slide_us=SECOND)
    part = SharedPart(frozenset({0}), frozenset({0}), frozenset({0}))
    judge = judge_of([query], {"B": 100.0}, engine_costs)
    assert judge.matstates(part) == 60.0
    assert judge.load(0, part, 1.0).values == 60.0
