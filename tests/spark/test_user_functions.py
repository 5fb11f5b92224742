"""Functions of users reach the workers with the plan: in batches, in streams and in versions of a workload."""

import threading
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from tests.spark.stream.operator_cases import SCHEMA, batch_of, plan_of, workload_rows

import stretto.spark
from stretto import Workload, register_function
from stretto.pattern import functions
from stretto.spark import user_functions
from stretto.spark.errors import StrettoSparkError
from stretto.spark.stream.versions import Publisher, Version, last_version
from stretto.spark.user_functions import know_functions, with_functions

QUERY = "QUERY q PATTERN SEQ(A a, B b) WHERE HALF(a.k) = b.k WITHIN 10 ms;"


@pytest.fixture(autouse=True)
def forget(monkeypatch: pytest.MonkeyPatch):
    """What makes of this process one that knows no function, as a new worker."""

    def forgotten() -> None:
        monkeypatch.setattr(functions, "_registered", {})
        monkeypatch.setattr(user_functions, "_last", b"")

    forgotten()
    return forgotten


def register_half(divisor: int = 2) -> None:
    def half(numbers):
        if (numbers == 0).any():
            raise ValueError("no half of 0")
        return numbers // divisor

    register_function("half", half, ["integer"], "integer")


def test_a_batch_finds_and_rejects_as_the_engine_does(spark: SparkSession) -> None:
    register_half()
    register_function("other", threading.Lock().acquire, [], "boolean")  # cannot travel, and need not
    events = pa.table(
        {
            "ts": pa.array([1000, 2000, 3000], pa.timestamp("us")),
            "type": ["A", "A", "B"],
            "id": [0, 1, 2],
            "k": [0, 6, 3],
        }
    )
    found = stretto.spark.detect(QUERY, events, optimizer="none", spread="whole", outputs="all").toArrow()
    matches = found.filter(pa.array([kind == "matches" for kind in found["kind"].to_pylist()]))
    assert [dict(of) for of in matches["events"].to_pylist()] == [{"a": [1], "b": [2]}]
    reasons = [reason for reason in found["reason"].to_pylist() if reason]
    assert reasons == ["HALF: ValueError: no half of 0"]


def test_a_stream_knows_the_functions_of_its_versions(stream, forget) -> None:
    register_half()
    first = Version(1, QUERY, with_functions(plan_of(QUERY)))
    register_half(3)
    second = Version(2, QUERY, with_functions(plan_of(QUERY)))
    register_half()
    target = stream(QUERY, follows=True)
    forget()
    target.batch(batch_of((1, "A", 6, 0), (2, "B", 3, 1), (3, "C", 0, 2)), workload_rows(first, 1))
    assert [dict(match["events"]) for match in target.matches] == [{"a": [0], "b": [1]}]
    forget()  # another worker
    target.batch(batch_of((4, "B", 3, 3), (5, "C", 0, 4)))
    target.batch(batch_of((6, "B", 2, 5), (7, "B", 3, 6), (8, "C", 0, 7)), workload_rows(second, 1))
    assert [dict(match["events"])["b"] for match in target.matches] == [[1], [3], [5]]


def test_a_stream_rejects_each_event_that_a_function_raises_for_once(stream) -> None:
    register_half()
    target = stream(QUERY)
    target.batch(batch_of((1, "A", 6, 0), (2, "A", 0, 1), (3, "B", 3, 2), (4, "C", 0, 3)))
    target.batch(batch_of((5, "B", 3, 4), (6, "C", 0, 5)))
    target.batch(batch_of((7, "A", 0, 6), (8, "C", 0, 7)))
    target.batch(batch_of((9, "C", 0, 8)))
    assert [dict(match["events"])["b"] for match in target.matches] == [[2], [4]]
    assert [row["reason"] for row in target.rejected] == ["HALF: ValueError: no half of 0"] * 2
    assert sum(metrics.rejected for metrics in target.metrics) == 2


def test_another_function_of_the_name_is_another_version(tmp_path: Path, forget) -> None:
    register_half()
    publisher = Publisher(tmp_path, SCHEMA, "none")
    workload = Workload.parse(QUERY)
    assert [publisher.offer(workload).number for _ in range(2)] == [1, 1]
    register_half(3)
    assert publisher.offer(workload).number == 2
    forget()
    last = last_version(tmp_path)
    assert last is not None
    assert functions.user_function("HALF") is None  # reading a version registers nothing
    assert publisher.offer(workload).number == 2
    know_functions(last.plan.functions)
    known = functions.user_function("HALF")
    assert known is not None
    assert known.function(pa.array([7]).to_numpy()).tolist() == [2]


def test_what_cannot_be_sent_is_told() -> None:
    lock = threading.Lock()
    register_function("half", lambda numbers: (lock, numbers)[1], ["integer"], "integer")
    with pytest.raises(StrettoSparkError, match="`HALF` cannot be sent to Spark's workers: TypeError"):
        with_functions(plan_of(QUERY))
