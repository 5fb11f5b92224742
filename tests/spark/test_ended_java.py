"""Tests that come after a Java that ended have a session all the same."""

import subprocess
import sys

PROGRAM = """
import warnings
from pyspark import SparkContext
from tests.spark.ended_java import forget_java_that_ended
from stretto.spark.setup.session import session

assert not forget_java_that_ended()
session("local[1]").range(3).count()
assert not forget_java_that_ended()
java = SparkContext._gateway.proc
java.kill()
java.wait()
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    assert forget_java_that_ended()
print(told[0].message, session("local[1]").range(5).count())
"""


def test_a_session_follows_one_whose_java_ended() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[0] == (
        "the Java of the session ended with -9; the next test starts another 5"
    )
