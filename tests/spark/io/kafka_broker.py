"""A real Kafka broker for tests, from Maven's packages, in a process of its own."""

import socket
import subprocess
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from uuid import uuid4

import pytest

from stretto.spark.setup.java import cache_folder, java_home

RELEASE = "3.9.1"
POM = f"""\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>stretto</groupId><artifactId>broker</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{RELEASE}</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-nop</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
"""
SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@localhost:{controller}
listeners=PLAINTEXT://localhost:{port},CONTROLLER://localhost:{controller}
advertised.listeners=PLAINTEXT://localhost:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={folder}/log
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""
PATIENCE_S = 300
# What Maven's mirrors have of Spark's connector; it runs with later releases of Spark too.
CONNECTOR = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.commons:commons-pool2:2.12.1",
    f"org.apache.kafka:kafka-clients:{RELEASE}",
)


def jars() -> Path:
    """A folder with the broker's packages; got once, by Maven. Skips the test where that is not possible."""
    place = cache_folder() / f"kafka-{RELEASE}"
    if not (place / "done").exists():
        place.mkdir(parents=True, exist_ok=True)
        (place / "pom.xml").write_text(POM)
        maven("-f", place / "pom.xml", "dependency:copy-dependencies", f"-DoutputDirectory={place}")
        (place / "done").touch()
    return place


def connector_jars() -> list[Path]:
    """The files of Spark's connector, got in the same way."""
    place = cache_folder() / "kafka-connector"
    found = []
    for artifact in CONNECTOR:
        _, name, release = artifact.split(":")
        file = place / f"{name}-{release}.jar"
        if not file.exists():
            maven("dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={place}")
        found.append(file)
    return found


def maven(*arguments: str | Path) -> None:
    program = which("mvn")
    if program is None:
        pytest.skip("no Kafka broker: Maven, which gets it, is not installed")
    try:
        done = subprocess.run(
            [program, "-q", "-B", *arguments], capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip("no Kafka broker: Maven did not get it in time")
    if done.returncode:
        pytest.skip(f"no Kafka broker: Maven could not get it: {done.stdout[:200]}")


@contextmanager
def broker(folder: Path) -> Iterator[str]:
    """The address of a broker that lives as long as the context."""
    quick = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")  # it lives for a minute
    java = [java_home() / "bin" / "java", "-Xmx512m", *quick, "-cp", f"{jars()}/*"]
    port, controller = free_port(), free_port()
    settings = folder / "server.properties"
    settings.write_text(SETTINGS.format(port=port, controller=controller, folder=folder))
    cluster = urlsafe_b64encode(uuid4().bytes).decode().rstrip("=")
    subprocess.run(
        [*java, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", settings],
        check=True,
        capture_output=True,
    )
    with (folder / "broker.log").open("w") as log:
        process = subprocess.Popen([*java, "kafka.Kafka", settings], stdout=log, stderr=log)
    try:
        _wait_for(port, process, folder / "broker.log")
        yield f"localhost:{port}"
    finally:
        process.terminate()
        process.wait(60)


def free_port() -> int:
    with socket.create_server(("localhost", 0)) as server:
        return int(server.getsockname()[1])


def _wait_for(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        try:
            with socket.create_connection(("localhost", port), timeout=1):
                return
        except OSError:
            time.sleep(0.2)
    pytest.skip(f"no Kafka broker: it did not start: {log.read_text()[-300:]}")
