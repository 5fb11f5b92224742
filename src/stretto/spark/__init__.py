"""Stretto on Spark: a DataFrame of events in, a DataFrame of results out, batch and streaming alike.

    found = stretto.spark.detect(workload, df)
    found = stretto.spark.detect_files(workload, "trades/")
    totals = stretto.spark.aggregate(workload, df)
    stats = stretto.spark.profile(workload, df, sample=0.01)

The only room that imports pyspark.
"""

from importlib.util import find_spec

if find_spec("pyspark") is None:
    raise ImportError(
        "stretto.spark needs PySpark: pip install 'stretto[spark]', and 'stretto[java]' on machines without Java",
        name="pyspark",
    )

from stretto.spark.batch.find_in_files import detect_files
from stretto.spark.batch.profile import profile
from stretto.spark.calls import aggregate, detect
from stretto.spark.errors import StrettoSparkError
from stretto.spark.io.sinks import committed_files
from stretto.spark.io.upsert import upsert
from stretto.spark.outputs import late_of, matches_of, rejected_of, trends_of
from stretto.spark.setup.session import session
from stretto.spark.stream.versions import Publisher

__all__ = [
    "Publisher",
    "StrettoSparkError",
    "aggregate",
    "committed_files",
    "detect",
    "detect_files",
    "late_of",
    "matches_of",
    "profile",
    "rejected_of",
    "session",
    "trends_of",
    "upsert",
]
