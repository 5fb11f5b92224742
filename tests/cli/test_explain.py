"""`stretto explain`: stages and formats."""

import json
import re
from pathlib import Path

import pytest
from tests.support.html_page import read

from stretto.cli.inputs import measure, read_workload
from stretto.data.files import open_events
from stretto.pattern.workload import Workload
from stretto.stats.profile import Stats

NONE = ("--optimizer", "none")


def test_plan_as_text(call) -> None:
    result = call("explain", "rules.cep", "--events", "events.csv", *NONE)
    assert result.code == 0
    assert "n0 = scan A" in result.out
    assert "emit rise" in result.out


def test_plan_as_json(call) -> None:
    result = call("explain", "rules.cep", "--events", "events.csv", "--format", "json")
    plan = json.loads(result.out)
    contract = {"optimizer", "cost", "lower_bound", "gap", "seconds", "operators", "queries"}
    assert set(plan) == contract | {"events", "shown", "alone"}
    assert set(plan["queries"]) == {"rise", "pair"}
    keys = {"id", "op", "inputs", "piece", "serves", "rows", "cost", "because"}
    keys |= {"shown_rows", "shown_cpu_seconds"}
    assert all(set(operator) == keys for operator in plan["operators"])


def test_plan_as_mermaid_into_a_file(call) -> None:
    result = call(
        "explain", "rules.cep", "--events", "events.csv", "--format", "mermaid", "--out", "plan.mmd"
    )
    assert (result.code, result.out) == (0, "")
    assert Path("plan.mmd").read_text().startswith("flowchart TD\n")


def test_plan_as_a_page(call) -> None:
    shown = call("explain", "rules.cep", "--events", "events.csv", "--format", "html", *NONE)
    assert shown.code == 0
    assert "<title>Plan of rules.cep</title>" in shown.out
    assert read(shown.out).text.count("emit rise") >= 2
    options = ("--events", "events.csv", "--analyze", "--format", "html", "--out", "plan.html")
    result = call("explain", "rules.cep", *options)
    assert (result.code, result.out) == (0, "")
    assert "run over 5 events" in read(Path("plan.html").read_text()).text


def test_a_page_needs_no_events(call) -> None:
    result = call("explain", "rules.cep", "--format", "html")
    assert result.code == 0
    assert "Rows and CPU time are unknown without statistics" in read(result.out).text


def test_text_needs_no_events(call) -> None:
    result = call("explain", "rules.cep", "--stage", "text")
    assert result.code == 0
    assert Workload.parse(result.out) == Workload.parse(Path("rules.cep").read_text())
    as_json = call("explain", "rules.cep", "--stage", "text", "--format", "json")
    assert Workload.from_json(json.loads(as_json.out)) == Workload.parse(Path("rules.cep").read_text())


def test_pattern(call) -> None:
    result = call("explain", "rules.cep", "--events", "events.csv", "--stage", "pattern")
    assert result.code == 0
    assert "rise:\n  SEQ(A a, B b) where a.x < b.x within 10s\n" in result.out
    as_json = call("explain", "rules.cep", "--events", "events.csv", "--stage", "pattern", "--format", "json")
    assert json.loads(as_json.out)["pair"] == ["AND(A a, C c) within 3s"]


def test_statistics_instead_of_events(call) -> None:
    schema = open_events("events.csv").schema
    Path("stats.json").write_text(Stats(schema).to_json())
    result = call("explain", "rules.cep", "--stats", "stats.json", *NONE)
    assert result.code == 0
    assert operators(result.out) == operators(
        call("explain", "rules.cep", "--events", "events.csv", *NONE).out
    )


def operators(text: str) -> list[str]:
    """The first words of every operator's line."""
    return [line.split("  ")[0] for line in text.splitlines() if " = " in line]


def test_memo(call) -> None:
    result = call("explain", "rules.cep", "--events", "events.csv", "--stage", "memo", *NONE)
    assert result.code == 0
    assert result.out.startswith("memo of 2 queries: 5 pieces, 5 ways to compute them")
    assert "join_left_to_right" in result.out
    as_json = call("explain", "rules.cep", "--stage", "memo", "--format", "json", *NONE)
    read = json.loads(as_json.out)
    assert read["pieces"]["all"] == 5
    assert read["ways"]["by_rule"] == {"join_left_to_right": 2, "scan_stream": 3}


def test_diff(call) -> None:
    result = call("explain", "rules.cep", "--events", "events.csv", "--diff", "none", *NONE)
    assert result.code == 0
    assert result.out.startswith("none (1) and none (2): two plans for 2 queries\n")
    assert "both compute 5 pieces\n" in result.out
    as_json = call("explain", "rules.cep", "--diff", "none", "--format", "json", "--out", "diff.json")
    assert (as_json.code, as_json.out) == (0, "")
    assert list(json.loads(Path("diff.json").read_text())) == ["left", "right", "pieces", "queries"]


def test_analyze(call) -> None:
    result = call("explain", "rules.cep", "--events", "events.csv", "--analyze", *NONE)
    assert result.code == 0
    lines = result.out.splitlines()
    assert lines[0] == "plan by none: 7 operators, 2 queries; 5 events over 4 s"
    options = ("--events", "events.csv", "--analyze", "--format", "json", *NONE)
    as_json = call("explain", "rules.cep", *options)
    read = json.loads(as_json.out)
    rows = {read["operators"][number]["piece"]: read["operators"][number]["rows"] for number in range(7)}
    assert rows["SEQ(A a, B b)"]["measured"] == 2
    assert rows["AND(A a, C c)"]["measured"] == 1
    assert rows["C c0"]["measured"] == 1
    assert read["elapsed"] > 0
    assert read["span"] == 4.0


TRENDS = """
QUERY ups PATTERN SEQ(A a, B b+) WITHIN 10 s RETURN COUNT(*), SUM(b.x);
QUERY downs PATTERN SEQ(C c, B b+) WITHIN 10 s RETURN COUNT(*);
"""


def test_trends_are_run_too(call) -> None:
    Path("trends.cep").write_text(Path("rules.cep").read_text() + TRENDS)
    options = ("trends.cep", "--events", "events.csv", "--analyze")
    text = call("explain", *options).out
    assert "12 operators, 4 queries" in text
    assert text.endswith("       totals\nups         2\ndowns       0\n")
    read = json.loads(call("explain", *options, "--format", "json").out)
    assert read["queries"].keys() == {"rise", "pair", "ups", "downs"}
    events = [one for one in read["operators"] if one["op"] == "events"]
    assert {one["piece"]: one["rows"]["measured"] for one in events} == {
        "A": 2,
        "B": 2,
        "C": 1,
    }
    assert read["totals"] == {"ups": 2, "downs": 0}


def test_trends_are_compared_too(call) -> None:
    Path("trends.cep").write_text(TRENDS)
    options = ("trends.cep", "--events", "events.csv", "--optimizer", "muse", "--diff", "greta")
    result = call("explain", *options)
    assert result.out.startswith("muse and greta: two plans for 2 queries\n")
    assert "warning" not in result.err
    read = json.loads(call("explain", *options, "--format", "json").out)
    assert read["right"]["kinds"]["trends"] == 2


def test_analyze_with_statistics_of_other_events(call) -> None:
    stats = measure(open_events("events.csv"), read_workload("rules.cep"))
    Path("stats.json").write_text(stats.with_rates({"A": 100.0}).to_json())
    options = ("--events", "events.csv", "--stats", "stats.json", "--analyze", "--format", "json", *NONE)
    result = call("explain", "rules.cep", *options)
    assert result.code == 0
    scan = json.loads(result.out)["operators"][0]
    assert scan["rows"]["measured"] == 2
    assert scan["rows"]["estimated"] in (None, pytest.approx(400.0))


def test_analyze_checks_the_queries_against_the_events(call) -> None:
    Path("other.csv").write_text("ts,type,y\n2024-01-01T00:00:00,A,1\n")
    Path("stats.json").write_text(measure(open_events("events.csv"), read_workload("rules.cep")).to_json())
    result = call("explain", "rules.cep", "--events", "other.csv", "--stats", "stats.json", "--analyze")
    assert result.code == 2
    assert "rules.cep:3:9: unknown attribute `x`" in result.err


def test_events_from_standard_input_are_measured_and_run(call) -> None:
    lines = (f'{{"ts": {ts}, "type": "{kind}", "x": {ts}}}\n' for ts, kind in enumerate("ABC", start=1))
    result = call(
        "explain", "rules.cep", "--events", "-", "--ts-unit", "us", "--analyze", stdin="".join(lines)
    )
    assert result.code == 0
    assert "emit rise: SEQ(A a, B b)" in result.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--format", "html", "--stage", "memo"], "an html page shows a plan; leave --stage and --diff out"),
        (["--format", "html", "--diff", "none"], "an html page shows a plan; leave --stage and --diff out"),
        (["--format", "mermaid", "--stage", "text"], "--format mermaid draws plans only"),
        (["--format", "mermaid", "--diff", "none"], "--format mermaid draws plans only"),
        (["--format", "mermaid", "--analyze"], "--format mermaid draws plans only"),
        (["--events", "events.csv", "--stats", "s.json"], "not both"),
        (["--diff", "none", "--analyze", "--events", "events.csv"], "give --diff or --analyze, not both"),
        (["--stage", "memo", "--diff", "none"], "--diff compares plans; leave --stage out"),
        (["--stage", "pattern", "--analyze"], "--analyze runs plans; leave --stage out"),
        (["--analyze"], "--analyze runs the plan: give --events"),
        (["--analyze", "--stats", "s.json"], "--analyze runs the plan: give --events"),
        (
            ["--events", "events.csv", "--optimizer", "nones"],
            "unknown optimizer `nones`, did you mean `none`?",
        ),
        (["--events", "events.csv", "--diff", "nane"], "unknown optimizer `nane`, did you mean `none`?"),
        (["--stage", "memo", "--optimizer", "nane"], "unknown optimizer `nane`, did you mean `none`?"),
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


def test_a_memo_needs_queries_that_can_be_planned(call) -> None:
    odd = "SEQ(SEQ(A a, B b)+, NOT(C n))"
    Path("odd.cep").write_text(f"QUERY odd\nPATTERN {odd}\nWHERE a.x < b.x + n.x WITHIN 5 s;\n")
    result = call("explain", "odd.cep", "--stage", "memo", "--events", "events.csv")
    assert result.code == 2
    assert "odd.cep:" in result.err
    assert "not supported yet" in result.err


def test_without_events_kinds_are_guessed(call) -> None:
    result = call("explain", "rules.cep")
    assert result.code == 0
    assert "kinds of attributes are guessed" in result.err
    assert result.out.startswith("plan by ")


def test_units(call) -> None:
    result = call("explain", "rules.cep", "--events", "events.csv", "--units", "4", *NONE)
    assert result.code == 0
    assert "on 4 units, operators at the same time: replay speed " in result.out
    assert "on 4 units, stages one after another: replay speed " in result.out
    refused = call("explain", "rules.cep", "--events", "events.csv", "--units", "4", "--format", "json")
    assert refused.code == 2
    assert "--units is about a plan, as text or html" in refused.err
    assert "give --events or --stats" in call("explain", "rules.cep", "--units", "4", *NONE).err


@pytest.mark.parametrize("optimizer", ["none", "units"])
def test_what_units_can_do(call, optimizer: str) -> None:
    options = ("--events", "events.csv", "--units", "4", "--optimizer", optimizer)

    def speed(*limits: str) -> float:
        result = call("explain", "rules.cep", *options, *limits)
        assert result.code == 0, result.err
        return float(re.search(r"replay speed ([\d.e+]+)", result.out)[1].rstrip("."))

    slow = "--iota", "10", "--kappa", "10"
    assert (
        "takes in 10 rows/s and makes 10 comparisons/s" in call("explain", "rules.cep", *options, *slow).out
    )
    assert speed(*slow) < speed("--iota", "20", "--kappa", "20") < speed("--memory", "1GB")
    refused = call("explain", "rules.cep", *options, "--memory", "9B")
    assert refused.code == 2
    assert "more than 9: give more units or more memory" in refused.err


@pytest.mark.parametrize("option", [("--iota", "5"), ("--kappa", "5"), ("--memory", "1MB")])
def test_what_units_can_do_is_for_units(call, option: tuple[str, str]) -> None:
    refused = call("explain", "rules.cep", "--events", "events.csv", *option, *NONE)
    assert refused.code == 2
    assert f"{option[0]} is about the units of a plan: give --units" in refused.err


@pytest.mark.parametrize("name", ["decopa", "units", "hybrid", "centralized", "state-parallel", "rip"])
def test_optimizers_for_units(call, name: str) -> None:
    result = call("explain", "rules.cep", "--events", "events.csv", "--units", "9", "--optimizer", name)
    assert result.code == 0, result.err
    assert f"plan by {name} on 9" in result.out
    assert "bottleneck: n" in result.out
    assert ("were chosen together" in result.out) == (name == "units")


def test_what_units_did_beside_the_model(call) -> None:
    result = call("explain", "rules.cep", "--events", "events.csv", "--units", "4", "--analyze", *NONE)
    assert result.code == 0, result.err
    heads = next(line for line in result.out.splitlines() if line.startswith("unit  "))
    assert heads.split("  ")[-1].strip() == "load, run"
    assert "unit 4" in result.out


def test_units_as_lanes(call) -> None:
    options = ("--events", "events.csv", "--units", "4", "--format", "html", "--analyze")
    result = call("explain", "rules.cep", *options, *NONE)
    assert result.code == 0, result.err
    assert result.out.count('<g class="measured">') == 4
    assert '<g class="full"><title>unit ' in result.out
    assert "On 4 units: replay speed" in result.out


def test_the_ending_of_out_chooses_the_form(call) -> None:
    Path("names.cep").write_text('QUERY "<script>alert(1)</script>" PATTERN SEQ(A a, B b) WITHIN 10 SECONDS;')
    assert call("explain", "names.cep", "--out", "plan.html").code == 0
    page = Path("plan.html").read_text()
    assert "<svg" in page
    assert "<script>alert" not in page
    assert call("explain", "names.cep", "--out", "plan.json").code == 0
    assert json.loads(Path("plan.json").read_text())["optimizer"] == "auto"
    assert call("explain", "names.cep", "--out", "plan.mmd").code == 0
    assert Path("plan.mmd").read_text().startswith("flowchart")


@pytest.mark.parametrize("form", ["text", "json", "mermaid"])
def test_no_plain_text_goes_into_a_page(call, form: str) -> None:
    result = call("explain", "rules.cep", "--format", form, "--out", "plan.HTML")
    assert result.code == 2
    assert (
        result.err
        == f"--out plan.HTML is a page: leave --format {form} out, or name a file with another ending\n"
    )
    assert not Path("plan.HTML").exists()


def test_totals_for_events_and_figures_per_million_without_them(call) -> None:
    assert "estimated for these " in call("explain", "rules.cep", "--events", "events.csv").out
    assert call("stats", "rules.cep", "--events", "events.csv", "--out", "s.json").code == 0
    assert "estimated per million events: " in call("explain", "rules.cep", "--stats", "s.json").out


def test_the_plan_of_none_saves_nothing(call) -> None:
    text = call("explain", "rules.cep", "--events", "events.csv", "--optimizer", "none").out
    assert "save" not in text
    assert "--optimizer none" not in text
