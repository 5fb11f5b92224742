from itertools import combinations

import pytest
from tests.papers.mcep.patterns import (
    RATES,
    conj,
    core_of_query,
    memo_of_patterns,
    patterns_of,
    random_patterns,
    seq,
    shape_letters,
)

from stretto.memo.memo import Memo
from stretto.papers.mcep.multi_pattern_graph import MultiPatternGraph
from stretto.papers.mcep.sub_patterns import CoreParts, SubPatterns


def graph_of(memo: Memo, least: int = 2) -> tuple[MultiPatternGraph, SubPatterns]:
    shapes = SubPatterns(memo)
    return MultiPatternGraph([CoreParts(shapes, core) for core in memo.cores()], least), shapes


def common(memo: Memo, one: int, other: int, least: int = 2) -> list[str]:
    """The maximal common sub-patterns of two queries, by their types."""
    graph, shapes = graph_of(memo, least)
    found = graph.common(core_of_query(memo, one), core_of_query(memo, other))
    types = ("".join(slot.source.type for slot in shapes.forms[shape].slots) for shape in found)
    return sorted(types)


def test_types_in_common_under_the_same_order() -> None:
    assert common(memo_of_patterns(seq("ABCD"), seq("AECD"), within=[10, 20]), 0, 1) == ["ACD"]


def test_two_maximal_common_sub_patterns_of_one_pair() -> None:
    # App. A names SEQ(A, B) and SEQ(A, C); B and C are in different orders.
    assert common(memo_of_patterns(seq("ABC"), seq("ACB")), 0, 1) == ["AB", "AC"]


def test_conflicting_terms_make_the_common_part_smaller() -> None:
    # App. A: AND(A, B, C) with A.x < 10 and AND(A, D, C) with A.x >= 10. It gives {A, B} as the types in common and
    # AND(B) as what is left; B is in the first pattern alone, so that {A, C} and AND(C) must be meant.
    memo = memo_of_patterns(conj("ABC") + " WHERE a.x < 10", conj("ADC") + " WHERE a.x >= 10")
    assert common(memo, 0, 1, least=1) == ["C"]
    assert common(memo, 0, 1) == []


def test_a_term_between_two_types_keeps_them_apart_only_together() -> None:
    memo = memo_of_patterns(seq("ABC") + " WHERE a.x < b.x", seq("ABC"))
    assert common(memo, 0, 1) == ["AC", "BC"]


def test_windows_do_not_keep_patterns_apart() -> None:
    assert common(memo_of_patterns(seq("ABC"), seq("ABC"), within=[10, 20]), 0, 1) == ["ABC"]


def test_windows_of_another_unit_do() -> None:
    text = (
        "QUERY q0 PATTERN SEQ(A a, B b) WITHIN 10 SECONDS; QUERY q1 PATTERN SEQ(A a, B b) WITHIN 10 EVENTS;"
    )
    from tests.memo.plain_estimates import memo_of

    assert common(memo_of(text), 0, 1) == []


def test_repetitions_take_part_by_their_cores() -> None:
    assert common(memo_of_patterns("SEQ(A a, B b+, C c)", seq("ABD")), 0, 1) == ["AB"]


def test_negations_take_part() -> None:
    one, other = "SEQ(A a, NOT(N n), B b, C c)", "SEQ(A a, NOT(N n), B b, D d)"
    assert common(memo_of_patterns(one, other), 0, 1) == ["AB"]
    assert common(memo_of_patterns(one, seq("ABD")), 0, 1) == []


def test_a_part_may_stand_in_several_places() -> None:
    memo = memo_of_patterns("AND(A a, A b, B c)", "AND(A a, B b)")
    graph, _ = graph_of(memo)
    three, two = core_of_query(memo, 0), core_of_query(memo, 1)
    (shape,) = graph.common(three, two)
    assert len(graph.masks(three, shape)) == 2


def test_removing_a_pattern_leaves_what_adding_the_others_makes() -> None:
    memo = memo_of_patterns(seq("ABC"), seq("ABD"), seq("BCD"))
    graph, shapes = graph_of(memo)
    gone, *kept = memo.cores()
    graph.remove(gone)
    fresh = MultiPatternGraph([CoreParts(shapes, core) for core in kept])
    assert list(graph.edges()) == list(fresh.edges())
    assert graph._having == fresh._having
    assert gone not in graph
    assert len(graph) == 2


def test_components() -> None:
    memo = memo_of_patterns(seq("AB"), seq("CD"), seq("ABE"), seq("XCD"), seq("YZ"))
    graph, _ = graph_of(memo)
    cores = [core_of_query(memo, i) for i in range(5)]
    assert graph.components() == [[cores[0], cores[2]], [cores[1], cores[3]], [cores[4]]]


@pytest.mark.parametrize("seed", range(6))
def test_maximal_parts_are_those_of_every_pair_compared(seed: int) -> None:
    memo = random_patterns(seed, windows=(10, 20))
    found = patterns_of(memo, RATES)
    graph = found.graph
    parts = {core: found.plans[core].parts for core in graph}
    for one, other in combinations(graph, 2):
        both = {shape for shape in graph._masks[one] if shape in graph._masks[other]}
        largest = {shape for shape in both if not any(_inside(parts[one], graph, shape, s) for s in both)}
        assert set(graph.common(one, other)) == largest == set(graph.common(other, one))


def _inside(parts: CoreParts, graph: MultiPatternGraph, small: int, large: int) -> bool:
    places = graph.masks(parts.number, small), graph.masks(parts.number, large)
    return any(a != b and a & b == a for a in places[0] for b in places[1])


def test_patterns_of_many_types_offer_polynomially_many_parts() -> None:
    names = [f"T{i}" for i in range(30)]
    text = "SEQ(" + ", ".join(f"{name} v{i}" for i, name in enumerate(names)) + ")"
    middle = "SEQ(" + ", ".join(f"{name} v{i}" for i, name in enumerate(names[:14])) + ")"
    memo = memo_of_patterns(text, middle)
    shapes = SubPatterns(memo)
    long, short = (CoreParts(shapes, core_of_query(memo, i)) for i in (0, 1))
    assert len(list(long.shareable())) == 29
    assert len(list(short.shareable())) < 14 * 14
    graph = MultiPatternGraph([long, short])
    (shape,) = graph.common(short.number, long.number)
    assert graph.masks(short.number, shape) == (short.full,)


def test_shapes_have_their_types() -> None:
    found = patterns_of(memo_of_patterns(seq("AB")), RATES)
    (core,) = found.plans
    assert shape_letters(found.trees, found.plans[core].parts[3][0]) == "AB"
