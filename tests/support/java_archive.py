"""What Java loads for a stream, as an archive of its classes: `python -m tests.support.java_archive FILE`.

The tests start Java dozens of times. With the classes of Spark at hand, and compiled with little effort, a stream that
reads two small files takes a third of the time; an archive that does not fit the Java or the Spark is passed over.
"""

import os
import sys
import tempfile
from pathlib import Path

from pyspark import SparkContext

from stretto.cli.app import app

RULES = "QUERY rise PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 10 SECONDS RETURN b.x - a.x AS gain;\n"
EVENTS = "ts,type,x\n2024-01-01T00:00:00,A,1\n2024-01-01T00:00:01,B,2\n2024-01-01T00:00:09,D,2\n"
CALL = (
    "stream rules.cep --source files:in --sink files:out --checkpoint state --trigger available-now --quiet"
)
LITTLE_EFFORT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def write_archive(file: Path) -> None:
    """Run a small stream, end its Java, and keep what that has loaded."""
    partial = file.with_suffix(".partial")
    os.environ["SPARK_SUBMIT_OPTS"] = f"{LITTLE_EFFORT} -XX:ArchiveClassesAtExit={partial}"
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("rules.cep").write_text(RULES)
        Path("in").mkdir()
        Path("in", "1.csv").write_text(EVENTS)
        app([*CALL.split(), "--master", "local[1]"], standalone_mode=False)
        java = SparkContext._gateway.proc
        SparkContext._active_spark_context.stop()
        java.stdin.close()  # Java ends with it, and writes the archive
        java.wait()
        os.chdir("/")
    partial.replace(file)


if __name__ == "__main__":
    write_archive(Path(sys.argv[1]).absolute())
