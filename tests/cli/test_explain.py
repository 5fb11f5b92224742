"""`stretto explain`: stages and formats."""

import json
from pathlib import Path

import pytest

from stretto.data.files import open_events
from stretto.pattern.workload import Workload
from stretto.stats.profile import Stats


def test_plan_as_text(call) -> None:
    result = call("explain", "rules.cep", "--events", "events.csv")
    assert result.code == 0
    assert "n0 = scan A" in result.out
    assert "emit rise" in result.out


def test_plan_as_json(call) -> None:
    result = call("explain", "rules.cep", "--events", "events.csv", "--format", "json")
    plan = json.loads(result.out)
    assert set(plan) == {"optimizer", "cost", "lower_bound", "gap", "seconds", "operators", "queries"}
    assert set(plan["queries"]) == {"rise", "pair"}
    keys = {"id", "op", "inputs", "piece", "serves", "rows", "cost", "because"}
    assert all(set(operator) == keys for operator in plan["operators"])


def test_plan_as_mermaid_into_a_file(call) -> None:
    result = call(
        "explain", "rules.cep", "--events", "events.csv", "--format", "mermaid", "--out", "plan.mmd"
    )
    assert (result.code, result.out) == (0, "")
    assert Path("plan.mmd").read_text().startswith("flowchart TD\n")


def test_text_needs_no_events(call) -> None:
    result = call("explain", "rules.cep", "--stage", "text")
    assert result.code == 0
    assert Workload.parse(result.out) == Workload.parse(Path("rules.cep").read_text())
    as_json = call("explain", "rules.cep", "--stage", "text", "--format", "json")
    assert Workload.from_json(json.loads(as_json.out)) == Workload.parse(Path("rules.cep").read_text())


def test_pattern(call) -> None:
    result = call("explain", "rules.cep", "--events", "events.csv", "--stage", "pattern")
    assert result.code == 0
    assert "rise:\n  SEQ(A, B) where a.x < b.x within 10s\n" in result.out
    as_json = call("explain", "rules.cep", "--events", "events.csv", "--stage", "pattern", "--format", "json")
    assert json.loads(as_json.out)["pair"] == ["AND(A, C) within 3s"]


def test_statistics_instead_of_events(call) -> None:
    schema = open_events("events.csv").schema
    Path("stats.json").write_text(Stats(schema).to_json())
    result = call("explain", "rules.cep", "--stats", "stats.json")
    assert result.code == 0
    assert result.out == call("explain", "rules.cep", "--events", "events.csv").out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--stage", "memo"], "--stage memo is not supported yet"),
        (["--format", "html"], "--format html is not supported yet"),
        (["--format", "mermaid", "--stage", "text"], "--format mermaid draws plans only"),
        (["--events", "events.csv", "--stats", "s.json"], "not both"),
        (
            ["--events", "events.csv", "--optimizer", "nones"],
            "unknown optimizer `nones`, did you mean `none`?",
        ),
        (["--events", "none.csv"], "none.csv: no such file or folder"),
        (["--stats", "none.json"], "none.json: the file of statistics cannot be read"),
        (["--stats", "rules.cep"], "rules.cep: not a file of statistics"),
        (["--stage", "text", "--out", "no/where.txt"], "no/where.txt: No such file or directory"),
    ],
)
def test_wrong_calls(call, options: list[str], message: str) -> None:
    result = call("explain", "rules.cep", *options)
    assert result.code == 2
    assert message in result.err
    assert result.out == ""


def test_without_events_kinds_are_guessed(call) -> None:
    result = call("explain", "rules.cep")
    assert result.code == 0
    assert "kinds of attributes are guessed" in result.err
    assert result.out.startswith("plan by none")
