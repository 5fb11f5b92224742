"""Estimates of trend queries beside measurements."""

from dataclasses import replace

import pytest

from stretto.pattern.workload import Workload
from stretto.plan.analyze import Measured, analysis_json, analysis_text, analyze
from stretto.plan.analyze_trends import MeasuredTrends
from stretto.plan.dag import Plan
from stretto.plan.optimize import optimize
from stretto.schema import Kind, Schema
from stretto.stats.profile import Stats
from stretto.trends.work import TrendWork, UnitWork

SCHEMA = Schema({"x": Kind.INT}, frozenset("ABC"))
STATS = Stats.assumed(SCHEMA).with_rates({"A": 1.0, "B": 50.0, "C": 2.0})
TRENDS = """
QUERY one PATTERN SEQ(A a, B b+) WITHIN 100 s RETURN COUNT(*);
QUERY two PATTERN SEQ(C c, B b+) WITHIN 100 s RETURN COUNT(*);
"""
WORK = TrendWork((10, 600, 40), (UnitWork(650, 3e-3, 31, 9, 10),))
MEASURED = Measured((), (), 700, 10.0, 0.25, MeasuredTrends(WORK, {"one": 2}))


def plan_of(optimizer: str = "auto", text: str = TRENDS) -> Plan:
    return optimize(Workload.parse(text), STATS, optimizer)


def test_text() -> None:
    text = analysis_text(analyze(plan_of(), MEASURED, STATS))
    lines = text.splitlines()
    assert lines[:2] == ["plan by auto: 700 events over 10s", "whole run 250ms"]
    assert "trends by auto: 2 trend queries in 1 unit; 2 totals in 3ms" in lines
    assert "q-error of the events of 3 nodes: mean 1.34 (geometric), median 1.20, worst 2.00 at t2" in lines
    assert "t1  B          500     600     1.20" in lines
    unit = next(line.split() for line in lines if line.startswith("u0  one, two"))
    assert unit[3] == "650"
    assert (unit[5], unit[6], unit[8], unit[9:]) == ("31", "90%", "100%", ["3ms", "100%"])
    assert lines[-2:] == ["one       2", "two       0"]


def test_json() -> None:
    found = analyze(plan_of(), MEASURED, STATS)
    read = analysis_json(found)["trends"]
    assert found.trends is not None
    assert read["nodes"][1] == {
        "id": 1,
        "stream": "B",
        "events": {"estimated": pytest.approx(500.0), "measured": 600},
        "q_error": pytest.approx(1.2),
    }
    assert read["q_error"]["node"] == 2
    (unit,) = read["units"]
    assert unit["queries"] == ["one", "two"]
    assert unit["matstates"]["measured"] == 31
    assert unit["matstates"]["estimated"] > 0
    assert unit["shared"] == {"turns": 9, "of": 10}
    assert unit["seconds"] == read["seconds"] == 3e-3
    assert read["queries"] == {"one": 2, "two": 0}


def test_without_statistics_there_is_what_was_measured() -> None:
    text = analysis_text(analyze(plan_of(), MEASURED))
    assert "est" not in text
    assert "q-error" not in text
    assert "t1  B     600\n" in text


def test_units_that_share_nothing() -> None:
    plan = plan_of("greta")
    work = TrendWork((10, 600, 40), (UnitWork(610, 1e-3), UnitWork(640, 3e-3)))
    measured = replace(MEASURED, trends=MeasuredTrends(work, {}))
    lines = analysis_text(analyze(plan, measured, STATS)).splitlines()
    assert "trends by greta: 2 trend queries in 2 units; 0 totals in 4ms" in lines
    unit = next(line.split() for line in lines if line.startswith("u1  two"))
    assert unit[2:6] == ["640", "0", "0", "-"]
    assert unit[-2:] == ["3ms", "75%"]


def test_matches_and_trends_stand_side_by_side() -> None:
    plan = plan_of("none", TRENDS + "QUERY m PATTERN SEQ(A a, C c) WITHIN 5 s;")
    count = len(plan.ops)
    work = TrendWork((10, 600, 40), (UnitWork(), UnitWork()))
    measured = Measured((1,) * count, (1e-3,) * count, 700, 10.0, 0.25, MeasuredTrends(work, {}))
    text = analysis_text(analyze(plan, measured, STATS))
    assert text.index("emit m") < text.index("trends by none")
    assert "q-error of the rows of" in text
    assert set(analysis_json(analyze(plan, measured, STATS))) >= {"operators", "queries", "trends"}
