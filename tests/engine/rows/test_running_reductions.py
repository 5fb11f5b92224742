"""What grows with a set against the same reduction of the whole set: the same bits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.events import arena_of

from stretto.engine.rows.linked_sets import LinkedNodes, no_events
from stretto.engine.rows.running_reductions import running_reductions
from stretto.pattern.predicates import Reduce
from stretto.schema import Kind
from stretto.values.evaluate import value

DOUBLES = [None, 0.0, -0.0, 0.1, 1.0, 1e16, -1e16, float("nan"), float("inf"), float("-inf")]
WHOLE = [None, 0, 1, -1, 7, 2**62, -(2**62), 2**63 - 1, -(2**63)]


@pytest.mark.parametrize("function", ["SUM", "AVG", "MIN", "MAX"])
@given(
    st.lists(st.sampled_from(DOUBLES), min_size=1, max_size=8),
    st.lists(st.sampled_from(WHOLE), min_size=8, max_size=8),
)
def test_a_set_and_one_more(function, doubles, whole):
    n = len(doubles)
    arena = arena_of(range(n), types=[0] * n, x=doubles, k=whole[:n])
    for attribute, kind in (("x", Kind.FLOAT), ("k", Kind.INT)):
        node = Reduce(function, 0, attribute, Kind.FLOAT if function == "AVG" else kind)
        column = no_events(LinkedNodes(running_reductions([node])), 2)
        for position in range(n):
            column = column.extended(np.full(2, position), arena)
            expected = value(node, (column.plain(),), 2, arena)
            known = column.reduced(node)
            assert known is not None
            assert (known.nulls == expected.nulls).all()
            there = ~known.nulls
            assert known.data.dtype == expected.data.dtype
            assert known.data[there].tobytes() == expected.data[there].tobytes()
