"""Workloads of the commands are bound to the columns of files, once, and before Spark starts."""

from dataclasses import replace
from pathlib import Path

import pytest

from stretto.cli.on_spark import opened
from stretto.errors import QueryError
from stretto.pattern import workload as module
from stretto.schema import Schema, Special

CSV = "ts,type,x\n2024-01-01T00:00:00,A,1\n2024-01-01T00:00:01,B,2\n"


@pytest.fixture
def bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Schema | None]:
    """The schemas that a workload is bound to, one after another, in a folder of its own."""
    seen: list[Schema | None] = []
    bind = module.bind

    def counted(statements, schema, *tables):
        seen.append(schema)
        return bind(statements, schema, *tables)

    monkeypatch.setattr(module, "bind", counted)
    monkeypatch.chdir(tmp_path)
    return seen


def write_workload(term: str) -> None:
    Path("w.cep").write_text(f"QUERY q PATTERN SEQ(A a, B b) WHERE {term} WITHIN 1 s;")


def test_a_workload_over_csv_is_bound_once(bound: list[Schema | None]) -> None:
    write_workload("a.x < b.x")
    Path("e.csv").write_text(CSV)
    with opened("w.cep", "e.csv", Special()) as (read, files):
        read.bind(replace(files.schema, types=frozenset({"A", "B"})))  # as a survey completes it
    assert len(bound) == 1


def test_a_column_that_the_sample_lacks_is_no_mistake(bound: list[Schema | None]) -> None:
    write_workload("a.y < b.y")
    Path("e.csv").write_text(CSV)
    with opened("w.cep", "e.csv", Special()):
        pass
    assert bound[-1] is None


def test_what_is_wrong_without_columns_is_a_mistake(bound: list[Schema | None]) -> None:
    write_workload("c.x < b.x")
    Path("e.csv").write_text(CSV)
    with pytest.raises(QueryError, match="unknown variable `c`"), opened("w.cep", "e.csv", Special()):
        pass
    assert bound[-1] is None
