"""EXPLAIN: golden texts (`--bless` rewrites them), JSON as other programs read it, estimates."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.plan.estimated import ALONE, SHARED, without_figures
from tests.support.golden import Golden

from stretto.errors import StrettoError
from stretto.explain.model import Templates
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.optimize import optimize
from stretto.schema import Kind, Schema

GOLDEN = Path(__file__).parent.parent / "golden" / "plan"
SCHEMA = Schema({"x": Kind.FLOAT, "n": Kind.INT, "k": Kind.INT, "s": Kind.STRING})


def plan_of(name: str) -> Plan:
    return optimize(Workload.parse((GOLDEN / f"{name}.cep").read_text()), SCHEMA, "none")


@pytest.mark.parametrize("name", sorted(path.stem for path in GOLDEN.glob("*.cep")))
def test_explain_is_golden(name: str, golden: Golden) -> None:
    golden.check(GOLDEN / f"{name}.plan", plan_of(name).explain())


def test_json_has_the_promised_shape() -> None:
    plan = plan_of("shared")
    read = json.loads(plan.explain("json"))
    assert list(read) == ["optimizer", "cost", "lower_bound", "gap", "seconds", "operators", "queries"]
    assert read["optimizer"] == "none"
    assert set(read["queries"]) == {"q1", "q2", "q3", "q4", "q5"}
    for number, operator in enumerate(read["operators"]):
        assert list(operator) == ["id", "op", "inputs", "piece", "serves", "rows", "cost", "because"]
        assert operator["id"] == number
        assert all(source < number for source in operator["inputs"])
    assert read["operators"][read["queries"]["q2"]]["piece"] == "SEQ(A first, B second)"
    assert read["operators"][0]["serves"] == ["q1", "q2", "q3"]


def test_a_long_text_can_be_cut() -> None:
    plan = plan_of("shared")
    lines = plan.explain(limit=2).splitlines()
    assert lines[-1] == f".. and {len(plan.ops) - 2} more operators"
    assert len(lines) == 4


def test_unknown_formats_are_refused() -> None:
    with pytest.raises(StrettoError, match="unknown format `yaml` of EXPLAIN; there are: text, json"):
        plan_of("shared").explain("yaml")


def test_pieces_read_as_patterns() -> None:
    plan = plan_of("negation")
    pieces = {name: plan.pieces[number] for name, number in plan.queries.items()}
    assert pieces == {
        "early": "SEQ(A a, C c, D d) without B between a and c",
        "grown": "SEQ(A a, C c+, D d) without B between a and c without B between c and d",
        "edges": "SEQ(A a, C c) without B before a without B after c",
        "anywhere": "SEQ(A a, B b) without B anywhere",
        "beside": "AND(SEQ(A a, C c), B b) without B between a and c",
        "some": "OR(SEQ(A a, C c), A a without B after a)",
    }


def test_an_estimate_is_shown() -> None:
    assert (
        SHARED.explain()
        == """\
plan by auto: 8 operators, 2 queries
estimated for these 5,000 events: 3 ms of CPU time, 43 ms with --optimizer none; planned in 310 ms
3 of 8 operators serve more than one query; this plan saves 93% of the CPU time of --optimizer none (14x); \
within 0.4% of the best of the plans considered
n0 = scan A[100 < x]  2,400 rows, 24 us, 0.8%  shared by 2: q1, q2  by rule_0
n1 = scan B  680 rows, 6.8 us, 0.2%  shared by 2: q1, q2  by rule_1
n2 = join n0 n1 in order where c0.x < c1.x  within 1m  25 rows, 3 ms, 99%  shared by 2: q1, q2  by rule_2
n3 = filter n2  within 5s  0.8 rows, 400 ns, <0.1%  for q1  by rule_3
n4 = emit q1: n3(a, b)  0.8 rows, 100 ns, <0.1%  by rule_4
n5 = scan C  16 rows, 160 ns, <0.1%  for q2  by rule_5
n6 = join n2 n5 in order  within 1m  0 rows, 8.5 us, 0.3%  for q2  by rule_6
n7 = emit q2: n6(a, b, c)  by rule_7
"""
    )


def test_what_is_saved_is_said_as_it_is() -> None:
    known = SHARED.estimate
    assert known is not None

    def second_line(**changes: float | None) -> str:
        return replace(SHARED, estimate=replace(known, **changes)).explain().splitlines()[2]

    assert second_line(lower_bound=known.cost).endswith("; no plan that was considered is better")
    assert second_line(lower_bound=None).endswith("of the CPU time of --optimizer none (14x)")
    assert "; nothing is saved compared with --optimizer none" in second_line(alone=known.cost)
    assert "; it takes 2x the CPU time of --optimizer none" in second_line(alone=known.cost / 2)
    assert second_line(cost=0.0, alone=0.0).endswith(
        "serve more than one query; no plan that was considered is better"
    )


def test_what_templates_save_is_a_line_of_its_own() -> None:
    known = SHARED.estimate
    assert known is not None
    with_templates = replace(known, templates=Templates(1_000, 1e6, 12e6))
    assert replace(SHARED, estimate=with_templates).explain().splitlines()[3] == (
        "templates alone save 92% (12x): 1,000 queries that differ only in constants are computed together"
    )


def test_json_has_the_estimate() -> None:
    read = json.loads(SHARED.explain("json"))
    assert (read["cost"], read["lower_bound"], read["seconds"]) == (1_520_000.0, 1_513_920.0, 0.31)
    assert read["gap"] == pytest.approx(0.004)
    assert [operator["rows"] for operator in read["operators"]][-2:] == [0.0003, None]
    assert read["operators"][2]["cost"] == 1_500_000.0
    assert read["operators"][2]["shown_rows"] == 25.0
    assert read["operators"][2]["shown_cpu_seconds"] == pytest.approx(0.003)
    assert (read["events"], read["shown"], read["alone"]) == (5_000, "for these 5,000 events", 21_280_000.0)
    assert json.loads(ALONE.explain("json"))["gap"] is None


def test_a_plan_without_an_estimate_shows_none() -> None:
    text = without_figures(SHARED).explain()
    assert text.splitlines()[1] == "n0 = scan A[100 < x]  for q1, q2  by rule_0"
    assert "within 5s" in text
