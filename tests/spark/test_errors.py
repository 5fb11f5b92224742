"""Failures of workers as one message."""

import pickle

import pytest
from pyspark.errors import PySparkException

from stretto.errors import EngineError, StrettoError
from stretto.spark.errors import (
    StrettoSparkError,
    WorkerError,
    at_work,
    clear_failures,
    failure_in,
    plain_failures,
    said_by_spark,
)

QUERIES = [f"q{number}" for number in range(1, 9)]


def text_of(caught: pytest.ExceptionInfo[WorkerError]) -> str:
    clear = failure_in(caught.value)
    assert clear is not None
    return str(clear)


def test_the_error_belongs_to_both_families() -> None:
    error = StrettoSparkError("no such folder")
    assert isinstance(error, PySparkException)
    assert isinstance(error, StrettoError)
    assert str(error) == error.getMessage() == str(pickle.loads(pickle.dumps(error))) == "no such folder"


def test_an_unexpected_error_names_step_and_queries() -> None:
    with pytest.raises(WorkerError) as caught, at_work("finding matches in slice 3", QUERIES):
        raise KeyError("price")
    expected = "finding matches in slice 3: KeyError: 'price' (queries: q1, q2, q3, q4, q5 and 3 more)"
    assert text_of(caught) == expected


def test_an_error_of_the_engine_keeps_its_own_queries() -> None:
    with pytest.raises(WorkerError) as caught, at_work("finding matches", QUERIES):
        raise EngineError("n3 (join) for q2 holds 5,000,000 rows")
    assert text_of(caught) == "finding matches: n3 (join) for q2 holds 5,000,000 rows"


def test_the_inner_step_counts() -> None:
    with pytest.raises(WorkerError) as caught, at_work("outside", QUERIES), at_work("inside", ["q1"]):
        raise ValueError
    assert text_of(caught) == "inside: ValueError (queries: q1)"


def test_long_messages_are_cut() -> None:
    with pytest.raises(WorkerError) as caught, at_work("step", []):
        raise ValueError("x" * 100_000)
    assert len(text_of(caught)) < 2_100


def test_a_generator_may_be_closed() -> None:
    def parts():
        with at_work("step", []):
            yield 1

    made = parts()
    next(made)
    made.close()


def test_found_in_the_text_around_it() -> None:
    worker = WorkerError("step", ["q1"], "two\nlines")
    around = RuntimeError(
        f"Job aborted:\nTraceback ..\nWorkerError: {worker}\n\tat org.apache.spark\n{worker}"
    )
    assert str(failure_in(around)) == "step: two\nlines (queries: q1)"


def test_other_errors_stay() -> None:
    assert failure_in(ValueError("something else")) is None
    with pytest.raises(ValueError, match="something else"), clear_failures():
        raise ValueError("something else")


@pytest.mark.spark
def test_a_worker_fails_in_a_job(spark) -> None:
    def fail(batches):
        with at_work("finding matches in slice 7", ["late_reversal"]):
            for batch in batches:
                raise ValueError(f"bad value in {batch.num_rows} rows")
        yield from ()

    with pytest.raises(StrettoSparkError) as caught, clear_failures():
        spark.range(1).mapInArrow(fail, "id bigint").collect()
    expected = "finding matches in slice 7: ValueError: bad value in 1 rows (queries: late_reversal)"
    assert str(caught.value) == expected


@pytest.mark.spark
def test_a_worker_fails_in_a_stream(spark, tmp_path) -> None:
    def fail(batches):
        with at_work("packing events", ["q1", "q2"]):
            for batch in batches:
                raise ValueError(f"{batch.num_columns} columns")
        yield from ()

    stream = spark.readStream.format("rate").option("rowsPerSecond", 10).load()
    failing = stream.mapInArrow(fail, "value bigint")
    query = (
        failing.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    )
    with pytest.raises(StrettoSparkError) as caught, clear_failures():
        query.awaitTermination(60)
    assert str(caught.value) == "packing events: ValueError: 2 columns (queries: q1, q2)"


UNREAD = "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///in/a%20b.parquet.  SQLSTATE: KD001"
TYPES = (
    "[FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH] Encountered error while reading file file:///in/2.parquet. "
    "Data type mismatches when reading Parquet column [x]. SQLSTATE: KD001"
)
TRACE = """[FOREACH_BATCH_USER_FUNCTION_ERROR] An error occurred. Reason: An exception was raised by the Python Proxy. \
Return Message: Traceback (most recent call last):
  File "clientserver.py", line 644, in _call_proxy
    return_value = getattr(self.pool[obj_id], method)(*params)
                   ^^^^^^^^^^^
{}

\tat py4j.Protocol.getReturnValue(Protocol.java:476)
=== Streaming Query ===
Identifier: stretto"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (UNREAD, "/in/a b.parquet: not a readable file of events, or damaged (--source-option "),
        (TYPES, "/in/2.parquet: Data type mismatches when reading Parquet column [x]."),
        (TRACE.format(f"pyspark.errors.SparkException: {UNREAD}"), "/in/a b.parquet: not a readable file"),
        (TRACE.format("sqlite3.OperationalError: disk I/O error"), "OperationalError: disk I/O error"),
        ("Job aborted.\nTwice. SQLSTATE: XXKST\n\nJVM stacktrace:\n\tat x", "Job aborted. Twice."),
    ],
)
def test_what_spark_says_is_one_line(text: str, said: str) -> None:
    found = said_by_spark(PySparkException(message=text))
    assert said in found
    assert not any(word in found for word in ("\n", "SQLSTATE", "Traceback", "Streaming Query"))
    with pytest.raises(StrettoSparkError) as caught, plain_failures():
        raise PySparkException(message=text)
    assert str(caught.value) == found


def test_workers_without_a_package_are_told_what_to_set() -> None:
    error = PySparkException("... ModuleNotFoundError: No module named 'numba.core'\n at org.apache ...")
    clear = failure_in(error)
    assert clear is not None
    assert str(clear).startswith("Spark's workers have no package `numba`: set PYSPARK_PYTHON to")


def test_what_a_pipeline_refuses_comes_with_what_to_do() -> None:
    pytest.importorskip("grpc", reason="pipelines go through Spark Connect")
    from pyspark.pipelines.block_session_mutations import block_session_mutations
    from pyspark.sql.connect.conf import RuntimeConf

    with (
        pytest.raises(StrettoSparkError, match=r"may not change its session: set .*RocksDB"),
        clear_failures(),
        block_session_mutations(),
    ):
        RuntimeConf.set(None, "spark.sql.streaming.stateStore.providerClass", "x")
    with (
        pytest.raises(StrettoSparkError, match=r"call stretto.spark.detect at the level of the module"),
        clear_failures(),
    ):
        raise PySparkException("[ATTEMPT_ANALYSIS_IN_PIPELINE_QUERY_FUNCTION] Operations that trigger ...")
