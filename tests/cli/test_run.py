"""`stretto run`: results in every format, bad events, late events, and what is refused."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

COLUMNS = ["query", "match_id", "start", "end", "detected", "events", "member", "returned"]
FOUND = {
    ("rise", (("a", (0,)), ("b", (1,)))),
    ("rise", (("a", (0,)), ("b", (3,)))),
    ("pair", (("a", (2,)), ("c", (4,)))),
}


@pytest.fixture
def call(call):
    """Calls that run in this process, unless they say otherwise."""
    return lambda *given, **more: call(*given, *([] if given[0] != "run" else ["--on", "local"]), **more)


def found(rows: list[dict]) -> set:
    return {(r["query"], tuple(sorted((k, tuple(v)) for k, v in dict(r["events"]).items()))) for r in rows}


def read(path: str) -> list[dict]:
    if path.endswith(".parquet"):
        return pq.read_table(path).to_pylist()
    if path.endswith(".arrow"):
        return pa.ipc.open_file(path).read_all().to_pylist()
    if path.endswith(".csv"):
        with Path(path).open(newline="") as file:
            return [{**row, "events": json.loads(row["events"])} for row in csv.DictReader(file)]
    rows = [json.loads(line) for line in Path(path).read_text().splitlines()]
    assert not any(isinstance(row.get("returned"), str) for row in rows)
    return [{**row, "returned": json.dumps(row["returned"])} if "returned" in row else row for row in rows]


@pytest.mark.parametrize("out", ["m.parquet", "m.csv", "m.jsonl", "m.arrow"])
def test_matches_in_every_format(call, out: str) -> None:
    result = call("run", "rules.cep", "--events", "events.csv", "--out", out)
    assert result.code == 0, result
    rows = read(out)
    assert list(rows[0]) == COLUMNS
    assert len(rows) == 3
    assert found(rows) == FOUND
    assert result.out == "5 events, 3 matches, 0 late, 0 rejected\n"
    gains = {json.loads(row["returned"])["gain"] for row in rows if row["query"] == "rise"}
    assert gains == {1, 2}


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_table_of_its_own_for_each_query(call, ending: str) -> None:
    Path("own.cep").write_text(
        Path("rules.cep").read_text()
        + "QUERY runs PATTERN A a+ GROUP BY x WITHIN 10 SECONDS RETURN COUNT(*), SUM(a.x) AS s, AVG(a.x) AS m;\n"
        + "QUERY none PATTERN SEQ(C c, A a+) WITHIN 1 SECOND RETURN c.ts AS at, COUNT(a) AS n;\n"
    )
    result = call("run", "own.cep", "--events", "events.csv", "--layout", "typed", "--out", f"m.{ending}")
    assert result.code == 0, result
    tables = {name: read(f"m.{name}.{ending}") for name in ("rise", "pair", "runs", "none")}
    assert [(row["a"], row["b"], row["gain"]) for row in tables["rise"]] == [(0, 1, 1), (0, 3, 2)]
    assert list(tables["pair"][0]) == ["a", "c", "start", "end", "detected"]
    assert [(row["x"], row["COUNT(*)"], row["s"], row["m"]) for row in tables["runs"]] == [
        (1, 1, 1, 1.0),
        (5, 1, 5, 5.0),
    ]
    assert tables["none"] == []
    assert "wrote m.none." in result.err
    assert call("run", "own.cep", "--events", "events.csv", "--layout", "typed").code == 2
    for layout in ("typed", "rows"):  # names are made of the one given, and that is the one told
        result = call("run", "own.cep", "--events", "events.csv", "--layout", layout, "--out", "m")
        assert (result.code, "m: the name has no ending" in result.err) == (2, True)


LOST = """
QUERY lost PATTERN SEQ(SUBMIT s, NOT(SCHEDULE x)) WHERE [job] WITHIN 2 MINUTES;
QUERY pair PATTERN SEQ(SUBMIT s, SCHEDULE x) WHERE [job] WITHIN 2 MINUTES;
"""
SUBMITS = """ts,type,job
2024-01-01T00:00:00,SUBMIT,1
2024-01-01T00:01:00,SUBMIT,2
2024-01-01T00:02:00,SCHEDULE,2
2024-01-01T00:03:00,SUBMIT,3
2024-01-01T00:04:00,SUBMIT,4
"""


@pytest.mark.parametrize(("undecided", "matches"), [("keep", 3), ("drop", 1)])
def test_matches_that_the_end_of_the_events_leaves_undecided(call, undecided: str, matches: int) -> None:
    Path("lost.cep").write_text(LOST)
    Path("submits.csv").write_text(SUBMITS)
    options = [] if undecided == "keep" else ["--undecided", undecided]
    result = call("run", "lost.cep", "--events", "submits.csv", *options)
    assert result.code == 0, result
    rows = [line.split() for line in result.out.splitlines()]
    assert ["query", "matches", "undecided"] in rows
    assert ["lost", str(matches), "2"] in rows
    assert ["pair", "1", "0"] in rows
    assert f"5 events, {matches + 1} matches, 0 late, 0 rejected" in result.out
    assert "undecided: lost 2\n" in result.err
    assert ("--undecided drop leaves them out" in result.err) == (undecided == "keep")
    written = call("run", "lost.cep", "--events", "submits.csv", *options, "--out", "m.parquet")
    assert "undecided: lost 2\n" in written.err
    assert sum(row["query"] == "lost" for row in read("m.parquet")) == matches
    typed = ["--layout", "typed", "--out", "t.parquet"]
    assert "undecided: lost 2\n" in call("run", "lost.cep", "--events", "submits.csv", *options, *typed).err
    assert len(read("t.lost.parquet")) == matches


def test_nothing_is_said_of_undecided_matches_where_there_are_none(call) -> None:
    result = call("run", "rules.cep", "--events", "events.csv")
    assert "undecided" not in result.out + result.err
    assert call("run", "rules.cep", "--events", "events.csv", "--undecided", "later").code == 2


def test_durations_and_times_are_shown_as_such(call) -> None:
    Path("took.cep").write_text(
        "QUERY q PATTERN SEQ(A a, B b) WITHIN 10 SECONDS RETURN a.ts AS at, b.ts - a.ts AS took;"
    )
    result = call("run", "took.cep", "--events", "events.csv")
    row = next(line for line in result.out.splitlines() if line.startswith("q "))
    assert re.search(r"at=\d{4}-\d\d-\d\d \d\d:\d\d:\d\d took=\d:\d\d:\d\d$", row), row


def test_the_file_format_of_matches(call) -> None:
    call("run", "rules.cep", "--events", "events.csv", "--out", "m.parquet")
    table = pq.read_table("m.parquet")
    types = {field.name: field.type for field in table.schema}
    assert [types[name] for name in ("start", "end", "detected")] == [pa.timestamp("us")] * 3
    assert types["events"] == pa.map_(pa.string(), pa.list_(pa.int64()))
    assert {types[name] for name in ("query", "match_id", "returned")} == {pa.string()}
    assert all(len(value) == 32 for value in table["match_id"].to_pylist())
    assert len(set(table["match_id"].to_pylist())) == 3


def test_years_of_any_number_of_digits(call) -> None:
    year = 31_556_952 * 10**6
    ts = pa.array([-2000 * year, 12345 * year, 0], pa.timestamp("us"))
    pq.write_table(pa.table({"ts": ts, "type": ["A", "A", "B"], "x": [1, 2, 3]}), "far.parquet")
    Path("far.cep").write_text("QUERY q PATTERN A a WITHIN 1 s RETURN a.ts AS t;")
    shown = call("run", "far.cep", "--events", "far.parquet")
    assert shown.code == 0, shown
    assert "+14315-01-01 15:54:00" in shown.out
    assert "t=-0030-01-01T" in shown.out
    for out in ("m.jsonl", "m.csv"):
        assert call("run", "far.cep", "--events", "far.parquet", "--out", out).code == 0
        Path("again.cep").write_text("QUERY again PATTERN q a WITHIN 1 s RETURN a.ts AS t;")
        again = call("run", "again.cep", "--events", out, "--ts", "start", "--type", "query")
        assert again.out.endswith("2 events, 2 matches, 0 late, 0 rejected\n"), again
        assert "t=+14315-01-01T15:54:00.000000" in again.out
        starts = {row["start"].replace(" ", "T") for row in read(out)}
        assert starts == {json.loads(row["returned"])["t"] for row in read(out)}
        assert len(starts) == 2


def test_without_out_a_table_is_shown(call) -> None:
    result = call("run", "rules.cep", "--events", "events.csv")
    assert result.code == 0
    lines = [line.split() for line in result.out.splitlines()]
    assert ["rise", "2"] in lines
    assert ["pair", "1"] in lines
    assert "a=0 b=1" in result.out
    assert "gain=1" in result.out
    assert result.out.endswith("5 events, 3 matches, 0 late, 0 rejected\n")
    assert "\x1b" not in result.out


def test_many_matches_show_the_first(call) -> None:
    call("generate", "uniform", "--events", "2000", "--types", "3", "--out", "u.parquet")
    result = call("run", "rules.cep", "--events", "u.parquet")
    assert "first 10 of" in result.out  # five of each query


def test_late_and_rejected_files_have_columns_without_rows(call) -> None:
    call("run", "rules.cep", "--events", "events.csv", "--late", "l.parquet", "--rejected", "r.parquet")
    assert pq.read_table("l.parquet").column_names == ["ts", "type", "id", "x"]
    assert pq.read_table("r.parquet").column_names == ["ts", "type", "x", "text", "reason"]


def test_no_match_still_gives_a_file(call) -> None:
    Path("none.csv").write_text("ts,type,x\n1,A,1\n2,C,1\n3,B,0\n")
    Path("q.cep").write_text("QUERY q PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 1 SECOND;")
    assert call("run", "q.cep", "--events", "none.csv", "--ts-unit", "us", "--out", "m.parquet").code == 0
    assert pq.read_table("m.parquet").column_names == COLUMNS
    assert pq.read_table("m.parquet").num_rows == 0


def test_files_without_events(call) -> None:
    Path("none.csv").write_text("ts,type,x\n")
    result = call("run", "rules.cep", "--events", "none.csv")
    assert result.code == 2  # without a value the column has no numbers to compare
    pq.write_table(
        pa.table({"ts": pa.array([], pa.int64()), "type": pa.array([], pa.string()), "x": [0.5][:0]}),
        "n.parquet",
    )
    Path("count.cep").write_text("QUERY q PATTERN SEQ(A a, B b) WITHIN 1 SECOND;")
    result = call("run", "count.cep", "--events", "n.parquet")
    assert (result.code, result.out.splitlines()[-1]) == (0, "0 events, 0 matches, 0 late, 0 rejected")


@pytest.mark.parametrize("batch", ["1", "2", "1000"])
def test_batches_do_not_show(call, batch: str) -> None:
    call("run", "rules.cep", "--events", "events.csv", "--out", "m.jsonl", "--batch", batch)
    assert found(read("m.jsonl")) == FOUND


def test_unsorted_files_lose_nothing(call) -> None:
    header, *lines = Path("events.csv").read_text().splitlines()
    Path("mixed.csv").write_text("\n".join([header, *reversed(lines)]))
    result = call("run", "rules.cep", "--events", "mixed.csv", "--batch", "2", "--out", "m.jsonl")
    assert result.out == "5 events, 3 matches, 0 late, 0 rejected\n"
    assert found(read("m.jsonl")) == {
        (query, tuple((name, tuple(4 - i for i in ids)) for name, ids in events)) for query, events in FOUND
    }


def test_late_events_go_to_their_file(call) -> None:
    header, *lines = Path("events.csv").read_text().splitlines()
    Path("mixed.csv").write_text("\n".join([header, *lines[1:], lines[0]]))
    options = ["--lateness", "1 second", "--late", "late.csv", "--out", "m.jsonl"]
    result = call("run", "rules.cep", "--events", "mixed.csv", *options)
    assert result.out == "5 events, 1 match, 1 late, 0 rejected\n"
    with Path("late.csv").open(newline="") as file:
        (late,) = csv.DictReader(file)
    assert (late["type"], late["x"], late["ts"]) == ("A", "1", "2024-01-01 00:00:00.000000")


def test_bad_events_go_to_their_file(call) -> None:
    text = Path("events.csv").read_text()
    good = "".join(f"2024-01-01T00:01:{i:02},D,1\n" for i in range(20))
    Path("bad.csv").write_text(
        text + good + "2024-01-01T00:02:00,A,abc\nsoon,A,1\n,A,1\n2024-01-01T00:02:00,,1\n"
    )
    result = call("run", "rules.cep", "--events", "bad.csv", "--rejected", "r.jsonl", "--out", "m.jsonl")
    assert result.code == 0
    assert result.out == "29 events, 3 matches, 0 late, 4 rejected\n"
    rows = read("r.jsonl")
    reasons = {row["reason"] for row in rows}
    assert "bad.csv: line 27: x: 'abc' is not an integer" in reasons
    assert "bad.csv: line 28: ts: 'soon' is not a time" in reasons
    assert "ts is null" in reasons
    assert "type is null" in reasons
    assert [row["x"] for row in rows if row["ts"] == "soon"] == ["1"]


def test_bad_events_are_told_where_no_file_is_asked_for(call) -> None:
    rows = "".join(f"{i},A,{i}\n" for i in range(100)) + "x,A,1\n" * 5
    Path("bad.csv").write_text("ts,type,x\n" + rows + "200,B,1\n201,C,1\n")
    result = call("run", "rules.cep", "--events", "bad.csv", "--ts-unit", "us")
    assert result.code == 0
    assert "rejected: bad.csv: line 102: ts: 'x' is not an integer\n" in result.err
    assert "rejected: and 2 more" in result.err


def test_standard_input_and_output(call) -> None:
    lines = [
        {"ts": 3_000_000, "type": "B", "x": 2},
        {"ts": 1_000_000, "type": "A", "x": 1},
        {"ts": 9_000_000, "type": "C"},
    ]
    text = "\n".join(json.dumps(line) for line in lines)
    result = call("run", "rules.cep", "--events", "-", "--ts-unit", "us", "--out", "-", stdin=text)
    assert result.code == 0
    (match,) = [json.loads(line) for line in result.out.splitlines()]
    assert match["events"] == {"a": [1], "b": [0]}
    assert result.err == "3 events, 1 match, 0 late, 0 rejected\n"


def test_own_columns(call) -> None:
    text = Path("events.csv").read_text().replace("ts,type,x", "when,what,x")
    lines = text.splitlines()
    Path("own.csv").write_text(
        "\n".join([lines[0] + ",key", *(f"{line},{i * 10}" for i, line in enumerate(lines[1:]))])
    )
    names = ["--ts", "when", "--type", "what", "--id", "key"]
    assert call("run", "rules.cep", "--events", "own.csv", *names, "--out", "m.jsonl").code == 0
    assert {tuple(i for ids in row["events"].values() for i in ids) for row in read("m.jsonl")} == {
        (0, 10),
        (0, 30),
        (20, 40),
    }


def test_memory_limit(call) -> None:
    call("generate", "uniform", "--events", "20000", "--types", "3", "--rate", "1000", "--out", "u.parquet")
    result = call("run", "rules.cep", "--events", "u.parquet", "--memory", "200kB", "--out", "m.parquet")
    assert result.code == 1
    assert "out of memory" in result.err
    assert not Path("m.parquet").exists()
    assert not list(Path().glob(".*"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--master", "local[2]"], "--master is for runs with --on spark"),
        (["--spread", "time"], "--spread is for runs with --on spark"),
        (["--optimizer", "magic"], "unknown optimizer `magic`"),
        (["--lateness", "soon"], "--lateness: `soon` is not a duration"),
        (["--lateness", "1 s", "--ahead", "soon"], "--ahead: `soon` is not a duration"),
        (["--ahead", "1 day"], "--ahead is for runs with --lateness"),
        (["--memory", "plenty"], "--memory: `plenty` is not a size"),
        (["--out", "m.xls"], "unknown ending '.xls'"),
        (["--out", "no/m.csv"], "there is no folder"),
        (["--late", "l.txt"], "unknown ending '.txt'"),
        (["--rejected", "no/r.csv"], "there is no folder"),
        (["--ts", "when"], "no column `when`"),
        (["--type", "kind"], "no column `kind`"),
        (["--events", "none.csv"], "none.csv: no such file or folder"),
    ],
)
def test_wrong_calls(call, options: list[str], message: str) -> None:
    result = call("run", "rules.cep", "--events", "events.csv", *options)
    assert result.code == 2
    assert message in result.err
    assert result.out == ""
    assert sorted(path.name for path in Path().iterdir()) == ["events.csv", "rules.cep"]


def test_a_wrong_workload_is_refused_with_every_mistake(call) -> None:
    Path("bad.cep").write_text(
        "QUERY p PATTERN SEQ(A a, Z b) WHERE a.y < 1 WITHIN 1 SECOND;\nQUERY q PATTERN X x WITHIN 1 s;"
    )
    result = call("run", "bad.cep", "--events", "events.csv", "--out", "m.csv")
    assert result.code == 2
    assert all(
        text in result.err for text in ("bad.cep:1:", "unknown type `Z`", "`y`", "bad.cep:2:", "type `X`")
    )
    assert not Path("m.csv").exists()


def test_derived_streams_are_run(call) -> None:
    Path("derived.cep").write_text(
        "CREATE STREAM s AS SELECT SUM(x) AS x FROM A WITHIN 1 s;\nQUERY q PATTERN s v WITHIN 1 MINUTE;"
    )
    result = call("run", "derived.cep", "--events", "events.csv")
    assert result.code == 0, result
    assert "v=2" in result.out


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_no_file(tmp_path: Path, end: signal.Signals) -> None:
    (tmp_path / "q.cep").write_text("QUERY q PATTERN SEQ(A a, B b, C c, D d) WITHIN 30 SECONDS;")
    command = [sys.executable, "-c", "from stretto.cli.main import main; main()"]
    subprocess.run(
        [*command, "generate", "uniform", "--events", "300000", "--types", "4", "--out", "u.parquet"],
        cwd=tmp_path,
        check=True,
    )
    process = subprocess.Popen(
        [
            *command,
            "run",
            "q.cep",
            "--events",
            "u.parquet",
            "--out",
            "m.jsonl",
            "--batch",
            "500",
            "--on",
            "local",
            "--optimizer",
            "none",
        ],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob(".m.jsonl.*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(end)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 128 + end
    assert b"Traceback" not in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["q.cep", "u.parquet"]


def test_an_optimizer_that_searches_gets_statistics_and_a_budget(call) -> None:
    result = call("run", "rules.cep", "--events", "events.csv", "--optimizer", "mcep", "--budget", "0.1")
    assert result.code == 0, result
    assert result.out.endswith("5 events, 3 matches, 0 late, 0 rejected\n")


def test_adapting_says_how_often_it_planned_anew(call) -> None:
    lines = [f"{second}000000,{'ABC'[second % 3]},{second % 7}" for second in range(200_000)]
    Path("long.csv").write_text("\n".join(["ts,type,x", *lines]) + "\n")
    options = ("run", "rules.cep", "--events", "long.csv", "--batch", "50000", "--budget", "0.1")
    plain = call(*options)
    result = call(*options, "--optimizer", "reorder", "--adapt")
    assert result.code == 0, result
    assert "planned again 0 times, 0 times to another plan" in result.err
    assert result.out.splitlines()[-1] == plain.out.splitlines()[-1]


def test_ids_that_come_again_are_a_warning(call) -> None:
    rows = [
        f"2024-01-01T00:00:0{i},{kind},{i},{n}"
        for i, (kind, n) in enumerate(zip("ABABC", "45456", strict=True))
    ]
    Path("events.csv").write_text("\n".join(["ts,type,x,id", *rows]))
    result = call("run", "rules.cep", "--events", "events.csv", "--out", "m.jsonl")
    assert result.code == 0, result
    assert "warning: 2 events have the id of an earlier event: matches may share a match_id\n" in result.err
    rises = [row["match_id"] for row in read("m.jsonl") if row["query"] == "rise"]
    assert (len(rises), len(set(rises))) == (3, 1)
    Path("events.csv").write_text("\n".join(["ts,type,x,id", *rows[:2], rows[-1]]))
    assert "warning" not in call("run", "rules.cep", "--events", "events.csv", "--out", "m.jsonl").err


@pytest.mark.parametrize("out", [[], ["--out", "m.parquet"], ["--out", "m.csv", "--layout", "typed"]])
def test_a_run_stops_where_a_query_has_too_many_matches(call, out: list[str]) -> None:
    before = set(Path().iterdir())
    result = call("run", "rules.cep", "--events", "events.csv", "--max-matches", "1", *out)
    assert result.code == 1
    assert "query `rise` has more than 1 matches" in result.err
    assert "--max-matches" in result.err
    assert set(Path().iterdir()) == before
    assert call("run", "rules.cep", "--events", "events.csv", "--max-matches", "2", *out).code == 0


def test_a_run_that_explodes_stops_by_itself(call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stretto.engine.expected_matches.GUARD", 100)
    rows = "".join(f"2024-01-01T00:00:{i:02d},{'AB'[i % 2]},{i}\n" for i in range(60))
    Path("dense.csv").write_text(f"ts,type,x\n{rows}")
    Path("all.cep").write_text("QUERY all PATTERN SEQ(A a, B b) WITHIN 1 MINUTE;")
    result = call("run", "all.cep", "--events", "dense.csv", "--out", "m.parquet")
    assert result.code == 1
    assert "query `all` has more than 100 matches" in result.err
    assert not Path("m.parquet").exists()
    assert (
        call("run", "all.cep", "--events", "dense.csv", "--out", "m.parquet", "--max-matches", "465").code
        == 0
    )
