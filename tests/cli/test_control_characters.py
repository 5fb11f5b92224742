"""Nothing of data, of names and of file names moves the cursor, whatever way it goes out; files keep it as it is."""

import csv
import io
import json
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from stretto.cli import console

ODD = 'q\x1b]0;title\x07\x9b2J\x0b\n\u202e"x"'
"""Sets the title, clears the screen, goes down, ends the line, turns the direction: as a name, and as data."""
SHOWN = 'q\\x1b]0;title\\x07\\x9b2J\\x0b\\n\\u202e"x"'
QUOTED = '"' + ODD.replace('"', '""') + '"'
RULES = f"""\
QUERY {QUOTED}
PATTERN SEQ({QUOTED} {QUOTED}, B b)
WHERE   {QUOTED}.{QUOTED} != b.x OR {QUOTED}.{QUOTED} = '{ODD}'
WITHIN  10 SECONDS
RETURN  {QUOTED}.{QUOTED} AS value;

QUERY trends PATTERN {QUOTED} t+ WHERE t[i].{QUOTED} = t[i-1].{QUOTED}
GROUP BY {QUOTED} WITHIN 10 SECONDS RETURN COUNT(*) AS "count{ODD.replace('"', '""')}";
"""
FILE = f"{ODD}.jsonl"
EVENTS = ("run", "odd.cep", "--on", "local", "--events", FILE)


@pytest.fixture
def odd(call):
    """The odd workload and events, and a call whose output is looked at."""
    Path("odd.cep").write_text(RULES)
    rows = [{"ts": "2024-01-01T00:00:00", "type": ODD, ODD: ODD, "x": "y\r"}]
    rows += [{"ts": "2024-01-01T00:00:01", "type": "B", ODD: ODD, "x": "y\r"}]
    Path(FILE).write_text("".join(json.dumps(row) + "\n" for row in rows) + f"no JSON: {ODD}\n")

    def invoke(*arguments: str, code: int = 0) -> str:
        result = call(*arguments)
        assert result.code == code, result
        shown = result.out + result.err
        assert not [c for c in shown if c not in "\n\t" and not c.isprintable()], ascii(shown)
        return shown

    return invoke


def test_tables_and_rejected_reasons(odd) -> None:
    lines = odd(*EVENTS).splitlines()
    assert any(line.startswith(f"{SHOWN}  2024") and f"value={SHOWN}" in line for line in lines)  # a match
    assert f"{SHOWN}        1" in lines  # its count
    assert any(line.startswith("trends") and f"count{SHOWN}" in line for line in lines)  # a total
    reasons = [line for line in lines if line.startswith("rejected: ")]
    assert len(reasons) == 2
    assert all(reason.startswith(f"rejected: {SHOWN}.jsonl: line") for reason in reasons)


@pytest.mark.parametrize("stage", ["pattern", "memo", "plan"])
@pytest.mark.parametrize("form", ["text", "json"])
def test_explain(odd, stage: str, form: str) -> None:
    text = odd("explain", "odd.cep", "--stage", stage, "--format", form)
    if form == "json":
        json.JSONDecoder().raw_decode(text)
    elif stage == "plan":
        assert f"emit {SHOWN}" in text


@pytest.mark.parametrize(
    "more", [["--diff", "none"], ["--analyze"], ["--format", "mermaid"], ["--format", "html"]]
)
def test_other_explanations(odd, more: list[str]) -> None:
    assert "title" in odd("explain", "odd.cep", "--events", FILE, *more)


def test_stats(odd) -> None:
    assert f"{SHOWN}  " in odd("stats", "odd.cep", "--on", "local", "--events", FILE)


def test_mistakes_and_file_names(odd) -> None:
    name = ODD.replace("/", "") + ".cep"
    Path(name).write_text(f"QUERY {QUOTED} PATTERN A \x1b[2J WHERE {QUOTED}.x < 1 WITHIN 1 s;")
    shown = odd("check", name, code=2)
    assert shown.startswith(f"{SHOWN}.cep:2:")
    assert "\\x1b[2J" in shown
    Path(name).write_text("QUERY q PATTERN A a WITHIN 1 s;")
    assert odd("check", name) == f"{SHOWN}.cep: 1 query, no mistake\n"
    assert odd("check", f"no{ODD}", code=2).startswith(f"no{SHOWN}: ")
    assert odd("run", name, "--on", "local", "--events", f"no{ODD}.csv", code=2).startswith(f"no{SHOWN}.csv")
    assert odd("generate", "uniform", "--events", "3", "--out", f"{ODD}.csv") == f"{SHOWN}.csv: 3 events\n"
    assert SHOWN in odd("generate", "uniform", "--events", "3", "--out", f"no/{ODD}.csv", code=2)
    assert SHOWN in odd("explain", name, "--out", f"no/{ODD}.txt", code=2)


def test_lines_on_standard_output(odd) -> None:
    Path("one.cep").write_text(RULES.split("\n\nQUERY trends", maxsplit=1)[0])
    text = odd("run", "one.cep", "--on", "local", "--events", FILE, "--out", "-")
    (line,) = [line for line in text.splitlines() if line.startswith("{")]
    assert json.loads(line)["query"] == ODD


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_files_keep_all_as_it_is(odd, ending: str) -> None:
    odd(*EVENTS, "--out", f"m.{ending}", "--rejected", "r.jsonl")
    path = f"m.matches.{ending}"
    if ending == "parquet":
        (row,) = pq.read_table(path).to_pylist()
        events = dict(row["events"])
    elif ending == "csv":
        with Path(path).open(newline="") as file:
            (row,) = csv.DictReader(file)
        events = json.loads(row["events"])
    else:
        row = json.loads(Path(path).read_text())
        events = row["events"]
    assert row["query"] == ODD
    assert events == {ODD: [0], "b": [1]}
    returned = row["returned"]
    assert (returned if ending == "jsonl" else json.loads(returned)) == {"value": ODD}
    bad = Path("r.jsonl").read_text().splitlines()
    assert json.loads(bad[0])["text"] == f"no JSON: {ODD}".split("\n")[0]


def test_the_text_of_a_workload_is_not_changed_for_other_programs(call) -> None:
    Path("odd.cep").write_text(RULES)
    result = call("explain", "odd.cep", "--stage", "text")
    assert ODD in result.out
    Path("again.cep").write_text(result.out)
    assert call("explain", "again.cep", "--stage", "text").out == result.out


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_it_is_made_visible_for_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    console.show(f"QUERY {ODD}\n")
    first, second = SHOWN.split("\\n")
    assert terminal.getvalue() == f"QUERY {first}\n{second}\n"


def test_framed_tables_in_a_terminal(odd, call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "400")
    result = call(*EVENTS)
    assert "━" in result.out or "─" in result.out
    assert f"value={SHOWN}" in result.out
    assert not [c for c in ("\x1b]", "\x07", "\x9b", "\x0b", "\u202e") if c in result.out + result.err]


def test_internal_errors(capsys: pytest.CaptureFixture[str]) -> None:
    console.admit(ValueError(ODD))
    assert "\\x1b]0;title\\x07\\x9b2J" in capsys.readouterr().err
