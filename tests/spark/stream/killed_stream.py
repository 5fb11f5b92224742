"""A stream in a process of its own, to be killed. Its folder holds `events/`, `workload.cep` and its table.

Says `started` when the stream runs and `done` when it has processed all files.
"""

import sys
from pathlib import Path

from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType, TimestampType

from stretto.pattern.workload import Workload
from stretto.plan.spread.spreads import ByKey
from stretto.spark import detect, session

COLUMNS = StructType(
    [
        StructField("ts", TimestampType()),
        StructField("type", StringType()),
        StructField("id", LongType()),
        StructField("k", LongType()),
        StructField("x", DoubleType()),
    ]
)
BUCKETS = 3


def main(folder: Path) -> None:
    settings = {"spark.sql.shuffle.partitions": 2, "spark.driver.memory": "1g"}
    spark = session("local[2]", "killed stream", **settings)
    events = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).parquet(str(folder / "events"))
    workload = Workload.read(folder / "workload.cep")
    found = detect(workload, events, optimizer="rumor", spread=ByKey(("k",), BUCKETS), lateness="5 seconds")
    writer = found.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.start(str(folder / "out"))
    print("started", flush=True)
    query.processAllAvailable()
    print("done", flush=True)
    query.stop()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
