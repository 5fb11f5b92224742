"""`stretto run` and `stretto stats` on Spark: the same results as in process, and calls that are wrong."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from stretto.cli import where
from stretto.cli.options import On
from stretto.spark.setup.session import session

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module", autouse=True)
def _spark() -> None:
    """The session that all tests share."""
    session("local[2]", **{"spark.sql.shuffle.partitions": 2})


@pytest.fixture
def call(call):
    """Calls are on Spark where they do not say otherwise."""
    return lambda *arguments, **more: call(
        *arguments,
        *(("--on", "spark") if arguments[0] in ("run", "stats") and "--on" not in arguments else ()),
        **more,
    )


@pytest.fixture
def events() -> str:
    """A file with a row that cannot be read, and one without a type."""
    lines = [f"2024-01-01T00:00:{i:02d},{'ABC'[i % 3]},{i % 7}" for i in range(60)]
    lines[20] = "2024-01-01T00:00:20,,1"
    lines[30] = "2024-01-01T00:00:30,A,many"
    Path("many.csv").write_text("\n".join(["ts,type,x", *lines]) + "\n")
    return "many.csv"


@pytest.mark.parametrize("spread", ["auto", "time", "whole"])
def test_the_same_files_as_in_process(call, events: str, spread: str) -> None:
    local = call(
        "run", "rules.cep", "--events", events, "--on", "local", "--out", "l.parquet", "--rejected", "l.csv"
    )
    options = ["--spread", spread, "--out", "s.parquet", "--rejected", "s.csv", "--late", "late.csv"]
    result = call("run", "rules.cep", "--events", events, *options)
    assert result.code == 0, result
    assert result.out == local.out
    assert "spread: " in result.err
    ours, theirs = pq.read_table("s.parquet"), pq.read_table("l.parquet")
    assert ours.schema == theirs.schema
    assert ours.sort_by("match_id") == theirs.sort_by("match_id")
    assert sorted(Path("s.csv").read_text().split("\n")) == sorted(Path("l.csv").read_text().split("\n"))
    assert Path("late.csv").read_text().startswith('"ts"')


@pytest.mark.parametrize(("undecided", "spread"), [("keep", "key"), ("drop", "key"), ("drop", "time")])
def test_undecided_matches_are_those_of_a_run_in_process(call, undecided: str, spread: str) -> None:
    Path("lost.cep").write_text("QUERY lost PATTERN SEQ(A a, NOT(B b)) WHERE [x] WITHIN 9 SECONDS;")
    lines = [f"2024-01-01T00:00:{i:02d},{'ABC'[i % 3]},{i % 7}" for i in range(60)]
    Path("many.csv").write_text("\n".join(["ts,type,x", *lines]) + "\n")
    options = ["lost.cep", "--events", "many.csv", "--undecided", undecided]
    local = call("run", *options, "--on", "local", "--out", "l.parquet")
    result = call("run", *options, "--spread", spread, "--out", "s.parquet")
    assert result.code == 0, result
    assert result.out == local.out
    assert [line for line in result.err.splitlines() if line.startswith("undecided: lost")] == [
        line for line in local.err.splitlines() if line.startswith("undecided: lost")
    ]
    assert "undecided: lost" in local.err
    ours, theirs = pq.read_table("s.parquet"), pq.read_table("l.parquet")
    assert ours.sort_by("match_id") == theirs.sort_by("match_id")


def test_single_events_by_key(call, events: str) -> None:
    Path("one.cep").write_text("QUERY one PATTERN A a WITHIN 1 s; QUERY two PATTERN B b WITHIN 1 s;")
    local = call("run", "one.cep", "--events", events, "--on", "local", "--out", "l.parquet")
    result = call("run", "one.cep", "--events", events, "--spread", "key", "--out", "s.parquet")
    assert result.code == 0, result
    assert "spread: by key (id)" in result.err
    assert result.out == local.out
    ours, theirs = pq.read_table("s.parquet"), pq.read_table("l.parquet")
    assert ours.sort_by("match_id") == theirs.sort_by("match_id")


def test_tables_without_a_file(call, events: str) -> None:
    local = call("run", "rules.cep", "--events", events, "--on", "local")
    result = call("run", "rules.cep", "--events", events, "--optimizer", "none")
    assert result.code == 0, result
    assert result.out.splitlines()[-5:] == local.out.splitlines()[-5:]
    assert "first 10 of" in result.out
    assert "rejected: many.csv" in result.err


def test_late_events(call) -> None:
    lines = ["ts,type,x", "0,A,1", "9000000,C,1", "2000000,B,2", "8000000,B,3", ",A,1"]
    Path("late.csv").write_text("\n".join(lines) + "\n")
    found = {}
    for on in ("local", "spark"):
        options = ["--lateness", "2 seconds", "--late", "l.csv", "--rejected", "r.csv", "--out", "m.jsonl"]
        result = call("run", "rules.cep", "--events", "late.csv", "--ts-unit", "us", "--on", on, *options)
        assert result.out == "5 events, 1 match, 1 late, 1 rejected\n", result
        found[on] = [Path(name).read_text() for name in ("l.csv", "r.csv", "m.jsonl")]
    assert found["spark"] == found["local"]


def test_events_that_are_too_far_ahead(call) -> None:
    lines = ["ts,type,x", "2024-01-01,A,1", "2999-01-01,C,1", "2024-01-01T00:00:01,B,2"]
    Path("far.csv").write_text("\n".join(lines) + "\n")
    for on in ("local", "spark"):
        options = ["--lateness", "2 seconds", "--out", "m.jsonl", "--on", on]
        result = call("run", "rules.cep", "--events", "far.csv", *options)
        assert result.out == "3 events, 0 matches, 1 late, 0 rejected\n", result
        result = call("run", "rules.cep", "--events", "far.csv", *options, "--ahead", "1 day")
        assert result.out == "3 events, 1 match, 0 late, 1 rejected\n", result
        assert "rejected: ts is too far ahead" in result.err


def test_standard_input(call) -> None:
    lines = [json.dumps({"ts": i * 1_000_000, "type": "AB"[i % 2], "x": i}) for i in range(6)]
    result = call("run", "rules.cep", "--events", "-", "--ts-unit", "us", stdin="\n".join(lines))
    assert result.code == 0
    assert "warning: rules.cep:8:18: unknown type `C`" in result.err
    Path("ab.cep").write_text("QUERY q PATTERN SEQ(A a, B b) WITHIN 1 SECOND;")
    result = call("run", "ab.cep", "--events", "-", "--ts-unit", "us", stdin="\n".join(lines))
    assert result.code == 0, result
    assert result.out.endswith("6 events, 3 matches, 0 late, 0 rejected\n")


def test_too_little_memory_is_said_in_one_message(call) -> None:
    call("generate", "uniform", "--events", "20000", "--types", "3", "--rate", "1000", "--out", "u.parquet")
    result = call("run", "rules.cep", "--events", "u.parquet", "--memory", "200kB", "--out", "m.parquet")
    assert result.code == 1
    assert "out of memory" in result.err
    assert "Traceback" not in result.err
    assert not Path("m.parquet").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--units", "2"], "--units is for runs with --on spark --spread units"),
        (["--spread", "key"], "cannot spread by key: query `rise`"),
        (["--adapt"], "--adapt is for runs with --on local"),
        (["--lateness", "1 s", "--spread", "time"], "--lateness depends on the order of arrival"),
        (["--lateness", "soon"], "--lateness: `soon` is not a duration"),
        (["--optimizer", "magic"], "unknown optimizer `magic`"),
        (["--events", "none.csv"], "none.csv: no such file or folder"),
        (["--ts", "when"], "no column `when`"),
        (["--memory", "plenty"], "--memory: `plenty` is not a size"),
        (["--out", "m.xls"], "unknown ending '.xls'"),
        (["--on", "local", "--spread", "time"], "--spread is for runs with --on spark"),
        (["--on", "local", "--master", "local[2]"], "--master is for runs with --on spark"),
    ],
)
def test_wrong_calls(call, options: list[str], message: str) -> None:
    result = call("run", "rules.cep", "--events", "events.csv", *options)
    assert result.code == 2
    assert message in result.err
    assert result.out == ""
    assert sorted(path.name for path in Path().iterdir()) == ["events.csv", "rules.cep"]


def test_statistics(call, events: str) -> None:
    local = call("stats", "rules.cep", "--events", events, "--on", "local", "--out", "l.json")
    result = call("stats", "rules.cep", "--events", events, "--out", "s.json")
    assert (result.code, result.out) == (0, ""), result
    ours, theirs = (json.loads(Path(name).read_text()) for name in ("s.json", "l.json"))
    assert ours["seconds"] == theirs["seconds"]
    assert ours["schema"] == theirs["schema"]
    assert ours["rates"].keys() == theirs["rates"].keys()
    assert local.code == 0
    assert call("explain", "rules.cep", "--stats", "s.json").code == 0
    assert call("stats", "rules.cep", "--events", events, "--on", "local", "--master", "x").code == 2


def test_plans_by_statistics_of_large_files(call, events: str, monkeypatch: pytest.MonkeyPatch) -> None:
    local = call("explain", "rules.cep", "--events", events, "--on", "local", "--format", "json")
    monkeypatch.setattr(where, "SMALL", 100)
    result = call("explain", "rules.cep", "--events", events, "--format", "json")
    assert result.code == 0, result
    assert "runs on Spark: many.csv has 0 MB (--on local for the other)" in result.err
    ours, theirs = (json.loads(one.out)["operators"] for one in (result, local))
    assert [one["piece"] for one in ours] == [one["piece"] for one in theirs]
    # On Spark bad rows are counted too.
    assert [one["rows"] for one in ours] == pytest.approx([one["rows"] for one in theirs], rel=0.06)
    assert call("explain", "rules.cep", "--events", "-", "--on", "spark").code == 2
    assert call("explain", "rules.cep", "--events", events, "--on", "local", "--master", "local[1]").code == 2


def test_explain_tells_how_the_work_would_be_spread(call) -> None:
    call("generate", "uniform", "--events", "20000", "--types", "3", "--rate", "1000", "--out", "u.parquet")
    result = call("explain", "rules.cep", "--events", "u.parquet", "--spread", "time", "--budget", "0.1")
    assert result.code == 0, result
    assert "spread: by time, " in result.out
    assert "replication" in result.out
    result = call("explain", "rules.cep", "--events", "events.csv", "--spread", "auto", "--budget", "0.1")
    assert "spread: whole, 5 events on one target" in result.out
    assert call("explain", "rules.cep", "--spread", "auto").code == 2
    assert call("explain", "rules.cep", "--events", "u.parquet", "--spread", "key").code == 2


@pytest.mark.usefixtures("call")
def test_the_other_place_is_named_where_no_option_rules_it_out(events: str, capsys) -> None:
    assert where.chosen(On.AUTO, events, None) is On.LOCAL
    assert capsys.readouterr().err.endswith("(--on spark for the other)\n")
    assert where.chosen(On.AUTO, events, "local[1]") is On.SPARK
    assert capsys.readouterr().err == "runs on Spark: --master names local[1]\n"
    assert where.chosen(On.AUTO, events, None, local=True) is On.LOCAL
    assert capsys.readouterr().err == "runs in this process: --adapt is for one process\n"


@pytest.mark.parametrize("spread", ["time", "whole"])
def test_a_run_stops_where_a_query_has_too_many_matches(call, events: str, spread: str) -> None:
    Path("all.cep").write_text("QUERY all PATTERN SEQ(A a, B b) WITHIN 5 s;")
    options = ["all.cep", "--events", events, "--spread", spread, "--out", "s.parquet"]
    assert call("run", *options).code == 0
    matches = pq.read_table("s.parquet").num_rows
    assert call("run", *options, "--max-matches", str(matches)).code == 0
    Path("s.parquet").unlink()
    result = call("run", *options, "--max-matches", str(matches - 1))
    assert result.code == 1
    assert f"query `all` has more than {matches - 1} matches" in result.err
    assert "--max-matches" in result.err
    assert not Path("s.parquet").exists()
