"""Generated workloads as text: reproducible, readable, and right for their streams."""

import pytest

from stretto.errors import StrettoError
from stretto.generate.streams import generate
from stretto.generate.workloads import KINDS, workload
from stretto.pattern.workload import Workload
from stretto.plan.optimize import optimize
from stretto.schema import Schema


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [0, 7])
def test_every_query_binds_and_can_be_planned(kind: str, seed: int) -> None:
    table = generate(KINDS[kind].stream, 2_000)
    text = workload(kind, 40, seed)
    parsed = Workload.parse(text)
    assert len(parsed) == 40
    schema = Schema.of(table.schema, table["type"].combine_chunks().dictionary.to_pylist())
    plan = optimize(parsed, schema, "none")
    assert len(plan.queries) + (len(plan.trends.queries) if plan.trends else 0) == 40


@pytest.mark.parametrize("kind", KINDS)
def test_reproducible_by_seed(kind: str) -> None:
    assert workload(kind, 30, 5) == workload(kind, 30, 5)
    assert workload(kind, 30, 5) != workload(kind, 30, 6)


@pytest.mark.parametrize("kind", KINDS)
def test_the_header_tells_how_it_was_made(kind: str) -> None:
    lines = workload(kind, 9, 3, window="3 SECONDS").splitlines()
    assert f"-- stretto workload {kind} --queries 9 --seed 3 --window '3 SECONDS'" in lines
    assert f"-- events: stretto generate {KINDS[kind].stream}" in lines
    assert "QUERY q1" in lines
    assert max(map(len, lines)) < 130


def test_windows_of_events() -> None:
    text = workload("mcep-stocks", 10, window="4000 EVENTS", types=100)
    assert text.count("WITHIN  4000 EVENTS;") == 10
    assert "events: stretto generate mcep-stocks --types 100" in text


def test_traffic_compares_speed_and_vehicles_together() -> None:
    text = workload("mcep-traffic", 20)
    assert text.count(".speed_diff <") == text.count(".vehicles_diff <") > 0


def test_one_query() -> None:
    for kind in KINDS:
        assert len(Workload.parse(workload(kind, 1))) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: workload("mcep-stock", 1), "unknown workload `mcep-stock`, did you mean `mcep-stocks`?"),
        (lambda: workload("nothing like it", 1), "known: motto-stocks, motto-datacenter"),
        (lambda: workload("mcep-stocks", 0), "at least 1 query"),
        (lambda: workload("mcep-stocks", 1, -1), "seed must not be negative"),
        (lambda: workload("mcep-stocks", 1, densty=0.5), "no option `densty`, did you mean `density`?"),
        (lambda: workload("motto-stocks", 1, length=5), "motto-stocks has no option `length`"),
    ],
)
def test_refusals(call, message: str) -> None:
    with pytest.raises(StrettoError) as caught:
        call()
    assert message in str(caught.value)
