from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.trends.shapes import FIGURE, parsed, shapes, trend

from stretto.pattern.describe import term_text
from stretto.pattern.nodes import Atom, Combine, Pattern, Repeat
from stretto.trends.automaton import automaton
from stretto.trends.plan import Automaton, Condition, Edge

Event = tuple[int, str]  # time and type
Trend = tuple[tuple[int, int], ...]  # event, variable


def trends_of(pattern: Pattern, events: list[Event]) -> set[Trend]:
    """All trends, by the definition: parts one after another, repetitions until there are no more."""
    match pattern:
        case Atom(variable, stream):
            return {((i, variable),) for i, (_, kind) in enumerate(events) if kind == stream.type}
        case Combine(_, parts):
            found = trends_of(parts[0], events)
            for part in parts[1:]:
                found = joined(found, trends_of(part, events), events)
            return found
        case Repeat(part, _, _):
            one = trends_of(part, events)
            found, new = set(one), one
            while new := joined(new, one, events) - found:
                found |= new
            return found
    raise AssertionError(pattern)


def joined(left: set[Trend], right: set[Trend], events: list[Event]) -> set[Trend]:
    return {a + b for a in left for b in right if events[a[-1][0]][0] < events[b[0][0]][0]}


def paths(found: Automaton, events: list[Event]) -> int:
    """The number of paths through an automaton without conditions."""
    counts: dict[tuple[int, int], int] = {}
    for i, (ts, kind) in enumerate(events):
        for state, stream in enumerate(found.streams):
            if stream.type == kind:
                counts[i, state] = sum(entry.node == state for entry in found.starts) + sum(
                    counts.get((j, edge.source), 0)
                    for edge in found.edges
                    if edge.target == state
                    for j in range(i)
                    if events[j][0] < ts
                )
    ends = {entry.node for entry in found.ends}
    return sum(count for (_, state), count in counts.items() if state in ends)


events = st.lists(st.tuples(st.integers(0, 6), st.sampled_from("ABC")), max_size=7).map(sorted)


@given(shapes(), events)
def test_paths_are_the_trends(shape: Any, events: list[Event]) -> None:
    query = trend(shape)
    assert paths(automaton(query), events) == len(trends_of(query.pattern, events))


def test_the_counts_of_figure_2() -> None:
    stream = [(1, "A"), (2, "A"), (3, "B"), (4, "B"), (5, "B")]
    assert [paths(automaton(trend(shape)), stream) for shape in FIGURE] == [7, 14, 14]


@given(shapes(most=7))
def test_a_pattern_begins_and_ends_in_one_state(shape: Any) -> None:
    found = automaton(trend(shape))
    assert [entry.node for entry in found.starts] == [0]
    assert [entry.node for entry in found.ends] == [len(found.streams) - 1]
    for number, edge in enumerate(found.edges):
        assert (number in found.loops) == (edge.source >= edge.target)


# ---- terms -------------------------------------------------------------------------------------------------------


def conditions(text: str) -> dict[tuple[int, int], str]:
    """The conditions of a query's edges; those of starts from -1, of ends to -1."""
    (query,) = parsed(f"QUERY q PATTERN {text} WITHIN 10 s RETURN COUNT(*);")
    found = automaton(query)
    known = {(edge.source, edge.target): said(edge.condition) for edge in found.edges}
    known |= {(-1, entry.node): said(entry.condition) for entry in found.starts}
    known |= {(entry.node, -1): said(entry.condition) for entry in found.ends}
    return known


def said(condition: Condition | None) -> str:
    if condition is None:
        return ""
    return " OR ".join(" AND ".join(term_text(term) for term in terms) for terms in condition)


def test_terms_on_one_event_are_of_its_stream() -> None:
    (query,) = parsed(
        "QUERY q PATTERN SEQ(A a, B b+)+ WHERE b.x > 3 AND FIRST(a).x < 2 AND 1 = 1 WITHIN 10 s RETURN COUNT(*);"
    )
    found = automaton(query)
    assert [len(stream.where) for stream in found.streams] == [1, 1]
    assert not found.is_conditioned


def test_neighbours_of_a_repetition() -> None:
    assert conditions("SEQ(A a, B b+)+ WHERE b[i].x > b[i-1].x") == {
        (-1, 0): "",
        (0, 1): "",
        (1, 0): "",
        (1, 1): "0.x < 1.x",
        (1, -1): "",
    }


def test_first_and_last_of_a_repetition() -> None:
    assert conditions("SEQ(A a, B b+)+ WHERE FIRST(b).x > 3 AND LAST(b).x < 2") == {
        (-1, 0): "",
        (0, 1): "1.x > 3",
        (1, 0): "0.x < 2",
        (1, 1): "",
        (1, -1): "0.x < 2",
    }


def test_first_is_on_the_start() -> None:
    assert conditions("B b+ WHERE FIRST(b).x > 3") == {(-1, 0): "0.x > 3", (0, 0): "", (0, -1): ""}


def test_neighbours_of_a_sequence() -> None:
    found = conditions("SEQ(A a, B b+, C c) WHERE a.x < FIRST(b).x AND LAST(b).x = c.x")
    assert found[0, 1] == "0.x < 1.x"
    assert found[1, 2] == "0.x = 1.x"
    assert found[1, 1] == ""


def test_two_repetitions_of_one_part_are_alternatives() -> None:
    found = conditions("(B b+)+ WHERE b[i].x > b[i-1].x AND FIRST(b).y > 3")
    assert found[0, 0] == "0.x < 1.x OR 1.y > 3"
    assert found[-1, 0] == "0.y > 3"


def test_an_alternative_without_terms_is_no_condition() -> None:
    assert conditions("(B b+)+ WHERE b[i].x > b[i-1].x")[0, 0] == ""


def test_equal_terms_written_differently_are_one() -> None:
    left = conditions("B b+ WHERE b[i].x > b[i-1].x")
    assert left == conditions("B b+ WHERE b[i-1].x < b[i].x")


def test_edges_are_ordered() -> None:
    assert automaton(trend(FIGURE[2])).edges == (Edge(0, 1), Edge(1, 0), Edge(1, 1))
