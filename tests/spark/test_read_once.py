"""A run reads its workload once and binds it once, wherever it runs."""

import json
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from stretto.cli.app import app
from stretto.pattern import workload as module

RULES = """
CREATE EVENT Big AS SELECT * FROM A WHERE x > 1;
QUERY rise PATTERN SEQ(A a, B b) WHERE [k] AND a.x < b.x WITHIN 10 SECONDS;
QUERY big PATTERN SEQ(Big a, B b) WITHIN 10 SECONDS;
"""


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often texts were parsed and statements bound."""
    counts: Counter[str] = Counter()
    for name in ("parse_partial", "bind"):
        real = getattr(module, name)

        def counted(*given, name=name, real=real):
            counts[name] += 1
            return real(*given)

        monkeypatch.setattr(module, name, counted)
    return counts


def events(folder: Path, form: str = "parquet") -> str:
    second = 10**6
    columns = {
        "ts": pa.array([0, second, 2 * second, 3 * second], pa.timestamp("us")),
        "type": ["A", "B", "A", "B"],
        "k": [1, 1, 2, 2],
        "x": [1.0, 2.0, 3.0, 4.0],
    }
    table = pa.table(columns)
    path = folder / f"events.{form}"
    if form == "parquet":
        pq.write_table(table, path)
    elif form == "csv":
        pa_csv.write_csv(table, path)
    else:
        path.write_text("".join(f"{json.dumps(row, default=str)}\n" for row in table.to_pylist()))
    return str(path)


def run(folder: Path, *options: str, path: str | None = None) -> str:
    (folder / "rules.cep").write_text(RULES)
    call = [
        "run",
        str(folder / "rules.cep"),
        "--events",
        path or events(folder),
        "--quiet",
        "--on",
        "spark",
        *options,
    ]
    result = CliRunner().invoke(app, call)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("optimizer", ["auto", "none"])
def test_in_process(tmp_path: Path, done: Counter[str], optimizer: str) -> None:
    assert "4 events, 3 matches" in run(tmp_path, "--on", "local", "--optimizer", optimizer)
    assert done == {"parse_partial": 1, "bind": 1}


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize("optimizer", ["auto", "none"])
def test_on_spark(tmp_path: Path, done: Counter[str], spark: SparkSession, optimizer: str, form: str) -> None:
    assert "4 events, 3 matches" in run(tmp_path, "--optimizer", optimizer, path=events(tmp_path, form))
    assert done == {"parse_partial": 1, "bind": 1}


def test_columns_that_turn_out_otherwise(tmp_path: Path, done: Counter[str], spark: SparkSession) -> None:
    """The first lines do not have `x`, which the queries read: that is no mistake before all lines are known."""
    first = [{"ts": 10**15 + number, "type": "C", "k": 1} for number in range(3_000)]
    rest = [
        {"ts": 10**15 + 10**7 + number, "type": kind, "k": 1, "x": number}
        for number, kind in enumerate("AB", 2)
    ]
    path = tmp_path / "late.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in first + rest))
    assert "3,002 events, 2 matches" in run(tmp_path, path=str(path))
    assert done == {"parse_partial": 1, "bind": 3}


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
def test_in_a_stream(tmp_path: Path, done: Counter[str], spark: SparkSession, form: str) -> None:
    (tmp_path / "incoming").mkdir()
    events(tmp_path / "incoming", form)
    (tmp_path / "rules.cep").write_text(RULES)
    call = ["stream", str(tmp_path / "rules.cep"), "--source", f"files:{tmp_path / 'incoming'}", "--quiet"]
    call += ["--sink", f"files:{tmp_path / 'found'}", "--checkpoint", str(tmp_path / "state")]
    for _ in range(2):  # the second start goes on with the columns and the version that the first one noted
        done.clear()
        result = CliRunner().invoke(app, [*call, "--trigger", "available-now"])
        assert result.exit_code == 0, result.output
        assert done == {"parse_partial": 1, "bind": 1}
