"""A session whose Java has ended, say because the machine had no memory left: told, and made anew by who needs one."""

import warnings

from pyspark import SparkContext
from pyspark.sql import SparkSession


def forget_java_that_ended() -> bool:
    """Whether this process had a session with a Java that is gone; PySpark would go on calling it."""
    gateway = SparkContext._gateway
    if gateway is None or (code := gateway.proc.poll()) is None:
        return False
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None
    warnings.warn(f"the Java of the session ended with {code}; the next test starts another", stacklevel=1)
    return True
