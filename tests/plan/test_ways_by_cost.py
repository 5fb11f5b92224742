"""Where repetitions grow, where negations are judged and how joins find keys is decided by cost."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from stretto.engine.whole_table import run
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.ops import Forbid, Join, Op, Repeat
from stretto.plan.optimize import optimize
from stretto.stats.profile import Stats

EVENTS = 20_000
SECOND = 1_000_000

WITH_AND_WITHOUT = (
    "QUERY p PATTERN SEQ(A a, B b+, C c) WITHIN {0} s;"
    " QUERY q PATTERN SEQ(A a, B b+, NOT(D d), C c) WITHIN {0} s;"
)
LAST = "QUERY q PATTERN SEQ(A a, B b+, C c, NOT(D d)) WITHIN 12 s;"
OPERAND = "QUERY q PATTERN AND(SEQ(A a, B b+), NOT(D d)) WITHIN 12 s;"


def events(values: int = 4, count: int = EVENTS) -> pa.Table:
    """About one event per second of four types; `k` has so many values."""
    rng = np.random.default_rng(11)
    return pa.table(
        {
            "id": np.arange(count),
            "type": pa.array(np.array(list("ABCD"))[rng.integers(0, 4, count)]),
            "ts": pa.array(np.sort(rng.integers(0, count * SECOND, count)), pa.timestamp("us")),
            "k": rng.integers(0, values, count),
        }
    )


def planned(text: str, table: pa.Table, optimizer: str = "auto") -> Plan:
    return optimize(Workload.parse(text), Stats.of(table), optimizer, 5.0)


def of_kind(plan: Plan, kind: type[Op]) -> list[int]:
    return [number for number, op in enumerate(plan.ops) if isinstance(op, kind)]


def judged(plan: Plan, table: pa.Table) -> int:
    """How many rows the only negation is judged on."""
    (forbid,) = of_kind(plan, Forbid)
    counters = run(plan, table).counters
    assert counters is not None
    return counters.rows[plan.ops[forbid].inputs[0]]


def assert_same_as_alone(plan: Plan, text: str, table: pa.Table) -> None:
    """What is found is what each query finds alone, as its text says."""
    found, alone = run(plan, table), run(planned(text, table, "none"), table)
    for query in plan.queries:
        one, other = (Counter(map(repr, each[query].to_pylist())) for each in (found, alone))
        assert one == other
        assert one


def test_queries_with_and_without_a_negation_grow_their_rows_once() -> None:
    table, text = events(), WITH_AND_WITHOUT.format(4)
    plan = planned(text, table)
    (repeat,) = of_kind(plan, Repeat)
    assert plan.serves(repeat) == ("p", "q")
    (forbid,) = of_kind(plan, Forbid)
    assert plan.ops[forbid].inputs[0] == repeat
    assert plan.records[forbid].because == "forbid_after_growth"
    assert "forbid_after_growth" in plan.explain()
    assert_same_as_alone(plan, text, table)


def test_where_rows_grow_to_many_they_are_forbidden_before() -> None:
    table, text = events(), WITH_AND_WITHOUT.format(14)
    plan = planned(text, table)
    repeats = of_kind(plan, Repeat)
    assert len(repeats) == 2
    (forbid,) = of_kind(plan, Forbid)
    assert not any(repeat < forbid and repeat in plan.ops[forbid].inputs for repeat in repeats)
    assert_same_as_alone(plan, text, table)


@pytest.mark.parametrize("text", [LAST, OPERAND], ids=["last", "operand"])
def test_a_negation_that_waits_is_judged_before_rows_grow(text: str) -> None:
    table = events()
    plan = planned(text, table)
    (repeat,), (forbid,) = of_kind(plan, Repeat), of_kind(plan, Forbid)
    assert plan.ops[repeat].inputs[0] == forbid
    assert plan.records[repeat].because == "grow_after_forbid"
    assert "grow_after_forbid" in plan.explain()
    assert_same_as_alone(plan, text, table)
    assert 2 * judged(plan, table) < judged(planned(text, table, "none"), table)


def test_queries_with_and_without_repetitions_share_a_negation_that_waits() -> None:
    text = f"{LAST} QUERY p PATTERN SEQ(A a, B b, C c, NOT(D d)) WITHIN 12 s;"
    table = events()
    plan = planned(text, table)
    (forbid,) = of_kind(plan, Forbid)
    assert sorted(plan.serves(forbid)) == ["p", "q"]
    assert_same_as_alone(plan, text, table)


def test_queries_that_differ_in_a_negation_that_waits_share_the_others() -> None:
    text = (
        "QUERY p PATTERN AND(A a, B b, NOT(D d)) WITHIN 6 s;"
        " QUERY q PATTERN AND(A a, B b, NOT(D d), NOT(C c)) WITHIN 6 s;"
    )
    table = events()
    plan = planned(text, table)
    shared, own = of_kind(plan, Forbid)
    assert plan.ops[own].inputs[0] == shared
    assert plan.serves(shared) == ("p", "q")
    assert_same_as_alone(plan, text, table)


def test_queries_that_repeat_some_slots_alike_grow_those_once() -> None:
    text = "QUERY p PATTERN SEQ(A a+, B b+, C c) WITHIN 8 s; QUERY q PATTERN SEQ(A a, B b+, C c) WITHIN 8 s;"
    table = events()
    plan = planned(text, table)
    first, second = of_kind(plan, Repeat)
    assert plan.ops[second].inputs[0] == first
    assert plan.serves(first) == ("p", "q")
    assert plan.records[second].because == "grow_one_more"
    assert_same_as_alone(plan, text, table)


@pytest.mark.parametrize(
    ("values", "within", "hashed"),
    [(2, 300, False), (200, 300, True), (2, 2, True)],
    ids=["few values", "many values", "few rows in the window"],
)
def test_keys_are_hashed_where_that_is_cheaper(values: int, within: int, *, hashed: bool) -> None:
    table, text = events(values), f"QUERY q PATTERN SEQ(A a, B b) WHERE a.k = b.k WITHIN {within} s;"
    plan = planned(text, table)
    (join,) = of_kind(plan, Join)
    op = plan.ops[join]
    assert isinstance(op, Join)
    assert op.hashed is hashed
    assert ("without hashing" in plan.explain()) is not hashed
    assert_same_as_alone(plan, text, table)


def test_without_statistics_keys_are_hashed() -> None:
    table = events()
    workload = Workload.parse("QUERY q PATTERN SEQ(A a, B b) WHERE a.k = b.k WITHIN 9 s;")
    plan = optimize(workload, Stats.of(table).schema, "auto", 5.0)
    assert all(op.hashed for op in plan.ops if isinstance(op, Join))
