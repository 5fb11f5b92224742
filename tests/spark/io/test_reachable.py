"""Wrong addresses are told before Spark starts."""

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from stretto.spark.errors import StrettoSparkError
from stretto.spark.io.reachable import check_sink, check_source
from stretto.spark.io.specs import Spec

BROKER = struct.pack(">i", 1) + struct.pack(">ih1sih", 1, 1, b"h", 9092, -1)
PARTITION = struct.pack(">hiiiiii", 0, 0, 1, 1, 1, 1, 1)


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


@contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """A server on this machine that answers one request."""

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(1 << 16)
            connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        thread.join()


def metadata(*topics: str) -> bytes:
    found = struct.pack(">ii", 1, 0) + BROKER + _text("cluster") + struct.pack(">i", 1)
    found += struct.pack(">i", len(topics))
    for name in topics:
        found += struct.pack(">h", 0) + _text(name) + struct.pack(">bi", 0, 1) + PARTITION
    return struct.pack(">i", len(found)) + found


def test_a_topic_that_is_not_there() -> None:
    with answering(metadata("trades", "other")) as host:
        check_source(Spec("kafka", f"{host}/trades"), {})
    with (
        answering(metadata("trades", "other")) as host,
        pytest.raises(StrettoSparkError, match="has no topic `trade`, did you mean `trades`"),
    ):
        check_source(Spec("kafka", f"{host}/trade"), {})


@pytest.mark.parametrize("answer", [b"", b"\0\0\0\4abcd", b"HTTP/1.1 400 Bad Request", metadata("t")[:30]])
def test_answers_that_cannot_be_read_say_nothing(answer: bytes) -> None:
    with answering(answer) as host:
        check_source(Spec("kafka", f"{host}/trades"), {})


def test_no_broker() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    for check in (check_source, check_sink):
        with pytest.raises(StrettoSparkError, match=r"no Kafka broker answers .*refused"):
            check(Spec("kafka", f"127.0.0.1:{port}/t"), {})
    check_source(Spec("kafka", f"127.0.0.1:{port}/t"), {"kafka.security.protocol": "SSL"})


def test_sockets_are_looked_at_without_a_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        check_source(Spec("socket", f"127.0.0.1:{port}"), {})
        check_source(Spec("socket", f"localhost:{port}"), {})
        server.settimeout(0.2)
        with pytest.raises(TimeoutError):
            server.accept()
    with pytest.raises(StrettoSparkError, match="nobody listens at socket:127"):
        check_source(Spec("socket", f"127.0.0.1:{port}"), {})
    with pytest.raises(StrettoSparkError, match=r"socket:no-such-host.invalid:9: "):
        check_source(Spec("socket", "no-such-host.invalid:9"), {})
    with pytest.raises(StrettoSparkError, match="should be socket:HOST:PORT"):
        check_source(Spec("socket", "127.0.0.1:70000"), {})


def test_folders_and_databases(tmp_path: Path) -> None:
    with pytest.raises(StrettoSparkError, match="is no folder"):
        check_source(Spec("files", str(tmp_path / "none")), {})
    (tmp_path / "file").write_text("")
    with pytest.raises(StrettoSparkError, match="is a file, not a folder"):
        check_sink(Spec("files", str(tmp_path / "file")), {})
    check_sink(Spec("files", str(tmp_path / "new")), {})
    pytest.importorskip("psycopg")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(
        StrettoSparkError, match=r"postgres://me:\*\*\*@127.0.0.1.* does not answer: .*refused"
    ) as found:
        check_sink(Spec("postgres", f"//me:secret@127.0.0.1:{port}/db"), {})
    assert "secret" not in str(found.value)
