import pytest
from tests.papers.mcep.patterns import (
    RATES,
    common_parts,
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


def graph_of(memo: Memo) -> tuple[MultiPatternGraph, SubPatterns]:
    shapes = SubPatterns(memo)
    graph = MultiPatternGraph()
    for core in memo.cores():
        graph.add(CoreParts(shapes, core))
    return graph, shapes


def common(memo: Memo, one: int, other: int) -> list[str]:
    """The maximal common sub-patterns of two queries, by their types."""
    graph, shapes = graph_of(memo)
    found = common_parts(graph, core_of_query(memo, one), core_of_query(memo, other))
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
    shapes = SubPatterns(memo)
    one, other = (CoreParts(shapes, core_of_query(memo, query)) for query in (0, 1))
    alike = {one[1 << slot][0] for slot in range(3)} & {other[1 << slot][0] for slot in range(3)}
    assert [shapes.forms[shape].slots[0].source.type for shape in alike] == ["C"]
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
    (shape,) = common_parts(graph, three, two)
    assert len(graph.masks(three, shape)) == 2


def test_components() -> None:
    memo = memo_of_patterns(seq("AB"), seq("CD"), seq("ABE"), seq("XCD"), seq("YZ"))
    graph, _ = graph_of(memo)
    cores = [core_of_query(memo, i) for i in range(5)]
    assert graph.components() == [[cores[0], cores[2]], [cores[1], cores[3]], [cores[4]]]


@pytest.mark.parametrize("seed", range(6))
def test_what_patterns_have_in_common_is_looked_up(seed: int) -> None:
    found = patterns_of(random_patterns(seed, windows=(10, 20)), RATES)
    graph = found.graph
    for core in graph:
        parts = found.plans[core].parts
        for shape in {parts[mask][0] for mask in parts.shareable()}:
            having = [other for other in graph if graph.masks(other, shape)]
            assert graph.patterns(shape) == tuple(having)
            assert (shape in graph.vicinity(core)) == (len(having) > 1)
            assert all(parts[mask][0] == shape for mask in graph.masks(core, shape))


def test_patterns_of_many_types_offer_polynomially_many_parts() -> None:
    names = [f"T{i}" for i in range(30)]
    text = "SEQ(" + ", ".join(f"{name} v{i}" for i, name in enumerate(names)) + ")"
    middle = "SEQ(" + ", ".join(f"{name} v{i}" for i, name in enumerate(names[:14])) + ")"
    memo = memo_of_patterns(text, middle)
    shapes = SubPatterns(memo)
    long, short = (CoreParts(shapes, core_of_query(memo, i)) for i in (0, 1))
    assert len(list(long.shareable())) == 29
    assert len(list(short.shareable())) < 14 * 14
    graph = MultiPatternGraph()
    for parts in (long, short):
        graph.add(parts)
    (shape,) = common_parts(graph, short.number, long.number)
    assert graph.masks(short.number, shape) == (short.full,)


def test_shapes_have_their_types() -> None:
    found = patterns_of(memo_of_patterns(seq("AB")), RATES)
    (core,) = found.plans
    assert shape_letters(found.trees, found.plans[core].parts[3][0]) == "AB"
