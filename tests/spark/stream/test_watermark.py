"""Events far ahead of the clock are rejected and counted, and make no others late."""

import json
import os
import time
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from stretto.spark import detect, rejected_of
from stretto.spark.stream.metrics import read_metrics

TEXT = "QUERY pair PATTERN SEQ(A a, B b) WITHIN 1 MINUTE;"
NINE = 1_704_099_600_000_000  # on the first of January 2024
YEAR = 365 * 86_400_000_000
SECOND = 1_000_000
HOUR = 3600 * SECOND
FIRST_FILE_S = 1_750_000_000


def write(folder: Path, number: int, *events: tuple[int, str], ts: pa.DataType) -> None:
    folder.mkdir(exist_ok=True)
    times = pa.array([us for us, _ in events]).view(ts)
    table = pa.table({"ts": times, "type": [kind for _, kind in events], "id": range(len(events))})
    path = folder / f"{number}.parquet"
    pq.write_table(table, path)
    os.utime(
        path, (FIRST_FILE_S + number, FIRST_FILE_S + number)
    )  # Spark takes files in the order of these times


def events_of(spark: SparkSession, folder: Path, ts: str = "timestamp") -> DataFrame:
    reader = spark.readStream.schema(f"ts {ts}, type string, id bigint").option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder))


@pytest.mark.parametrize(("spread", "ahead"), [("whole", "1 day"), ("time", "1 day"), ("whole", None)])
def test_one_event_years_ahead_makes_no_other_late(
    spark: SparkSession, tmp_path: Path, spread: str, ahead: str | None
) -> None:
    folder = tmp_path / "in"
    last = (1 << 63) - 1
    naive = pa.timestamp("us")
    write(folder, 0, (NINE, "A"), (NINE + 900 * YEAR, "B"), (last, "B"), ts=naive)
    write(folder, 1, (NINE + SECOND, "B"), (NINE + 2 * SECOND, "A"), ts=naive)
    events = events_of(spark, folder, "timestamp_ntz")
    stream = detect(TEXT, events, outputs="all", ahead=ahead, spread=spread)
    writer = stream.writeStream.option("checkpointLocation", str(tmp_path / "state"))
    query = writer.trigger(availableNow=True).format("parquet").start(str(tmp_path / "out"))
    query.awaitTermination()
    rows = pq.read_table(tmp_path / "out", columns=["kind", "reason"]).to_pylist()
    found = Counter((row["kind"], row["reason"]) for row in rows)
    outside = {("rejected", "ts is out of range"): 1}
    if ahead is None:
        assert found == {("late", None): 2, **outside}
    else:
        far = {("rejected", "ts is more than 1 day ahead of the clock"): 1}
        assert found == {("matches", None): 1, **far, **outside}
    metrics = [m for one in query.recentProgress if (m := read_metrics(one)) is not None]
    assert sum(m.rejected for m in metrics) == sum(row["kind"] == "rejected" for row in rows)
    assert sum(m.events for m in metrics) == 5


def test_a_batch_that_is_run_again_goes_by_the_clock_in_the_log(spark: SparkSession, tmp_path: Path) -> None:
    soon = time.time_ns() // 1000 + HOUR
    write(tmp_path / "in", 0, (NINE, "A"), (soon, "B"), ts=pa.timestamp("us", "UTC"))
    stream = detect(TEXT, events_of(spark, tmp_path / "in"), outputs="all", ahead="0 seconds")
    counts: list[int] = []

    def fail(batch: DataFrame, number: int) -> None:
        counts.append(rejected_of(batch).count())
        raise RuntimeError("the power went out")

    for later_ms in (0, 2 * HOUR // 1000):
        if later_ms:
            _set_forward(tmp_path / "state" / "offsets" / "0", later_ms)
        writer = stream.writeStream.option("checkpointLocation", str(tmp_path / "state"))
        query = writer.trigger(availableNow=True).foreachBatch(fail).start()
        with pytest.raises(StreamingQueryException, match="the power went out"):
            query.awaitTermination()
    assert counts == [1, 0]


def _set_forward(log: Path, ms: int) -> None:
    """Have Spark's log say that a micro-batch began later than it did."""
    version, batch, *rest = log.read_text().splitlines()
    told = json.loads(batch)
    told["batchTimestampMs"] += ms
    log.with_name(f".{log.name}.crc").unlink()
    log.write_text("\n".join([version, json.dumps(told), *rest]))
