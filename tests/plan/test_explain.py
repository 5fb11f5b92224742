"""EXPLAIN: golden texts (STRETTO_BLESS=1 rewrites them), JSON as other programs read it, Mermaid."""

import json
import os
from pathlib import Path

import pytest

from stretto.errors import StrettoError
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.optimize import optimize
from stretto.report.mermaid import to_mermaid
from stretto.schema import Kind, Schema

GOLDEN = Path(__file__).parent.parent / "golden" / "plan"
SCHEMA = Schema({"x": Kind.FLOAT, "n": Kind.INT, "k": Kind.INT, "s": Kind.STRING})


def plan_of(name: str) -> Plan:
    return optimize(Workload.parse((GOLDEN / f"{name}.cep").read_text()), SCHEMA)


@pytest.mark.parametrize("name", sorted(path.stem for path in GOLDEN.glob("*.cep")))
def test_explain_is_golden(name: str) -> None:
    text = plan_of(name).explain()
    expected = GOLDEN / f"{name}.plan"
    if os.environ.get("STRETTO_BLESS"):
        expected.write_text(text)
    assert text == expected.read_text()


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
        "early": "SEQ(SEQ(A a, C c) without B between a and c, D d)",
        "grown": "SEQ(A a, C c+, D d) without B between a and c without B between c and d",
        "edges": "SEQ(A a, C c) without B before a without B after c",
        "anywhere": "SEQ(A a, B b) without B anywhere",
        "beside": "AND(SEQ(A a, C c), B b) without B between a and c",
        "some": "OR(A a without B after a, SEQ(A a, C c))",
    }


def test_mermaid_names_every_operator_and_edge() -> None:
    plan = plan_of("order")
    text = to_mermaid(plan)
    lines = text.splitlines()
    assert lines[0] == "flowchart TD"
    assert sum(" --> " in line for line in lines) == sum(len(op.inputs) for op in plan.ops)
    assert len(lines) == 1 + len(plan.ops) + sum(len(op.inputs) for op in plan.ops)
    assert '    n0(["scan<br/>A c0"])' in lines
