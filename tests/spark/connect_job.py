"""A job through Spark Connect, in a process of its own: a session with Connect and one without do not go together.

    python connect_job.py FOLDER

FOLDER holds `events/*.parquet` and `rules.cep`; prints the ids of the matches that a batch and a stream find, as JSON.
"""

import json
import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import stretto.spark
from stretto import register_function
from stretto.spark.io.sinks import committed_files
from stretto.spark.setup.java import java_home
from stretto.spark.setup.session import RUNTIME, _log_settings


def connected() -> SparkSession:
    """A session of a Connect server on this machine, which is started."""
    os.environ["JAVA_HOME"] = str(java_home())
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", "2")
    builder = builder.config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={_log_settings()}")
    for name, value in RUNTIME.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def streamed(spark: SparkSession, folder: Path, rules: str) -> list[str]:
    schema = spark.read.parquet(str(folder / "events")).schema
    events = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "events"))
    found = stretto.spark.detect(
        rules,
        events,
        lateness="0 seconds",
        outputs="all",
        versions=folder / "state" / "stretto" / "workloads",
    )
    query = (
        stretto.spark.matches_of(found)
        .writeStream.format("parquet")
        .option("path", str(folder / "found"))
        .option("checkpointLocation", str(folder / "state"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    error = query.exception()
    if error is not None:
        raise error
    import pyarrow.parquet as pq

    return [
        text.as_py()
        for file in committed_files(folder / "found")
        for text in pq.ParquetFile(file).read(["match_id"]).column("match_id")
    ]


def main() -> None:
    folder = Path(sys.argv[1])
    rules = (folder / "rules.cep").read_text()
    register_function("UNDER", lambda low, high: low < high, ["double", "double"], "boolean")
    spark = connected()
    assert type(spark).__module__ == "pyspark.sql.connect.session"
    events = spark.read.parquet(str(folder / "events"))
    batch = stretto.spark.detect(rules, events).toArrow().column("match_id").to_pylist()
    stream = streamed(spark, folder, rules)
    print(json.dumps({"batch": sorted(batch), "stream": sorted(stream)}))
    spark.stop()


if __name__ == "__main__":
    main()
