"""`stretto check`: right workloads, and every mistake of wrong ones."""

from pathlib import Path


def test_right(call) -> None:
    result = call("check", "rules.cep")
    assert (result.code, result.out, result.err) == (0, "rules.cep: 2 queries, no mistake\n", "")


def test_right_for_events(call) -> None:
    result = call("check", "rules.cep", "--events", "events.csv")
    assert (result.code, result.out) == (0, "rules.cep: 2 queries, no mistake for events.csv\n")


def test_all_mistakes_of_a_workload_are_listed(call) -> None:
    Path("bad.cep").write_text(
        "QUERY q PATTERN SEQ(A a, B b) WHERE z.x < 1 WITHIN 1 SECOND;\n"
        "QUERY q PATTERN A a WITHIN 1 SECOND;\n"
        "QUERY r PATTERN A a WITHIN 0 SECONDS;\n"
    )
    result = call("check", "bad.cep")
    assert result.code == 2
    assert result.out == ""
    assert "bad.cep:1:37: unknown variable `z`" in result.err
    assert "bad.cep:2:7:" in result.err
    assert "bad.cep:3:28:" in result.err
    assert "^" in result.err


def test_mistakes_against_events(call) -> None:
    Path("bad.cep").write_text("QUERY q PATTERN SEQ(A a, Z b) WHERE a.y < 1 WITHIN 1 SECOND;")
    result = call("check", "bad.cep", "--events", "events.csv")
    assert result.code == 2
    assert "unknown type `Z`" in result.err
    assert "unknown attribute `y`" in result.err


def test_files_that_are_not_there(call) -> None:
    result = call("check", "none.cep")
    assert (result.code, result.err) == (
        2,
        "none.cep: the workload cannot be read: No such file or directory\n",
    )
    result = call("check", "rules.cep", "--events", "none.parquet")
    assert (result.code, result.err) == (2, "none.parquet: no such file or folder\n")


def test_files_that_are_no_workloads(call) -> None:
    Path("empty.cep").write_text("-- nothing\n")
    assert "the workload holds no statement" in call("check", "empty.cep").err
    Path("bytes.cep").write_bytes(b"QUERY \xff")
    result = call("check", "bytes.cep")
    assert (result.code, result.err) == (2, "bytes.cep: the workload is not UTF-8 text (at byte 6)\n")
    Path("folder.cep").mkdir()
    assert call("check", "folder.cep").code == 2


def test_own_names_of_columns(call) -> None:
    Path("own.csv").write_text("when,what,x\n2024-01-01,A,1\n2024-01-02,B,2\n2024-01-03,C,3\n")
    assert call("check", "rules.cep", "--events", "own.csv").code == 2
    assert call("check", "rules.cep", "--events", "own.csv", "--ts", "when", "--type", "what").code == 0
