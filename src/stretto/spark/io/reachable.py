"""Is there anything where a stream reads and writes? A wrong address is told before Spark starts, not in a batch."""

import socket
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from stretto.errors import StrettoError, near
from stretto.spark.errors import StrettoSparkError, at_work
from stretto.spark.io.delta_source import delta_columns
from stretto.spark.io.passwords import hiding, redacted
from stretto.spark.io.specs import Spec, kafka_place, socket_place
from stretto.spark.io.upsert import database_of

PATIENCE_S: Final = 5.0
METADATA: Final = (3, 4)
"""Kafka's request for what a topic is, and the first version of it that does not create one."""
MOST_BYTES: Final = 1 << 24


def check_source(spec: Spec, options: Mapping[str, str]) -> None:
    """StrettoSparkError where a source is surely not there."""
    if spec.kind == "files" and "://" not in spec.place and not Path(spec.place).is_dir():
        raise StrettoSparkError(f"--source: {spec.place} is no folder")
    if spec.kind == "delta" and "://" not in spec.place:
        delta_columns(spec.place)
    if spec.kind == "kafka":
        hosts, topic = kafka_place(spec.place, "--source")
        _check_kafka(hosts, topic, "--source", options)
    if spec.kind == "socket":
        _check_socket(*socket_place(spec.place))


def check_sink(spec: Spec, options: Mapping[str, str]) -> None:
    """StrettoSparkError where a sink surely cannot be written to."""
    if spec.kind in ("files", "delta") and Path(spec.place).is_file():
        raise StrettoSparkError(f"--sink: {spec.place} is a file, not a folder")
    if spec.kind == "kafka":
        hosts, _ = kafka_place(spec.place, "--sink")
        _check_kafka(hosts, None, "--sink", options)
    if spec.kind == "postgres":
        _check_database(f"postgres:{spec.place}")


def _check_socket(host: str, port: str) -> None:
    """The host has an address and, if that is of this machine, somebody listens there.

    It is not connected to: `nc -l` answers one connection and ends. A port that can be bound is nobody's.
    """
    try:
        found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
    except OSError as error:
        raise StrettoSparkError(f"--source: socket:{host}:{port}: {error}") from None
    for family, kind, protocol, _, address in found:
        with socket.socket(family, kind, protocol) as trial:
            try:
                trial.bind(address)
            except OSError:  # it is taken, or not of this machine
                return
    raise StrettoSparkError(
        f"--source: nobody listens at socket:{host}:{port}; start what sends the events first"
    )


def _check_database(to: str) -> None:
    opened, place = database_of(to)
    try:
        with at_work("opening it", ()), hiding(place), opened(place):
            pass
    except StrettoError as error:
        said = " ".join(str(getattr(error, "message", error)).split())
        raise StrettoSparkError(f"--sink: {redacted(to)} does not answer: {said}") from None


def _check_kafka(hosts: str, topic: str | None, option: str, options: Mapping[str, str]) -> None:
    """At least one broker answers, and has the topic. Brokers that want a password or a certificate are not asked."""
    if options.get("kafka.security.protocol", "PLAINTEXT") != "PLAINTEXT":
        return
    failures = []
    for host in hosts.split(","):
        try:
            with _connected(host) as broker:
                topics = None if topic is None else _topics(broker)
        except OSError as error:
            failures.append(f"{host}: {error.strerror or error}")
            continue
        if topics is not None and topic is not None and topic not in topics:
            hint = near(topic, topics)
            there = ", ".join(sorted(topics)[:20]) or "none"
            raise StrettoSparkError(
                f"{option}: {host} has no topic `{topic}`" + (f", {hint}" if hint else f" (topics: {there})")
            )
        return
    raise StrettoSparkError(f"{option}: no Kafka broker answers ({'; '.join(failures)})")


@contextmanager
def _connected(host: str) -> Iterator[socket.socket]:
    name, _, port = host.rpartition(":")
    try:
        address = (name.strip("[]"), int(port))
    except ValueError:
        raise OSError(0, "the port is no number") from None
    with socket.create_connection(address, PATIENCE_S) as connection:
        connection.settimeout(PATIENCE_S)
        yield connection


def _topics(broker: socket.socket) -> set[str] | None:
    """The topics of a broker; None where its answer cannot be read."""
    body = struct.pack(">hhih", *METADATA, 1, 7) + b"stretto" + struct.pack(">ib", -1, 0)
    broker.sendall(struct.pack(">i", len(body)) + body)
    try:
        (size,) = struct.unpack(">i", _exactly(broker, 4))
        return _read_topics(_exactly(broker, size)) if 0 < size <= MOST_BYTES else None
    except (struct.error, UnicodeDecodeError, EOFError, TimeoutError):
        return None


def _exactly(broker: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        part = broker.recv(min(size - len(found), 1 << 16))
        if not part:
            raise EOFError
        found += part
    return found


def _read_topics(answer: bytes) -> set[str]:
    """The names in an answer to the request for metadata, version 4."""
    reader = _Reader(answer, 8)  # its own number, and how long the broker held back
    for _ in range(reader.number("i")):  # brokers: id, host, port, rack
        reader.number("i")
        reader.text()
        reader.number("i")
        reader.text()
    reader.text()  # the cluster
    reader.number("i")  # its controller
    names = set()
    for _ in range(reader.number("i")):
        reader.number("h")
        names.add(reader.text())
        reader.number("b")
        for _ in range(reader.number("i")):  # partitions: error, number, leader, replicas, those in sync
            reader.number("h")
            reader.number("i")
            reader.number("i")
            for _ in range(2):
                reader.skip(4 * reader.number("i"))
    return names


class _Reader:
    def __init__(self, data: bytes, at: int) -> None:
        self.data, self.at = data, at

    def number(self, form: str) -> int:
        (found,) = struct.unpack_from(f">{form}", self.data, self.at)
        self.at += struct.calcsize(f">{form}")
        return int(found)

    def text(self) -> str:
        size = max(self.number("h"), 0)
        self.skip(size)
        return self.data[self.at - size : self.at].decode()

    def skip(self, size: int) -> None:
        self.at += size
