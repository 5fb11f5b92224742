"""Spark's connector for Kafka: where it comes from, and a session that has it.

It is a Maven artifact of its own, which Spark's launcher fetches; not every release of PySpark has one that matches.
"""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pyspark
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from stretto.spark.errors import StrettoSparkError
from stretto.spark.setup.quiet_stderr import HeldLines, without_noise

ARTIFACT: Final = "org.apache.spark:spark-sql-kafka-0-10_2.13"
SETTING: Final = "STRETTO_KAFKA_CONNECTOR"
JAR: Final = "spark-sql-kafka-0-10_*.jar"
TRIED: Final = 4
"""Releases that are looked for: each that is not there costs a start of Java."""
MISSING: Final = re.compile(
    r"unresolved dependency: [^]\n]*?not found|download failed|Server access error", re.IGNORECASE
)


def connector_settings() -> list[dict[str, str]]:
    """The settings of a session that reads or writes Kafka, in the order in which they are tried.

    The environment's STRETTO_KAFKA_CONNECTOR names Maven coordinates or jar files, with commas between them. Without it
    a jar that lies in Spark's own folder serves; else it is that of the installed release, or of one before.
    """
    given = os.environ.get(SETTING, "")
    if given:
        parts = [part.strip() for part in given.split(",")]
        if not all(part.endswith(".jar") for part in parts):
            return [{"spark.jars.packages": given}]
        for jar in parts:
            if "://" not in jar and not Path(jar).is_file():  # Spark would start without it
                raise StrettoSparkError(f"{SETTING} names {jar}, which is no file")
        return [{"spark.jars": given}]
    home = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
    if any((home / "jars").glob(JAR)):
        return [{}]
    return [{"spark.jars.packages": f"{ARTIFACT}:{release}"} for release in releases(pyspark.__version__)]


def releases(installed: str) -> list[str]:
    """Releases of the connector that go with an installed one: its own, those before it, the last of the one before."""
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", installed)
    if found is None:
        return [installed]
    major, minor, patch = map(int, found.groups())

    def older() -> Iterator[str]:
        yield installed
        yield from (f"{major}.{minor}.{one}" for one in range(patch, -1, -1))
        if minor:
            yield from (f"{major}.{minor - 1}.{one}" for one in (1, 0))

    return list(dict.fromkeys(older()))[:TRIED]


def with_connector(start: Callable[[dict[str, str]], SparkSession]) -> SparkSession:
    """A session by `start` with the first connector that is there; one message where none is."""
    tried: list[str] = []
    for conf in connector_settings():
        held = HeldLines()
        try:
            with without_noise(held):
                spark = start(conf)
                held.let_through()
                return spark
        except PySparkException as error:
            said = held.text()
            if not conf or MISSING.search(said) is None:
                raise StrettoSparkError(f"Spark could not be started: {_why(said, error)}") from None
            tried += [coordinates + _for_want_of(said) for coordinates in conf.values()]
    raise StrettoSparkError(
        f"Kafka's connector was not found ({', '.join(tried)}): set {SETTING} to Maven coordinates or to jar files,"
        " with commas between them"
    )


def _for_want_of(said: str) -> str:
    """What the connector needs and the repositories lack, where they have the connector itself."""
    absent = re.search(r"unresolved dependency: ([^]\n]+): not found", said)
    if absent is None or ARTIFACT.rpartition(":")[2] in absent[1]:
        return ""
    return f" for want of {absent[1]}"


def _why(said: str, error: PySparkException) -> str:
    """The last word of Java's own, or else of Python's."""
    raised = re.findall(
        r"^(?:Exception in thread \S+ |Caused by: )?(\S*(?:Exception|Error)\b.*)$", said, re.MULTILINE
    )
    own = str(error).strip().splitlines() or [type(error).__name__]
    return str(raised[-1] if raised else own[0])
