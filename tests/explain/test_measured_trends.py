"""Estimates of trend queries beside measurements."""

from dataclasses import replace

import pytest

from stretto.explain.measured import measured_json, measured_text
from stretto.explain.model import EVENTS, UNIT
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.explanation import Measured, explanation
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
MEASURED = Measured((), (), 700, 10.0, 0.25, WORK, {"one": 2})


def plan_of(optimizer: str = "auto", text: str = TRENDS) -> Plan:
    return optimize(Workload.parse(text), STATS, optimizer)


def test_text() -> None:
    lines = measured_text(explanation(plan_of(), MEASURED)).splitlines()
    assert lines[0] == "plan by auto: 4 operators, 2 queries; 700 events over 10 s"
    assert lines[1].startswith("q-error of the rows of 4 operators: ")
    assert lines[1].endswith("worst 2.00 at n1")
    assert lines[2].startswith("CPU time of all operators 3 ms, estimated ")
    assert lines[2].endswith("; whole run 250 ms")
    (events,) = (line.split() for line in lines if " events B " in line)
    assert events[3:] == ["500", "600", "1.20", "?", "-", "-"]
    unit = next(line.split() for line in lines if " trends " in line)
    assert unit[-8:-5] == ["530", "650", "1.23"]
    assert unit[-3:] == ["3", "ms", "100%"]
    matstates = lines[next(i for i, line in enumerate(lines) if "MatStates" in line) + 1].split()
    assert matstates[-2:] == ["31", "90%"]
    assert lines[-2:] == ["one       2", "two       0"]


def test_json() -> None:
    read = measured_json(explanation(plan_of(), MEASURED))
    (events,) = (one for one in read["operators"] if one["piece"] == "B")
    assert events["op"] == EVENTS
    assert events["rows"] == {"estimated": pytest.approx(500.0), "measured": 600}
    assert events["q_error"] == pytest.approx(1.2)
    (unit,) = (one for one in read["operators"] if one["op"] == UNIT)
    assert unit["serves"] == ["one", "two"]
    assert unit["matstates"]["measured"] == 31
    assert unit["matstates"]["estimated"] > 0
    assert unit["shared"] == {"turns": 9, "of": 10}
    assert unit["seconds"]["measured"] == read["seconds"]["measured"] == 3e-3
    assert 0 < unit["seconds"]["estimated"] == read["seconds"]["estimated"]
    assert read["queries"] == {"one": unit["id"], "two": unit["id"]}
    assert read["totals"] == {"one": 2, "two": 0}


def test_without_statistics_there_is_what_was_measured() -> None:
    text = measured_text(explanation(optimize(Workload.parse(TRENDS), SCHEMA), MEASURED))
    assert "est" not in text
    assert "q-error" not in text
    (events,) = (line.split() for line in text.splitlines() if " events B " in line)
    assert events[3:] == ["600", "-", "-"]


def test_units_that_share_nothing() -> None:
    work = TrendWork((10, 600, 40), (UnitWork(610, 1e-3), UnitWork(640, 3e-3)))
    found = explanation(plan_of("greta"), replace(MEASURED, trends=work, totals={}))
    lines = measured_text(found).splitlines()
    assert not any("MatStates" in line for line in lines)
    units = [line.split() for line in lines if " trends " in line]
    assert [unit[-7] for unit in units] == ["610", "640"]
    assert [unit[-3:] for unit in units] == [["1", "ms", "25%"], ["3", "ms", "75%"]]


def test_matches_and_trends_stand_side_by_side() -> None:
    plan = plan_of("none", TRENDS + "QUERY m PATTERN SEQ(A a, C c) WITHIN 5 s;")
    count = len(plan.ops)
    work = TrendWork((10, 600, 40), (UnitWork(), UnitWork()))
    found = explanation(plan, Measured((1,) * count, (1e-3,) * count, 700, 10.0, 0.25, work))
    text = measured_text(found)
    assert text.index("emit m") < text.index("trends ")
    assert "q-error of the rows of" in text
    assert set(measured_json(found)["queries"]) == {"m", "one", "two"}
