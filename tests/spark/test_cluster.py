"""A standalone cluster on this machine: spark-submit, batches by every spread, a stream, and a worker that is lost."""

import shutil
import subprocess
from pathlib import Path
from random import Random
from time import sleep

import pyarrow.parquet as pq
import pytest
from benchmarks.standalone_cluster import HOME, HOST, NoClusterError, StandaloneCluster, standalone
from tests.spark.cluster_job import BATCHES
from tests.spark.stream.stream_cases import END_TYPE, matches_by_query, without_values
from tests.spark.stream.test_killed_stream import SCHEMA, SECOND, episodes, write_files
from tests.support.comparison import assert_same_matches

import stretto
from stretto import oracle
from stretto.oracle.detections import Event
from stretto.pattern.workload import Workload

FILES = 4
WORKLOAD = """
QUERY three PATTERN SEQ(A a, B b, C c) WHERE [k] AND a.x <= b.x WITHIN 12 SECONDS RETURN a.x AS low, c.x AS high;
QUERY alone PATTERN SEQ(A a, NOT(B b)) WHERE [k] WITHIN 15 SECONDS;
"""
"""What every spread accepts, also by key."""


def submitted(cluster: StandaloneCluster, folder: Path) -> subprocess.Popen[str]:
    """The job, by spark-submit; the package travels to the executors as an archive that is unpacked there."""
    package = shutil.make_archive(
        str(folder / "package"), "zip", Path(stretto.__file__).parent.parent, "stretto"
    )
    settings = {
        "spark.executorEnv.PYTHONPATH": "package",
        "spark.driver.host": HOST,
        "spark.driver.bindAddress": HOST,
        "spark.ui.enabled": "false",
        "spark.executor.memory": "600m",
        "spark.sql.shuffle.partitions": "2",
    }
    options = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    call = [str(HOME / "bin" / "spark-submit"), "--master", cluster.url, "--archives", f"{package}#package"]
    program = str(Path(__file__).with_name("cluster_job.py"))
    with (folder / "job.log").open("wb") as log:
        return subprocess.Popen(
            [*call, *options, program, str(folder)],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=cluster.environment,
        )


def test_a_cluster_that_loses_a_worker(tmp_path: Path) -> None:
    rng = Random(15)
    stretches = episodes(rng, 3)
    events = [event for stretch in stretches for event in stretch]
    end = Event(-1, events[-1].ts + 3600 * SECOND, END_TYPE, {})
    write_files(tmp_path / "events", rng, [*events, end], FILES)
    (tmp_path / "workload.cep").write_text(WORKLOAD)
    try:
        with standalone(tmp_path) as cluster:
            job = submitted(cluster, tmp_path)
            assert job.stdout is not None
            with job, job.stdout:
                log = tmp_path / "job.log"
                assert job.stdout.readline().strip() == "stream", log.read_text()[-3000:]
                commits = tmp_path / "checkpoint" / "commits"
                while job.poll() is None and not (commits.is_dir() and any(commits.glob("0"))):
                    sleep(0.05)
                assert job.poll() is None, log.read_text()[-3000:]
                cluster.kill_worker(0)
                assert job.stdout.readline().strip() == "done", log.read_text()[-3000:]
    except NoClusterError as error:
        pytest.skip(f"no cluster can be started here: {error}")

    queries = Workload.parse(WORKLOAD).bind(SCHEMA).detections
    for name in (*(f"batch-{spread}" for spread in BATCHES), "stream"):
        found = matches_by_query(pq.read_table(tmp_path / name).to_pylist())
        for query in queries:
            expected = [match for stretch in stretches for match in oracle.matches(query, stretch)]
            about = f"{query.name}: {name}"
            assert_same_matches(found.get(query.name, []), without_values(expected), about)
