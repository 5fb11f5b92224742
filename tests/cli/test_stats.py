"""`stretto stats`: tables on the screen, a file for others, and calls that are wrong."""

import json
from pathlib import Path

import pytest


@pytest.fixture
def call(call):
    """Calls that run in this process."""
    return lambda *given, **more: call(*given, *([] if given[0] != "stats" else ["--on", "local"]), **more)


def test_rates_and_selectivities_are_shown(call) -> None:
    result = call("stats", "rules.cep", "--events", "events.csv")
    assert result.code == 0
    assert "A                   0.5" in result.out
    assert "A.x < B.x" in result.out
    assert "SEQ(A, B) within 10s" in result.out
    assert result.err == "5 events in 4 seconds, 1 selectivity measured\n"


def test_a_file_that_explain_reads(call) -> None:
    result = call("stats", "rules.cep", "--events", "events.csv", "--out", "stats.json", "--sample", "1")
    assert (result.code, result.out) == (0, "")
    read = json.loads(Path("stats.json").read_text())
    assert (read["seconds"], read["rates"]) == (4.0, {"A": 0.5, "B": 0.5, "C": 0.25})
    (entry,) = read["selectivity"]
    assert entry["term"] == "A.x < B.x"
    assert 0 < entry["value"] < 1
    assert entry["error"] > 0
    assert call("explain", "rules.cep", "--stats", "stats.json").code == 0


def test_files_of_other_parts_are_put_together_with_it(call) -> None:
    given = ("stats", "rules.cep", "--events", "events.csv")
    assert call(*given, "--out", "day.json").code == 0
    assert call(*given, "--merge", "day.json", "--merge", "day.json", "--out", "days.json").code == 0
    one, three = (json.loads(Path(name).read_text()) for name in ("day.json", "days.json"))
    assert (three["seconds"], three["events"]) == (3 * one["seconds"], 3 * one["events"])
    assert three["rates"] == pytest.approx(one["rates"])
    assert [entry["term"] for entry in three["selectivity"]] == ["A.x < B.x"]
    assert call(*given, "--merge", "none.json").code == 2


def test_skew_of_common_attributes(call) -> None:
    Path("same.cep").write_text("QUERY q PATTERN SEQ(A a, B b) WHERE [x] WITHIN 1 SECOND;")
    result = call("stats", "same.cep", "--events", "events.csv")
    assert result.code == 0
    assert "distinct" in result.out
    assert "A.x" in result.out


def test_wrong_calls(call) -> None:
    result = call("stats", "rules.cep", "--events", "events.csv", "--master", "local[2]")
    assert (result.code, result.err) == (2, "--master is for --on spark\n")
    for fraction in ("0", "1.5", "-1"):
        assert call("stats", "rules.cep", "--events", "events.csv", "--sample", fraction).code == 2
    assert call("stats", "rules.cep", "--events", "none.csv").code == 2
    assert call("stats", "none.cep", "--events", "events.csv").code == 2
    Path("bad.cep").write_text("QUERY q PATTERN SEQ(A a, Z b) WITHIN 1 SECOND;")
    result = call("stats", "bad.cep", "--events", "events.csv")
    assert result.code == 0
    assert "unknown type `Z`" in result.err
