"""Two plans of trend queries side by side."""

import pytest

from stretto.errors import StrettoError
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.diff import diff, diff_json
from stretto.plan.diff_text import diff_text
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


def test_text() -> None:
    found = diff(plan_of("muse"), plan_of("greta"), STATS)
    blocks = diff_text(found).rstrip("\n").split("\n\n")
    assert blocks[0] == "muse and greta: two plans for 3 trend queries"
    figures = [line.split() for line in blocks[1].splitlines()]
    assert ["units", "2", "3"] in figures
    assert ["queries", "that", "share", "2", "0"] in figures
    assert ["MatPoints", "B", "none"] in figures
    (updates,) = (line for line in figures if line[:1] == ["updates"])
    assert updates[-1].endswith("x")
    only_muse, only_greta, both, edges = blocks[2:]
    assert only_muse.startswith("only muse computes (1 unit):\n  one, two  share B from B  benefit ")
    assert only_muse.endswith(" updates/s")
    assert only_greta.startswith("only greta computes (2 units):\n")
    assert both == "both compute 1 unit"
    assert edges == (
        "shared differently (1 edge):\n  B -> B\n    muse: (one, two)  MP:B\n    greta: (one)(two)"
    )


def test_json() -> None:
    read = diff_json(diff(plan_of("muse"), plan_of("greta"), STATS))["trends"]
    left, right = read["left"], read["right"]
    assert (left["optimizer"], right["optimizer"]) == ("muse", "greta")
    assert (left["units"], right["units"]) == (2, 3)
    assert left["cost"] < right["cost"] == pytest.approx(right["alone"]) == pytest.approx(left["alone"])
    assert (left["matpoints"], right["matpoints"]) == (["B"], [])
    (edge,) = read["edges"]
    assert edge["left"] == {"queries": [["one", "two"]], "matpoints": ["B"]}
    assert edge["right"] == {"queries": [["one"], ["two"]], "matpoints": []}
    assert [unit["queries"] for unit in read["only_left"]] == [["one", "two"]]
    assert [unit["queries"] for unit in read["only_right"]] == [["one"], ["two"]]
    assert read["queries"]["two"] == {"left": 0, "right": 1}


def test_without_statistics_there_are_no_costs() -> None:
    found = diff(plan_of("muse"), plan_of("greta"))
    assert "updates" not in diff_text(found)
    assert diff_json(found)["trends"]["left"]["cost"] is None


def test_a_plan_and_itself() -> None:
    text = diff_text(diff(plan_of("muse"), plan_of("muse"), STATS))
    assert text.startswith("muse (1) and muse (2): two plans for 3 trend queries\n")
    assert "only" not in text
    assert "differently" not in text
    assert "both compute 2 units" in text


def test_matches_come_first() -> None:
    mixed = TRENDS + "QUERY m PATTERN SEQ(A a, C c) WITHIN 5 s;"
    text = diff_text(diff(plan_of("auto", mixed), plan_of("none", mixed), STATS))
    assert text.startswith("auto and none: two plans for 1 query\n")
    assert "auto and none: two plans for 3 trend queries\n" in text


def test_plans_of_different_queries_are_refused() -> None:
    with pytest.raises(StrettoError, match="their queries differ"):
        diff(plan_of("muse"), plan_of("muse", TRENDS.replace("odd", "even")))
