"""Where nodes of layered graphs stand."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.explain.html.barycenter import rows_of, spaced

NEAR = 1e-6


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ([], []),
        ([3.0], [3.0]),
        ([0.0, 5.0], [0.0, 5.0]),
        ([2.0, 2.0], [1.5, 2.5]),
        ([0.0, 4.0, 4.0, 4.0, 9.0], [0.0, 3.0, 4.0, 5.0, 9.0]),
    ],
)
def test_spaced(wanted: list[float], found: list[float]) -> None:
    assert spaced(wanted) == pytest.approx(found)


@given(st.lists(st.floats(-50, 50), max_size=12))
def test_spaced_is_nearest(wanted: list[float]) -> None:
    wanted.sort()
    found = spaced(wanted)
    assert all(other - one >= 1 - NEAR for one, other in pairwise(found))
    apart = sum((a - b) ** 2 for a, b in zip(found, wanted, strict=True))
    for at in range(len(wanted)):  # no end of a run that touches can be moved to where it would be better
        for step in (0.01, -0.01):
            run = range(at, len(wanted)) if step > 0 else range(at + 1)
            moved = [row + step * (place in run) for place, row in enumerate(found)]
            assert sum((a - b) ** 2 for a, b in zip(moved, wanted, strict=True)) >= apart - NEAR


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[int], list[tuple[int, int]]]:
    columns = draw(st.lists(st.integers(0, 4), min_size=1, max_size=25))
    nodes = st.integers(0, len(columns) - 1)
    pairs = draw(st.lists(st.tuples(nodes, nodes), max_size=40))
    return columns, [(a, b) for a, b in pairs if columns[a] != columns[b]]


@given(graphs())
def test_nodes_of_a_column_do_not_overlap(graph: tuple[list[int], list[tuple[int, int]]]) -> None:
    columns, edges = graph
    rows = rows_of(columns, edges)
    assert min(rows) == 0
    for column in set(columns):
        mine = sorted(row for row, at in zip(rows, columns, strict=True) if at == column)
        assert all(other - one >= 1 - NEAR for one, other in pairwise(mine))
    assert rows == rows_of(columns, edges)


def test_pairs_that_cross_are_untangled() -> None:
    columns, edges = [0, 0, 0, 1, 1, 1], [(0, 5), (1, 4), (2, 3)]
    rows = rows_of(columns, edges)
    assert all(rows[one] == pytest.approx(rows[other]) for one, other in edges)
