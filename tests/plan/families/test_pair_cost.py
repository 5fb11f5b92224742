"""What is expected of pairing events with constants: counted on the sample, it decides which events are paired."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from stretto import Stats
from stretto.pattern.nodes import Stream
from stretto.pattern.predicates import Apply, Param, Ref
from stretto.pattern.workload import Workload
from stretto.plan.families.members import Constants
from stretto.plan.families.pair_cost import pairs_per_event
from stretto.plan.front.stages import Projection
from stretto.plan.optimize import optimize
from stretto.schema import Kind, Schema

rng = np.random.default_rng(2)
SIZE = 3_000
EVENTS = pa.table(
    {
        "ts": pa.array(np.arange(SIZE) * 1_000_000, pa.timestamp("us")),
        "type": np.where(np.arange(SIZE) % 3 == 0, "R", "S"),
        "k": pa.array([None if one == 7 else int(one) for one in rng.integers(0, 8, SIZE)], pa.int64()),
        "v": pa.array(rng.normal(0.0, 1.0, SIZE)),
    }
)
STATS = Stats.of(EVENTS)
LIMITS = {"k": [0, 1, 1, 3, 3, 3, 99, None], "v": [-1.0, 0.0, 0.0, 2.0, float("nan"), None, 0.5, -9.0]}


@pytest.mark.parametrize("attribute", ["k", "v"])
@pytest.mark.parametrize("op", ["=", "<", "<=", ">", ">="])
@pytest.mark.parametrize("turned", [False, True])
def test_pairs_are_counted_on_the_sample(attribute: str, op: str, turned: bool) -> None:
    kind = Kind.INT if attribute == "k" else Kind.FLOAT
    entries = Constants({"c": pa.array(LIMITS[attribute], kind.arrow)}, {"c": kind}, len(LIMITS[attribute]))
    sides = Ref(0, attribute, kind), Param("c", kind)
    term = Apply(op, sides[::-1] if turned else sides, Kind.BOOL)
    compare = {"=": np.equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}[op]
    mine = EVENTS.filter(pc.equal(EVENTS["type"], "R"))[attribute].to_pylist()
    found = 0
    for value in mine:
        for limit in LIMITS[attribute]:
            if value is not None and limit is not None:
                found += bool(compare(limit, value) if turned else compare(value, limit))
    assert pairs_per_event(STATS, Stream("R"), entries, (term,)) == pytest.approx(found / len(mine))


def paired(where: str, rows: dict[str, list[int]], known: Stats | Schema = STATS) -> Projection:
    text = f"QUERY q FOR EACH rows r PATTERN SEQ(R a, S b) WHERE {where} WITHIN 9 SECONDS;"
    plan = optimize(Workload.parse(text).table("rows", rows), known, "none")
    assert plan.front is not None
    (stage,) = plan.front.stages
    assert isinstance(stage, Projection)
    return stage


def test_the_events_that_concern_fewer_constants_are_paired() -> None:
    """Both terms are equalities; constants that next to no event has leave next to nothing."""
    rare, common = list(range(100, 140)), [number % 2 for number in range(40)]
    assert paired("a.k = r.one AND b.k = r.two", {"one": common, "two": rare}).source.type == "S"
    assert paired("a.k = r.one AND b.k = r.two", {"one": rare, "two": common}).source.type == "R"


def test_what_is_expected_stands_in_the_plan() -> None:
    stage = paired("a.k = r.one AND b.v > 0", {"one": list(range(7))})
    events = STATS.rate("R")
    assert stage.rows == pytest.approx(events * 7 / 8, rel=0.1)
    assert stage.cost is not None
    assert stage.cost > 0
    bare = paired("a.k = r.one AND b.v > 0", {"one": list(range(7))}, STATS.schema)
    assert bare.rows is None
