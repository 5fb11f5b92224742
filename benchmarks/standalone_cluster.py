"""A Spark cluster on this machine: a standalone master and workers as processes of their own, on 127.0.0.1 alone."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep

import pyspark

from stretto.spark.setup.java import java_home

HOST = "127.0.0.1"
PATIENCE_S = 120.0
HOME = Path(pyspark.__file__).parent
DAEMON = {"SPARK_DAEMON_MEMORY": "256m", "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false"}


class NoClusterError(Exception):
    """The cluster could not be started here."""


@dataclass
class StandaloneCluster:
    """A master and its workers; `folder` takes their logs and all that they write."""

    folder: Path
    port: int = 0
    master: subprocess.Popen[bytes] | None = None
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"spark://{HOST}:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """What drivers are started with, and processes of the cluster but for Python's path."""
        scratch = self.folder / "scratch"
        scratch.mkdir(exist_ok=True)
        own: Mapping[str, str] = {
            "JAVA_HOME": str(java_home()),
            "SPARK_HOME": str(HOME),
            "SPARK_LOCAL_IP": HOST,
            "SPARK_LOCAL_DIRS": str(scratch),
            "TMPDIR": str(scratch),
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
        }
        return os.environ | own

    def start(self, workers: int, cores: int = 1, memory: str = "1g") -> None:
        """Start the master and so many workers, and wait until all have found each other."""
        self.port = free_port()
        place = ["--host", HOST, "--port", str(self.port), "--webui-port", "0"]
        self.master = self._process("master", "org.apache.spark.deploy.master.Master", *place)
        self._wait_for("master", "New state: ALIVE", self.master)
        for number in range(workers):
            options = ["--host", HOST, "--webui-port", "0", "--cores", str(cores), "--memory", memory]
            options += ["--work-dir", str(self.folder / f"work-{number}")]
            worker = self._process(
                f"worker-{number}", "org.apache.spark.deploy.worker.Worker", *options, self.url
            )
            self.workers.append(worker)
        for number, worker in enumerate(self.workers):
            self._wait_for(f"worker-{number}", "Successfully registered with master", worker)

    def kill_worker(self, number: int) -> None:
        """End a worker and its executors at once, as a machine that is gone."""
        _kill(self.workers[number])

    def stop(self) -> None:
        for process in (*self.workers, *([] if self.master is None else [self.master])):
            _kill(process)

    def _process(self, name: str, *call: str) -> subprocess.Popen[bytes]:
        # On another machine nothing would be found by the path of this one.
        own = {key: value for key, value in self.environment.items() if key != "PYTHONPATH"}
        with (self.folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                [str(HOME / "bin" / "spark-class"), *call],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=own | DAEMON,
                start_new_session=True,  # its executors are of its group, and end with it
            )

    def _wait_for(self, name: str, words: str, process: subprocess.Popen[bytes]) -> None:
        until = monotonic() + PATIENCE_S
        log = self.folder / f"{name}.log"
        while words not in log.read_text(errors="replace"):
            if process.poll() is not None or monotonic() > until:
                raise NoClusterError(f"the {name} did not start: {log.read_text(errors='replace')[-1000:]}")
            sleep(0.1)


def _kill(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as one:
        one.bind((HOST, 0))
        port: int = one.getsockname()[1]
        return port


@contextmanager
def standalone(
    folder: Path, workers: int = 2, cores: int = 1, memory: str = "1g"
) -> Iterator[StandaloneCluster]:
    """A cluster for as long as it is needed; NoClusterError where it cannot be started."""
    cluster = StandaloneCluster(folder)
    try:
        cluster.start(workers, cores, memory)
        yield cluster
    except OSError as error:
        raise NoClusterError(str(error)) from error
    finally:
        cluster.stop()
