"""`bench spark` measures public calls, on the same events as Spark SQL, and compares all answers first."""

import ast
import time
from argparse import Namespace
from pathlib import Path

import pytest
from benchmarks.contestants.answers import WrongAnswerError
from pyspark.sql import DataFrame, SparkSession

from benchmarks import spark as bench_spark

GIVEN = Namespace(seed=3, events=3_000, turns=2)
FOLDER = Path(bench_spark.__file__).parent
PUBLIC = {"stretto", "stretto.spark"}
REPORTS = "stretto.spark.stream.metrics"
"""Reads what a stream reported; nothing is measured with it."""


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path) -> bench_spark.Bench:
    return bench_spark.Bench(tmp_path, GIVEN)


@pytest.mark.parametrize("module", ["spark.py", "spark_events.py", "motto_cores.py"])
def test_only_public_calls_are_measured(module: str) -> None:
    tree = ast.parse((FOLDER / module).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    used = {
        (node.module, name.name)
        for node in imports
        for name in node.names
        if str(node.module).partition(".")[0] == "stretto" and node.module not in {*PUBLIC, REPORTS}
    }
    assert used <= {("stretto.plan.dag", "Plan")}, "the type of a plan, which is public as `stretto.Plan`"


def test_matches_of_all_calls_are_those_of_spark_sql(bench: bench_spark.Bench) -> None:
    bench._few()
    case = bench.cases["few"]
    assert case["events"] == GIVEN.events
    assert case["matches"] > 50
    assert set(case["count"]) == {"detect", "detect_files", "sql", "run"}
    assert set(case["noop"]) == {"detect", "detect_files", "sql"}
    assert case["count"]["sql"]["ratio"]["median"] == 1.0
    ratio = case["noop"]["detect"]["ratio"]
    assert ratio["least"] <= ratio["median"] <= ratio["most"]


def test_totals_are_those_of_spark_sql(bench: bench_spark.Bench) -> None:
    bench._totals()
    assert bench.cases["totals"]["matches"] > 10
    assert set(bench.cases["totals"]["collect"]) == {"aggregate", "sql"}


def test_a_wrong_answer_is_noticed(bench: bench_spark.Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    every = bench_spark.sql_matches
    monkeypatch.setattr(bench_spark, "sql_matches", lambda *given: every(*given).where("id0 > 900"))
    with pytest.raises(WrongAnswerError, match="Spark SQL"):
        bench._few()
    assert not bench.cases


def test_the_clock_runs_until_the_result_is_taken(bench: bench_spark.Bench, spark: SparkSession) -> None:
    def slow_plan() -> DataFrame:
        time.sleep(0.2)
        return spark.range(1)

    calls = {"detect": slow_plan, "sql": lambda: spark.range(1)}
    found = bench._timed(calls, {"slow": lambda _found: time.sleep(0.2)})["slow"]
    assert found["detect"]["wall"] >= 0.4
    assert found["sql"]["wall"] >= 0.2
