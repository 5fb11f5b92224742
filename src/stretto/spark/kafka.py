"""Kafka for Spark: the connector comes from Maven, in the release of Spark's that runs."""

import os
from typing import Final

import pyspark

ARTIFACT: Final = "org.apache.spark:spark-sql-kafka-0-10_2.13"
SETTING: Final = "STRETTO_KAFKA_CONNECTOR"


def connector_settings() -> dict[str, str]:
    """The settings of a session that reads or writes Kafka.

    The environment's STRETTO_KAFKA_CONNECTOR names other Maven coordinates, or jar files, with commas between them.
    """
    given = os.environ.get(SETTING, "")
    if given and all(part.strip().endswith(".jar") for part in given.split(",")):
        return {"spark.jars": given}
    return {"spark.jars.packages": given or f"{ARTIFACT}:{pyspark.__version__}"}
