"""Whether Spark's workers on this machine run the Python of this program: another one may lack its packages."""

import shutil
import sys
from contextlib import suppress
from pathlib import Path

from pyspark.sql import SparkSession


def other_python(spark: SparkSession) -> str | None:
    """What to do where a local session's workers run the Python of another environment; None where they do not.

    Of a cluster's workers nothing is known here, nor of those behind Connect.
    """
    if not (spark.conf.get("spark.master", "") or "").startswith("local"):
        return None
    with suppress(Exception):  # a session of Connect has no context
        command = spark.sparkContext.pythonExec
        found = shutil.which(command)
        if found is None or not _is_this_one(found):
            return (
                f"Spark's workers run {found or command}, not the Python of this program, and may lack its packages:"
                f" set PYSPARK_PYTHON={sys.executable} before the session starts"
            )
    return None


def _is_this_one(found: str) -> bool:
    """Whether a Python is of this environment; what is in none has too many names to tell."""
    in_none = sys.prefix == sys.base_prefix
    return in_none or Path(found).absolute().parent == Path(sys.executable).absolute().parent
