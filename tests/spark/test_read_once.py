"""A run reads its workload once and binds it once, wherever it runs."""

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from stretto.cli.main import app
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


def events(folder: Path) -> str:
    second = 10**6
    columns = {
        "ts": pa.array([0, second, 2 * second, 3 * second], pa.timestamp("us")),
        "type": ["A", "B", "A", "B"],
        "k": [1, 1, 2, 2],
        "x": [1.0, 2.0, 3.0, 4.0],
    }
    pq.write_table(pa.table(columns), folder / "events.parquet")
    return str(folder / "events.parquet")


def run(folder: Path, *options: str) -> str:
    (folder / "rules.cep").write_text(RULES)
    call = ["run", str(folder / "rules.cep"), "--events", events(folder), "--quiet", *options]
    result = CliRunner().invoke(app, call)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("optimizer", ["auto", "none"])
def test_in_process(tmp_path: Path, done: Counter[str], optimizer: str) -> None:
    assert "4 events, 3 matches" in run(tmp_path, "--on", "local", "--optimizer", optimizer)
    assert done == {"parse_partial": 1, "bind": 1}


@pytest.mark.parametrize("optimizer", ["auto", "none"])
def test_on_spark(tmp_path: Path, done: Counter[str], spark: SparkSession, optimizer: str) -> None:
    assert "4 events, 3 matches" in run(tmp_path, "--optimizer", optimizer)
    assert done == {"parse_partial": 1, "bind": 1}
