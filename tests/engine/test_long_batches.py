"""Long batches, whose events are read where they lie: the matches are those of short ones, which are copied."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from stretto.engine.run import Engine
from stretto.pattern.workload import Workload
from stretto.plan.optimize import optimize
from stretto.schema import Kind, Schema

COUNT = 20_000
SCHEMA = Schema({"x": Kind.FLOAT, "k": Kind.INT, "name": Kind.STRING})
TEXT = """
QUERY pair PATTERN SEQ(A a, B b) WHERE a.x + 0.9 < b.x WITHIN 200 us;
QUERY both PATTERN AND(A a, R r) WHERE a.x < r.x WITHIN 300 us;
QUERY third PATTERN AND(AND(A a, R r), B b) WHERE a.x < r.x AND b.x < 0.1 * r.x AND a.name = b.name WITHIN 300 us;
"""


def events(rng: np.random.Generator, *, disorder: int) -> pa.Table:
    """Many A and B, few R, with nulls among what is read; some come later than their time."""
    ts = np.cumsum(rng.integers(0, 4, COUNT))
    order = np.argsort(ts + rng.integers(0, disorder + 1, COUNT), kind="stable")
    missing = rng.random(COUNT) < 0.01
    columns = {
        "ts": pa.array(ts).cast(pa.timestamp("us")),
        "type": pa.array(rng.choice(["A", "B", "R"], COUNT, p=[0.6, 0.395, 0.005])),
        "x": pa.array(rng.random(COUNT), mask=missing if disorder else None),
        "k": pa.array(rng.integers(0, 9, COUNT)),
        "name": pa.array(rng.choice(["u", "v", "w"], COUNT)),
    }
    return pa.table(columns).take(pa.array(order)).combine_chunks()


def found(table: pa.Table, cuts: list[int], *, given: bool) -> set[str]:
    plan = optimize(Workload.parse(TEXT), SCHEMA, "none")
    ids = pa.array(np.arange(COUNT)[::-1].copy()) if given else None
    table = table if ids is None else table.append_column("id", ids)
    engine = Engine(plan, lateness_us=50)
    ends = [0, *cuts, COUNT]
    parts = [engine.push(table.slice(a, b - a)) for a, b in pairwise(ends)]
    parts.append(engine.flush())
    return {one for part in parts for one in part.to_arrow()["match_id"].to_pylist()}


@pytest.mark.parametrize("disorder", [0, 40])
@pytest.mark.parametrize("given", [False, True])
def test_matches_are_those_of_short_batches(disorder: int, *, given: bool) -> None:
    table = events(np.random.default_rng(15), disorder=disorder)
    expected = found(table, list(range(1_000, COUNT, 1_000)), given=given)
    assert len(expected) > 1_000
    for cuts in ([], [9_000], [6_001, 6_002, 13_000]):
        assert found(table, cuts, given=given) == expected
