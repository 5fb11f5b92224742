"""One Spark session for all tests, on two cores; streams that need none."""

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession
from tests.spark.ended_java import forget_java_that_ended
from tests.spark.io.postgres_server import new_database, server
from tests.spark.stream.operator_cases import plan_of, settings_of
from tests.spark.stream.stream_state import Stream, use_folder

from stretto.plan.spread.stream_slices import StreamSpread
from stretto.spark.setup.session import session


@pytest.fixture
def spark() -> SparkSession:
    """The session of all tests of a process: local, with two shuffle partitions."""
    return session(
        "local[2]", "stretto tests", **{"spark.sql.shuffle.partitions": 2, "spark.driver.memory": "2g"}
    )


@pytest.fixture(autouse=True)
def own_settings() -> Iterator[None]:
    """What a stream sets in the session that all tests share does not outlast the test, nor does a Java that ended."""
    yield
    if forget_java_that_ended():
        return
    if (running := SparkSession.getActiveSession()) is not None:
        running.conf.set("spark.sql.shuffle.partitions", "2")


@pytest.fixture(scope="session")
def postgres_place() -> Iterator[Path]:
    """A PostgreSQL server for all tests; skips those that need it where it is not installed."""
    with server() as place:
        yield place


@pytest.fixture
def postgres(postgres_place: Path) -> str:
    """A database of its own."""
    return new_database(postgres_place, f"d{uuid4().hex}")


@pytest.fixture
def stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Stream]:
    """What makes a stream through the stateful operator, with a store of its own in place of Spark."""

    def make(text: str, spread: StreamSpread | None = None, **more) -> Stream:
        settings = settings_of(plan_of(text), spread, **more)
        return use_folder(Stream(settings, tmp_path, Random(1), trouble=0.0), monkeypatch)

    return make
