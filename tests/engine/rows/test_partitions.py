"""Positions inside partitions."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stretto.engine.rows.partitions import Ranks
from stretto.pattern.predicates import partition_of
from stretto.schema import Kind
from stretto.values.vector import Vector

rows = st.lists(st.tuples(st.sampled_from([0, 1, 2, None]), st.sampled_from([0, 1])), max_size=20)


@given(rows, rows)
def test_ranks_count_the_events_of_each_partition(first, second):
    ranks = Ranks([Kind.INT, Kind.INT])
    counts, expected, found = {}, [], []
    for part in (first, second):
        if not part:
            continue
        vectors = [
            Vector(np.array([row[i] or 0 for row in part]), np.array([row[i] is not None for row in part]))
            for i in range(2)
        ]
        result = ranks.step(vectors)
        found += [int(r) if ok else None for r, ok in zip(result.data, result.valid, strict=True)]
        for row in part:
            expected.append(None if None in row else counts.get(row, 0))
            counts[row] = counts.get(row, 0) + 1
    assert found == expected


def test_partition_names():
    assert partition_of("@position(a,b)") == ("a", "b")
    assert partition_of("@position") == partition_of("price") == ()
