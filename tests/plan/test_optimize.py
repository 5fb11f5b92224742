"""Optimizing: names, refusals, and time that grows no faster than the workload."""

from itertools import product
from random import Random

import pytest

from stretto.errors import QueryError, StrettoError
from stretto.pattern.workload import Workload
from stretto.plan.check import check
from stretto.plan.optimize import optimize
from stretto.schema import Kind, Schema
from stretto.stats.profile import Stats

SCHEMA = Schema({"x": Kind.FLOAT, "k": Kind.INT})


def test_unknown_optimizers_are_refused_with_the_names_there_are() -> None:
    workload = Workload.parse("QUERY q PATTERN SEQ(A a, B b) WITHIN 5 s;")
    with pytest.raises(
        StrettoError, match=r"unknown optimizer `nane`, did you mean `none`.*; there are: none"
    ):
        optimize(workload, SCHEMA, "nane")


def test_statistics_give_the_schema() -> None:
    workload = Workload.parse("QUERY q PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 5 s;")
    assert optimize(workload, Stats(SCHEMA)).ops == optimize(workload, SCHEMA).ops


def test_what_no_plan_can_run_is_refused_where_it_stands() -> None:
    text = """QUERY fine PATTERN SEQ(A a, B b) WITHIN 5 s;
QUERY odd PATTERN SEQ(SEQ(A a, B b)+, NOT(C n)) WHERE a.x < b.x + n.x WITHIN 5 s;"""
    with pytest.raises(QueryError, match=r"not supported yet: .* \(query `odd`\)") as raised:
        optimize(Workload.parse(text, "rules.cep"), SCHEMA)
    assert "rules.cep:2:" in str(raised.value)


def test_only_streams_that_a_query_reads_are_made() -> None:
    stream = "CREATE STREAM s AS SELECT SUM(x) AS x FROM A WITHIN 1 s; "
    front = optimize(Workload.parse(stream + "QUERY q PATTERN s v WITHIN 5 s;"), SCHEMA).front
    assert front is not None
    assert front.names == {"s"}
    assert optimize(Workload.parse(stream + "QUERY q PATTERN A v WITHIN 5 s;"), SCHEMA).front is None


@pytest.mark.parametrize(("optimizer", "units"), [("auto", 1), ("muse", 1), ("none", 2), ("greta", 2)])
def test_trends_have_their_plan_beside_the_operators(optimizer: str, units: int) -> None:
    text = """
    QUERY t PATTERN A a+ WITHIN 5 s RETURN COUNT(*);
    QUERY u PATTERN SEQ(B b, A a+) WITHIN 5 s RETURN COUNT(*);
    QUERY q PATTERN SEQ(A a, B b) WITHIN 7 s;
    """
    plan = optimize(Workload.parse(text), SCHEMA, optimizer)
    assert (list(plan.queries), len(plan.trends.units)) == (["q"], units)
    assert plan.horizon_us == 7_000_000


def test_a_plan_does_not_depend_on_the_order_of_sets() -> None:
    text = "QUERY q PATTERN AND(A a+, OR(B t, C t)+, A b) WHERE [k] AND t.x < a.x WITHIN 5 s;"
    texts = {optimize(Workload.parse(text), SCHEMA).explain() for _ in range(3)}
    assert len(texts) == 1


@pytest.mark.slow
def test_a_thousand_queries_share_their_scans() -> None:
    rng = Random(7)
    triples = rng.sample([t for t in product(range(30), repeat=3) if len(set(t)) == 3], 1000)
    texts = [
        f"QUERY q{i} PATTERN SEQ(T{a} a, T{b} b, T{c} c) WHERE a.x < b.x AND b.x < c.x AND [k] WITHIN 10 s;"
        for i, (a, b, c) in enumerate(triples)
    ]
    workload = Workload.parse("\n".join(texts))
    plan = optimize(workload, SCHEMA, "none")
    assert len(plan.ops) == 30 + 3 * 1000
    assert check(plan) is plan
