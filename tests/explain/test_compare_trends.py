"""Two plans of trend queries side by side."""

import pytest

from stretto.errors import StrettoError
from stretto.explain.compare import PlanComparison, compare, comparison_json
from stretto.explain.compare_text import comparison_text
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.explanation import explanation
from stretto.plan.optimize import optimize
from stretto.schema import Kind, Schema
from stretto.stats.profile import Stats

SCHEMA = Schema({"x": Kind.INT}, frozenset("ABCD"))
STATS = Stats.assumed(SCHEMA).with_rates({"A": 0.002, "B": 50.0, "C": 0.002, "D": 2.0})
TRENDS = """
QUERY one PATTERN SEQ(A a, B b+) WITHIN 100 s RETURN COUNT(*);
QUERY two PATTERN SEQ(C c, B b+) WITHIN 100 s RETURN COUNT(*);
QUERY odd PATTERN SEQ(A a, D d) WITHIN 100 s RETURN COUNT(*);
"""


def plan_of(optimizer: str, text: str = TRENDS) -> Plan:
    return optimize(Workload.parse(text), STATS, optimizer)


def diff(left: Plan, right: Plan) -> PlanComparison:
    return compare(explanation(left), explanation(right))


def test_text() -> None:
    blocks = comparison_text(diff(plan_of("muse"), plan_of("greta"))).rstrip("\n").split("\n\n")
    assert blocks[0] == "muse and greta: two plans for 3 queries"
    figures = [line.split() for line in blocks[1].splitlines()]
    assert ["trends", "2", "3"] in figures
    assert ["edges", "shared", "1", "0"] in figures
    assert ["MatPoints", "B", "none"] in figures
    (cost,) = (line for line in figures if line[:2] == ["CPU", "time"])
    assert cost[-1].endswith("x")
    only_muse, only_greta, both, edges, by_query = blocks[2:]
    assert only_muse.startswith("only muse computes (1 piece):\n  A, B, C share B from B  ")
    assert only_muse.endswith("  for one, two")
    assert only_greta.startswith("only greta computes (2 pieces):\n")
    assert both == "both compute 5 pieces"
    assert edges == (
        "shared differently (1 edge):\n  B -> B\n    muse: (one, two)  MP:B\n    greta: (one)(two)"
    )
    assert by_query.startswith("CPU time of all operators a query needs")


def test_json() -> None:
    read = comparison_json(diff(plan_of("muse"), plan_of("greta")))
    left, right = read["left"], read["right"]
    assert (left["optimizer"], right["optimizer"]) == ("muse", "greta")
    assert (left["kinds"]["trends"], right["kinds"]["trends"]) == (2, 3)
    assert left["cost"] < right["cost"] == pytest.approx(right["alone"]) == pytest.approx(left["alone"])
    assert (left["matpoints"], right["matpoints"]) == (["B"], [])
    (edge,) = read["edges"]
    assert edge["left"] == {"queries": [["one", "two"]], "matpoints": ["B"]}
    assert edge["right"] == {"queries": [["one"], ["two"]], "matpoints": []}
    only_left = [one["left"]["serves"] for one in read["pieces"] if one["right"] is None]
    only_right = [one["right"]["serves"] for one in read["pieces"] if one["left"] is None]
    assert (only_left, only_right) == ([["one", "two"]], [["one"], ["two"]])
    units = [read["queries"]["two"][side]["operators"][-1] for side in ("left", "right")]
    assert units[0] == read["queries"]["one"]["left"]["operators"][-1] != units[1]


def test_without_statistics_there_are_no_costs() -> None:
    plans = [optimize(Workload.parse(TRENDS), SCHEMA, name) for name in ("muse", "greta")]
    found = diff(*plans)
    assert "CPU time" not in comparison_text(found)
    assert comparison_json(found)["left"]["cost"] is None


def test_a_plan_and_itself() -> None:
    text = comparison_text(diff(plan_of("muse"), plan_of("muse")))
    assert text.startswith("muse (1) and muse (2): two plans for 3 queries\n")
    assert "only" not in text
    assert "differently" not in text
    assert "both compute 6 pieces" in text


def test_matches_and_trends_are_compared_together() -> None:
    mixed = TRENDS + "QUERY m PATTERN SEQ(A a, C c) WITHIN 5 s;"
    text = comparison_text(diff(plan_of("auto", mixed), plan_of("none", mixed)))
    assert text.startswith("auto and none: two plans for 4 queries\n")


def test_plans_of_different_queries_are_refused() -> None:
    with pytest.raises(StrettoError, match="their queries differ"):
        diff(plan_of("muse"), plan_of("muse", TRENDS.replace("odd", "even")))
