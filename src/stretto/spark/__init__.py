"""Stretto on Spark: a DataFrame of events in, a DataFrame of results out, batch and streaming alike.

    found = stretto.spark.detect(workload, df)
    found = stretto.spark.detect_files(workload, "trades/")
    totals = stretto.spark.aggregate(workload, df)
    stats = stretto.spark.profile(workload, df, sample=0.01)

The only room that imports pyspark. Names are loaded when first used: Python workers of Spark need few of these modules.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if find_spec("pyspark") is None:
    raise ImportError(
        "stretto.spark needs PySpark: pip install 'stretto[spark]', and 'stretto[java]' on machines without Java",
        name="pyspark",
    )

if TYPE_CHECKING:
    from stretto.spark.batch.find_in_files import detect_files
    from stretto.spark.batch.profile import profile
    from stretto.spark.calls import aggregate, detect
    from stretto.spark.errors import StrettoSparkError
    from stretto.spark.io.sinks import committed_files
    from stretto.spark.io.upsert import upsert
    from stretto.spark.outputs import late_of, matches_of, rejected_of, trends_of
    from stretto.spark.setup.session import session
    from stretto.spark.stream.versions import Publisher

_HOMES = {
    "detect_files": "batch.find_in_files",
    "profile": "batch.profile",
    "aggregate": "calls",
    "detect": "calls",
    "StrettoSparkError": "errors",
    "committed_files": "io.sinks",
    "upsert": "io.upsert",
    "late_of": "outputs",
    "matches_of": "outputs",
    "rejected_of": "outputs",
    "trends_of": "outputs",
    "session": "setup.session",
    "Publisher": "stream.versions",
}

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


def __dir__() -> list[str]:
    return list(__all__)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module `stretto.spark` has no attribute `{name}`")
    return getattr(import_module(f"stretto.spark.{_HOMES[name]}"), name)
