"""What is no mistake but perhaps not meant: said by every command, and an error with `check --strict`."""

import subprocess
import sys
from pathlib import Path

import pytest

UNKNOWN = "QUERY q PATTERN SEQ(A a, Bb b) WHERE a.x < b.x WITHIN 10 SECONDS;"


@pytest.mark.parametrize("command", ["check", "run", "stats", "explain"])
def test_a_type_that_is_neither_defined_nor_seen(call, command: str) -> None:
    Path("u.cep").write_text(UNKNOWN)
    result = call(command, "u.cep", "--events", "events.csv")
    assert result.code == 0
    assert "warning: u.cep:1:26: unknown type `Bb`" in result.err
    assert "did you mean `B`?" in result.err


def test_strict(call) -> None:
    Path("u.cep").write_text(UNKNOWN)
    result = call("check", "u.cep", "--events", "events.csv", "--strict")
    assert (result.code, result.out) == (2, "u.cep: 1 query, 1 warning for events.csv\n")
    assert call("check", "rules.cep", "--events", "events.csv", "--strict").code == 0


def test_statistics_tell_the_types_too(call) -> None:
    Path("u.cep").write_text(UNKNOWN)
    assert call("stats", "rules.cep", "--events", "events.csv", "--out", "s.json").code == 0
    for command in ("explain", "check"):
        result = call(command, "u.cep", "--stats", "s.json")
        assert result.code == 0
        assert "warning: u.cep:1:26: unknown type `Bb`" in result.err
    assert call("check", "u.cep", "--stats", "s.json", "--strict").code == 2
    both = call("check", "u.cep", "--stats", "s.json", "--events", "events.csv")
    assert (both.code, "leave one of them out" in both.err) == (2, True)


def test_selections_and_attributes_without_events(call) -> None:
    Path("s.cep").write_text(
        "CREATE EVENT Big AS SELECT * FROM B WHERE x > 1000;\n"
        "QUERY big PATTERN SEQ(A a, Big b) WITHIN 1 SECOND;\n"
        "QUERY own PATTERN SEQ(A a, B b) WHERE a.x > 7 WITHIN 1 SECOND;\n"
        "QUERY none PATTERN SEQ(A a, C c) WHERE c.x > a.x WITHIN 1 SECOND;\n"
        "QUERY fine PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 1 SECOND;\n"
    )
    result = call("check", "s.cep", "--events", "events.csv")
    assert result.code == 0
    assert [line.partition("warning: ")[2] for line in result.err.splitlines()] == [
        "query `big`: none of the 2 events of type `B` that were looked at passes `B[x > 1000]`",
        "query `own`: none of the 2 events of type `A` that were looked at passes `A[x > 7]`",
        "query `none`: `x` has no value in the 1 event of type `C` that was looked at",
    ]


def test_far_too_many_matches_are_told_before_they_are_built(call) -> None:
    call("generate", "uniform", "--events", "4000", "--types", "3", "--rate", "1000", "--out", "u.parquet")
    Path("many.cep").write_text("QUERY many PATTERN SEQ(A a, B b, C c) WITHIN 2 SECONDS;")
    result = call("explain", "many.cep", "--events", "u.parquet")
    assert "matches expected of 4,000 events" in result.err
    assert "WITHIN" in result.err
    Path("few.cep").write_text("QUERY few PATTERN SEQ(A a, B b, C c) WITHIN 20 MILLISECONDS;")
    assert "expected of" not in call("explain", "few.cep", "--events", "u.parquet").err


def test_files_that_were_written_are_named(call) -> None:
    result = call("run", "rules.cep", "--events", "events.csv", "--out", "m.parquet", "--rejected", "r.csv")
    assert "wrote m.parquet: 3 rows\nwrote r.csv: 0 rows\n" in result.err


def test_events_that_are_not_there_run_nowhere(call) -> None:
    result = call("run", "rules.cep", "--events", "none.parquet")
    assert (result.code, result.err) == (2, "none.parquet: no such file or folder\n")


def test_where_it_runs_is_told(call) -> None:
    for command in ("run", "stats", "explain"):
        result = call(command, "rules.cep", "--events", "events.csv", "--on", "auto")
        assert result.code == 0
        assert "runs in this process: events.csv has 129 bytes, and Spark is for 256 MB or more" in result.err
    result = call(
        "run", "rules.cep", "--events", "-", stdin='{"ts": "2024-01-01T00:00:00", "type": "A", "x": 1}\n'
    )
    assert result.err.startswith("runs in this process: events come from standard input (")


def test_ids_that_are_not_there(call) -> None:
    for command in ("check", "run", "stats", "explain"):
        result = call(command, "rules.cep", "--events", "events.csv", "--id", "y")
        assert result.code == 0
        assert "no column `y` for the ids of events" in result.err
        assert "they are numbered from 0" in result.err
    assert "for the ids" not in call("run", "rules.cep", "--events", "events.csv").err


def test_many_warnings_of_one_kind_are_one_summary(call) -> None:
    rules = "".join(
        f"QUERY q{i} PATTERN SEQ(A a, B b) WHERE a.x > {i}00 WITHIN 1 SECOND;\n" for i in range(1, 51)
    )
    Path("rules.cep").write_text(rules)
    for command in ("check", "run", "explain", "stats"):
        result = call(command, "rules.cep", "--events", "events.csv")
        lines = [line for line in result.err.splitlines() if "passes" in line]
        assert "warning: 50 selections that none of the events looked at passes; the first 3:" in lines[0]
        assert len(lines) == 4
        assert "query `q1`: none of the 2 events of type `A`" in lines[1]
    strict = call("check", "rules.cep", "--events", "events.csv", "--strict")
    assert (strict.code, "50 warnings" in strict.out) == (2, True)


def test_terms_that_can_never_hold_are_warned_about_without_events(call) -> None:
    Path("never.cep").write_text(
        "QUERY q PATTERN A a WHERE a.x > 5 AND a.x < 3 WITHIN 1 SECOND;\n"
        "QUERY r PATTERN SEQ(A a, B b+) WHERE COUNT(a) >= 5 AND COUNT(b) >= 5 WITHIN 1 SECOND;\n"
    )
    result = call("check", "never.cep")
    assert (result.code, "2 warnings" in result.out) == (0, True)
    assert "never.cep:1:39: `a.x > 5` and `a.x < 3` can never both hold" in result.err
    assert "never.cep:2:38: `COUNT(a) >= 5` can never hold" in result.err
    assert "COUNT(b)" not in result.err.replace("AND COUNT(b) >= 5 WITHIN", "")
    assert call("check", "never.cep", "--strict").code == 2


def test_a_misspelled_type_is_reported_without_events(call) -> None:
    Path("typo.cep").write_text(
        "CREATE EVENT BigBuy AS SELECT * FROM Buy1 WHERE x > 3;\n"
        "QUERY q PATTERN SEQ(BigBy a, Buy b, Buy2 c) WITHIN 1 SECOND;\n"
    )
    result = call("check", "typo.cep")
    assert "type `BigBy` is not defined here" in result.err
    assert "did you mean `BigBuy`" in result.err
    assert "1 warning" in result.out


def test_a_warning_of_the_library_is_one_line() -> None:
    code = (
        "from stretto.cli.console import show_warnings_as_lines\n"
        "from stretto.errors import warn\n"
        "show_warnings_as_lines()\n"
        "warn('the cache is full')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "warning: the cache is full\n"
