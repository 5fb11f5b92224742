"""One Spark session for all tests, on two cores."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from stretto.spark.session import session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A local session with two shuffle partitions."""
    started = session(
        "local[2]", "stretto tests", **{"spark.sql.shuffle.partitions": 2, "spark.driver.memory": "2g"}
    )
    yield started
    started.stop()
