"""Executors that are processes of their own, against the oracle: batches and streams by every spread, and what is lost.

A standalone cluster on this machine runs jobs of spark-submit, batches by every spread and streams by units, and loses
a worker and then the driver; `local-cluster` runs the other streams and loses an executor.
"""

import os
import shutil
import signal
import sys
from collections.abc import Iterable, Mapping
from operator import le
from pathlib import Path
from random import Random
from time import sleep

import pyarrow.parquet as pq
import pytest
from benchmarks.standalone_cluster import HOME, HOST, NoClusterError, StandaloneCluster, standalone
from tests.spark.cluster_job import SPREADS
from tests.spark.job_process import JobProcess
from tests.spark.stream.stream_cases import END_TYPE, matches_by_query, without_values
from tests.spark.stream.test_killed_stream import SCHEMA, SECOND, episodes, write_files
from tests.support.comparison import assert_same_matches

import stretto
from stretto import oracle
from stretto.oracle.detections import Event
from stretto.pattern.workload import Workload
from stretto.spark import committed_files

UNITS = ("cells", "staged")
TARGETS = ("whole", "key", "time")
WORKLOAD = """
QUERY three PATTERN SEQ(A a, B b, C c) WHERE [k] AND a.x <= b.x WITHIN 30 SECONDS RETURN a.x AS low, c.x AS high;
QUERY alone PATTERN SEQ(A a, NOT(B b)) WHERE [k] WITHIN 15 SECONDS;
"""
"""What every spread accepts, also by key."""
KEYLESS = """
QUERY calm PATTERN SEQ(A a, B b, NOT(C c)) WHERE a.x <= b.x AND c.k = b.k WITHIN 12 SECONDS RETURN b.x AS x;
"""
"""Two stages for units, and matches that wait for the time to pass."""
PROGRAM = str(Path(__file__).with_name("cluster_job.py"))
SETTINGS = {
    "spark.driver.host": HOST,
    "spark.driver.bindAddress": HOST,
    "spark.ui.enabled": "false",
    "spark.executor.memory": "600m",
    "spark.sql.shuffle.partitions": "2",
}


@pytest.fixture(autouse=True)
def _short_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Java machine of half a minute compiles nothing with all effort; there are ten of them here."""
    quick = os.environ.get(
        "SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    )  # as `./dev test` sets it
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", quick)


class Job(JobProcess):
    """The program of this test, in its folder."""

    def __init__(self, folder: Path, call: Iterable[str], environment: Mapping[str, str]) -> None:
        self.folder = folder
        super().__init__(call, folder / "job.log", environment)

    def batches(self, kind: str, names: Iterable[str]) -> list[int]:
        """How many micro-batches each of these streams has planned (`offsets`) or finished (`commits`)."""
        return [_numbered(self.folder / f"checkpoint-{name}" / kind) for name in names]

    def wait_for_a_batch(self, kind: str, before: Iterable[int], names: Iterable[str]) -> None:
        """Until each of these streams has one more than before."""
        while any(map(le, self.batches(kind, names), before)):
            assert self.process.poll() is None, self.last_words()
            sleep(0.02)

    def executors(self) -> list[int]:
        """The processes of its session that run tasks."""
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            try:
                words = (place / "cmdline").read_bytes().split(b"\0")
                mine = os.getsid(int(place.name)) == self.process.pid
            except (OSError, ValueError):  # gone meanwhile
                continue
            if mine and any(word.endswith(b"CoarseGrainedExecutorBackend") for word in words):
                found.append(int(place.name))
        return found


def _numbered(place: Path) -> int:
    return sum(path.name.isdigit() for path in place.iterdir()) if place.is_dir() else 0


def submitted(cluster: StandaloneCluster, folder: Path, how: Iterable[str], arguments: Iterable[str]) -> Job:
    """The program by spark-submit; `how`: the options by which the package reaches executors."""
    options = [word for name, value in SETTINGS.items() for word in ("--conf", f"{name}={value}")]
    call = [str(HOME / "bin" / "spark-submit"), "--master", cluster.url, *options, *how]
    return Job(folder, [*call, PROGRAM, str(folder), "-", *arguments], cluster.environment)


def prepared(folder: Path, seed: int, files: int, streams: str) -> list[list[Event]]:
    """Events, as files, and queries in a folder; the stretches of events that no match reaches across."""
    rng = Random(seed)
    stretches = episodes(rng, 3)
    events = [event for stretch in stretches for event in stretch]
    end = Event(-1, events[-1].ts + 3600 * SECOND, END_TYPE, {})
    write_files(folder / "events", rng, [*events, end], files)
    (folder / "batch.cep").write_text(WORKLOAD)
    (folder / "stream.cep").write_text(streams)
    (folder / "arrived").mkdir()
    arrive(folder, 1)
    return stretches


def arrive(folder: Path, count: int | None = None) -> None:
    """The first files for streams to see, or all the others."""
    for file in sorted((folder / "events").glob("*.parquet"))[:count]:
        if not (there := folder / "arrived" / file.name).exists():
            os.link(file, there)
    if count is None:
        (folder / "arrived" / "_all").touch()


def written(place: Path) -> list[dict]:
    """The rows of an output; of a stream's those that Spark's log knows, as a kill leaves broken files beside them."""
    files = committed_files(place) if (place / "_spark_metadata").is_dir() else place.glob("*.parquet")
    return [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]


def assert_found(folder: Path, text: str, names: Iterable[str], stretches: list[list[Event]]) -> None:
    """All matches of the queries, each once, in every one of these outputs."""
    queries = Workload.parse(text).bind(SCHEMA).detections
    for name in names:
        rows = written(folder / name)
        found = matches_by_query(rows)
        for query in queries:
            expected = [match for stretch in stretches for match in oracle.matches(query, stretch)]
            assert expected
            assert_same_matches(found.get(query.name, []), without_values(expected), f"{query.name}: {name}")
        assert len({row["match_id"] for row in rows}) == len(rows)


def test_spark_submit_to_a_cluster_that_loses_a_worker_and_a_driver(tmp_path: Path) -> None:
    """Units go on from the state of a worker that is gone, and another driver from that of one that is gone."""
    stretches = prepared(tmp_path, 15, 3, KEYLESS)
    package = shutil.make_archive(
        str(tmp_path / "package"), "zip", Path(stretto.__file__).parents[1], "stretto"
    )
    archive = ["--archives", f"{package}#package", "--conf", "spark.executorEnv.PYTHONPATH=package"]
    batches, streams = [f"batch:{name}" for name in SPREADS], [f"stream:{name}" for name in UNITS]
    try:
        with standalone(tmp_path) as cluster:
            with submitted(cluster, tmp_path, archive, [*batches, *streams]) as job:
                assert is_of_the_job(job.say(), tmp_path, "package"), job.last_words()
                job.must_say("started")
                planned, finished = (job.batches(kind, UNITS) for kind in ("offsets", "commits"))
                arrive(tmp_path)
                job.wait_for_a_batch("offsets", planned, UNITS)
                cluster.kill_worker(0)
                job.wait_for_a_batch("commits", finished, UNITS)
                job.kill()
            with submitted(cluster, tmp_path, ["--py-files", package], streams) as again:
                assert is_of_the_job(again.say(), tmp_path, "package.zip"), again.last_words()
                assert [again.say(), again.say()] == ["started", "done"], again.last_words()
                assert again.end() == 0
    except NoClusterError as error:
        pytest.skip(f"no cluster can be started here: {error}")
    assert_found(tmp_path, WORKLOAD, (f"batch-{name}" for name in SPREADS), stretches)
    assert_found(tmp_path, KEYLESS, (f"stream-{name}" for name in UNITS), stretches)


def is_of_the_job(found: str, folder: Path, name: str) -> bool:
    """Whether executors found the package among the files that came with the job, not in their environment."""
    place = Path(found).parents[1]
    return folder in place.parents and place.name == name


def test_local_cluster_loses_an_executor(tmp_path: Path) -> None:
    """Streams by all spreads but units, at a time, on two executors, of which one is gone in the middle."""
    stretches = prepared(tmp_path, 16, 2, WORKLOAD)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    environment = os.environ | dict.fromkeys(("SPARK_LOCAL_DIRS", "TMPDIR"), str(scratch))
    call = [sys.executable, PROGRAM, str(tmp_path), "local-cluster[2,1,1024]"]
    with Job(tmp_path, [*call, *(f"stream:{name}" for name in TARGETS)], environment) as job:
        assert job.say().endswith("__init__.py"), job.last_words()
        job.must_say("started")
        planned = job.batches("offsets", TARGETS)
        arrive(tmp_path)
        job.wait_for_a_batch("offsets", planned, TARGETS)
        one, other = job.executors()
        os.kill(min(one, other), signal.SIGKILL)
        job.must_say("done")
        assert job.end() == 0
    assert_found(tmp_path, WORKLOAD, (f"stream-{name}" for name in TARGETS), stretches)
