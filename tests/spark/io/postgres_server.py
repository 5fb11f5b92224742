"""A PostgreSQL server of our own, on a socket in a folder."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def server() -> Iterator[Path]:
    """The folder of the socket of a server that lives as long as the context."""
    pytest.importorskip("psycopg", reason="psycopg, the driver for PostgreSQL, is not installed")
    programs = _programs()
    if programs is None:
        pytest.skip("PostgreSQL's initdb and pg_ctl are not installed")
    place = Path("/tmp") / f"stretto-pg-{os.getpid()}"
    place.mkdir(mode=0o777)
    place.chmod(0o777)
    data = place / "data"
    try:
        _as_server(programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust")
        options = f"-k {place} -c listen_addresses='' -c fsync=off"
        _as_server(programs / "pg_ctl", "-D", data, "-l", place / "log", "-o", options, "-w", "start")
        try:
            yield place
        finally:
            _as_server(programs / "pg_ctl", "-D", data, "-m", "immediate", "stop")
    except (KeyError, PermissionError):
        pytest.skip("there is no user `postgres` to run PostgreSQL as")
    finally:
        shutil.rmtree(place, ignore_errors=True)


def new_database(place: Path, name: str, encoding: str = "UTF8") -> str:
    """A fresh database of a server, as a `--sink` names it."""
    import psycopg

    with psycopg.connect(address(_sink(place, "postgres")), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 LOCALE 'C'")
    return _sink(place, name)


def address(sink: str) -> str:
    """The same as the driver takes it."""
    return sink.replace("postgres:", "postgresql:", 1)


def _sink(place: Path, name: str) -> str:
    return f"postgres://postgres@/{name}?host={place}"


def _as_server(*command: str | Path) -> None:
    """Run a program of PostgreSQL's, which does not run as root."""
    user = {"user": "postgres"} if os.geteuid() == 0 else {}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/", **user)


def _programs() -> Path | None:
    places = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"))]
    if found := shutil.which("initdb"):
        places.append(Path(found).resolve().parent)
    return next((place for place in reversed(places) if (place / "pg_ctl").exists()), None)
