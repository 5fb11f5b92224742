"""Hostile files: each is made from a seed, written, and read as its kind is read; only clear errors may come out."""

import base64
import io
import json
import re
import tempfile
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from pyspark.sql import types as T  # noqa: N812
from tests.fuzz.hostile_bytes import damaged, damaged_json, events, strange, wrong_texts
from tests.text.test_mutated import SCHEMA, check_text

import stretto
from stretto.data.files import open_events
from stretto.engine.results.thinning import Thinners
from stretto.engine.run import Engine
from stretto.engine.snapshot import Snapshot
from stretto.engine.units.unit_state import UnitState
from stretto.errors import StrettoError
from stretto.memo import prices
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.optimize import optimize
from stretto.schema import Schema
from stretto.spark.checkpoint_notes import read_note
from stretto.spark.io.columns import parse_schema
from stretto.spark.io.ddl import columns_of_ddl
from stretto.spark.stream.state import Head
from stretto.spark.stream.versions import Version
from stretto.stats.profile import Stats

Files = dict[str, bytes]
QUERIES = """
QUERY q PATTERN SEQ(A a, B b) WHERE a.x <= b.x AND a.n = b.n WITHIN 20 SECONDS RETURN a.s AS s, b.at AS at;
QUERY k PATTERN SEQ(A a, B+ b, NOT(C c)) WHERE a.n = 1 WITHIN 10 SECONDS KEEP FIRST PER a.n FOR 1 HOUR;
QUERY l PATTERN SEQ(A a, C c) WHERE a.tags CONTAINS 'p' WITHIN 5 SECONDS LIMIT 3 PER 1 MINUTE;
"""
TABLE = """CREATE TABLE t FROM '{}';
QUERY q FOR EACH t r KEY r.id PATTERN SEQ(A a, B b) WHERE a.x > r.x AND b.s = r.s WITHIN 10 SECONDS;"""
UNCLEAR = re.compile(
    r"Traceback|internal error|recursion|object has no attribute|not subscriptable|NoneType|unexpected keyword"
    r"|positional argument|\b[A-Z]\w*(?:Error|Exception)\b\(|to unpack|unhashable|not iterable|list index|assert",
)


class Unclear(AssertionError):  # noqa: N818 - what is looked for
    """An error that is none of ours, or whose text is no clear sentence; `text`: the workload that it is about."""

    text: str | None = None


@dataclass(frozen=True, slots=True)
class HostileKind:
    """`make` makes the files of a seed, by name; `read` reads them from a folder."""

    make: Callable[[Random], Files]
    read: Callable[[Path], object]


def read_outcome(kind: str, files: Mapping[str, bytes]) -> str:
    """How reading went: `read`, or `refused`; raises Unclear."""
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(name)
        for file, data in files.items():
            (folder / file).write_bytes(data)
        try:
            HOSTILE[kind].read(folder)
        except StrettoError as error:
            told = str(error)
            if not told.strip() or UNCLEAR.search(told):
                raise Unclear(f"unclear: {type(error).__name__}: {told[:600]!r}") from error
            return "refused"
        except Exception as error:
            raise Unclear(f"raw: {type(error).__name__}: {str(error)[:600]!r}") from error
    return "read"


# ---- events ----------------------------------------------------------------------------------------------------


def _written(table: pa.Table, form: str, rng: Random) -> bytes:
    sink = io.BytesIO()
    match form:
        case "parquet":
            options = {
                "compression": rng.choice(("none", "snappy", "zstd")),
                "use_dictionary": rng.random() < 0.6,
            }
            options |= {"row_group_size": rng.choice((30, 1000)), "version": rng.choice(("1.0", "2.6"))}
            options |= {"data_page_version": rng.choice(("1.0", "2.0"))}
            pq.write_table(table, sink, **options)
        case "arrow":
            options = pa.ipc.IpcWriteOptions(compression=rng.choice((None, None, "lz4", "zstd")))
            start = pa.ipc.new_file if rng.random() < 0.6 else pa.ipc.new_stream
            with start(sink, table.schema, options=options) as writer:
                writer.write_table(table, rng.choice((40, 1000)))
        case "csv":
            pa_csv.write_csv(table, sink)
        case _:
            sink.writelines(json.dumps(row, default=str).encode() + b"\n" for row in table.to_pylist())
    return sink.getvalue()


def _file(form: str) -> Callable[[Random], Files]:
    def make(rng: Random) -> Files:
        table = events(rng)
        how = rng.random()
        if how < 0.35 and form in ("parquet", "arrow"):
            table = strange(table, rng)
            if how < 0.05:
                table = table.slice(0, 3)
                table = table.append_column("wrong", wrong_texts(rng).slice(0, table.num_rows))
            try:
                data = _written(table, form, rng)
            except (pa.ArrowException, ValueError, OverflowError):  # no such file can be written
                data = b""
            return {f"e.{form}": data if how < 0.3 else damaged(data, rng, text=False)}
        table = table.drop_columns("tags") if form == "csv" else table
        data = _written(table, form, rng)
        if form == "jsonl" and how < 0.35:
            lines = data.decode().splitlines()
            for _ in range(rng.choice((1, 3, 30))):
                line = rng.randrange(len(lines))
                lines[line] = damaged_json(lines[line], rng).replace("\n", " ")
            return {"e.jsonl": "\n".join(lines).encode(errors="surrogateescape")}
        return {f"e.{form}": damaged(data, rng, text=form in ("csv", "jsonl"))}

    return make


def _read_events(folder: Path) -> object:
    (path,) = folder.iterdir()
    opened = open_events(path)
    schema = opened.schema
    rows = sum(batch.num_rows for batch in opened.batches())
    assert opened.take_rejected().num_rows == opened.rejected
    try:
        workload = Workload.parse(QUERIES)
        plan = optimize(workload, schema, "none")
    except StrettoError:  # it has other columns
        plan = optimize(Workload.parse("QUERY q PATTERN SEQ(A a, B b) WITHIN 5 SECONDS;"), schema, "none")
    matches = stretto.run(plan, path)
    list(matches)
    return rows


# ---- tables and statistics ---------------------------------------------------------------------------------------


def _table(rng: Random) -> Files:
    form = rng.choice(("csv", "tsv", "jsonl", "json", "parquet", "arrow"))
    kind = {"tsv": "csv", "json": "jsonl"}.get(form, form)
    (data,) = _file(kind)(rng).values()
    return {f"t.{form}": data}


def _read_table(folder: Path) -> object:
    (path,) = folder.iterdir()
    file = folder / "w.cep"
    file.write_text(TABLE.format(path.name), "utf-8")
    schema = Schema.of(events(Random(1)), "ABC")
    return optimize(Workload.read(file), schema, "none")


@cache
def _stats() -> str:
    table = events(Random(1), 2_000)
    return Stats.of(table, workload=Workload.parse(QUERIES)).to_json()


def _read_stats(folder: Path) -> object:
    stats = Stats.from_json((folder / "stats.json").read_text("utf-8", "surrogateescape"))
    repr(stats)
    stats._repr_html_()
    stats.to_json()
    return optimize(Workload.parse(QUERIES), stats, "auto", 0.01)


def _json_file(name: str, text: Callable[[], str]) -> Callable[[Random], Files]:
    return lambda rng: {name: damaged_json(text(), rng).encode(errors="surrogateescape")}


# ---- what engines and streams keep -------------------------------------------------------------------------------


@cache
def plan() -> Plan:
    return optimize(Workload.parse(QUERIES), Schema.of(events(Random(1)), "ABC"), "none")


@cache
def _snapshot() -> Files:
    engine = Engine(plan(), lateness_us=3_000_000, step=10)
    for batch in events(Random(3)).to_batches(max_chunksize=10):
        engine.push(batch)
    return engine.snapshot().to_bytes()


def _damaged_snapshot(rng: Random) -> Files:
    files = dict(_snapshot())
    for _ in range(rng.choice((1, 1, 2))):
        name = rng.choice([*files, "header", "header"])
        match rng.choice(("bytes", "bytes", "bytes", "swap", "gone", "table")):
            case "bytes" if name == "header":
                files[name] = damaged_json(files[name].decode(errors="surrogateescape"), rng).encode(
                    errors="surrogateescape"
                )
            case "bytes":
                files[name] = damaged(files[name], rng, text=False)
            case "swap":
                files[name] = files[rng.choice([*files])]
            case "gone":
                del files[name]
                files.setdefault("header", b"{}")
            case _ if name != "header":
                files[name] = _written(
                    strange(events(rng, rng.choice((10, 30))), rng).combine_chunks(), "arrow", rng
                )
            case _:
                header = json.loads(_snapshot()["header"])
                header["kept"] = damaged_json(header["kept"], rng) if header.get("kept") else "{}"
                files[name] = json.dumps(header).encode()
    return files


def _read_snapshot(folder: Path) -> object:
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    engine = Engine.restore(plan(), Snapshot.from_bytes(files))
    engine.push(events(Random(5)))
    engine.snapshot().to_bytes()
    return list(engine.flush())


def _unit() -> bytes:
    from stretto.engine.snapshot import from_ipc
    from stretto.engine.units.parcels import Parcel
    from stretto.engine.units.unit_state import UnitStep

    chunk = from_ipc(next(data for name, data in _snapshot().items() if name.startswith("events-")))
    count = chunk.num_rows
    numbers = pa.array(range(count), pa.int64())
    rows = pa.record_batch([numbers, numbers, numbers, numbers], names=["at", "first", "last", "c0"])
    parcel = Parcel(0, 0, 0, chunk, rows)
    return UnitState(20, (UnitStep(0, 10, (parcel, parcel)),), (parcel,)).to_bytes()


def _read_unit(folder: Path) -> object:
    state = UnitState.from_bytes((folder / "state").read_bytes())
    return [parcel.columns(numbers_of(parcel)) for step in state.steps for parcel in step.parcels]


def numbers_of(parcel: Any) -> Any:
    """Positions of the events of a parcel."""
    return pa.array(range(parcel.events.num_rows), pa.int64()).to_numpy()


@cache
def _version() -> bytes:
    return Version(1, QUERIES, plan()).to_bytes()


def _read_version(folder: Path) -> object:
    return Version.from_bytes((folder / "v").read_bytes())


def _damaged_version(rng: Random) -> Files:
    if rng.random() < 0.5:
        return {"v": damaged(_version(), rng, text=False)}
    return {"v": damaged_json(_version().decode(), rng).encode(errors="surrogateescape")}


@cache
def _columns() -> str:
    return columns_of_ddl("ts TIMESTAMP, type STRING, x DOUBLE, o STRUCT<a: ARRAY<STRING>>").json()


DDL = "ts TIMESTAMP, type STRING, x DECIMAL(10,2), o STRUCT<a: ARRAY<STRING>, m: MAP<STRING, INT>>"


def _schema_text(rng: Random) -> Files:
    if rng.random() < 0.5:
        return {"schema": damaged_json(_columns(), rng).encode(errors="surrogateescape")}
    return {"schema": damaged(DDL.encode(), rng, text=True)}


def _read_note(folder: Path) -> object:
    return read_note(folder / "note", T.StructType.fromJson)


def _thinned() -> str:
    return str(json.loads(_snapshot()["header"])["kept"])


def _read_thinned(folder: Path) -> object:
    thinners = Thinners()
    thinners.switch(plan())
    thinners.from_text((folder / "kept").read_text("utf-8", "surrogateescape"))
    return thinners.to_text()


def _read_prices(folder: Path) -> object:
    path = folder / "prices.json"
    return prices._parsed(path.read_text("utf-8", "surrogateescape"), path)


HOSTILE: dict[str, HostileKind] = {
    "json": HostileKind(_file("jsonl"), _read_events),
    "csv": HostileKind(_file("csv"), _read_events),
    "parquet": HostileKind(_file("parquet"), _read_events),
    "arrow": HostileKind(_file("arrow"), _read_events),
    "table": HostileKind(_table, _read_table),
    "statistics": HostileKind(_json_file("stats.json", _stats), _read_stats),
    "snapshot": HostileKind(_damaged_snapshot, _read_snapshot),
    "unit state": HostileKind(lambda rng: {"state": damaged(_unit(), rng, text=False)}, _read_unit),
    "head of a target": HostileKind(
        _json_file("head", lambda: Head(version=1, kept="{}").to_text()),
        lambda folder: Head.from_text((folder / "head").read_text("utf-8", "surrogateescape")),
    ),
    "version of a workload": HostileKind(_damaged_version, _read_version),
    "note of a checkpoint": HostileKind(_json_file("note", _columns), _read_note),
    "schema": HostileKind(_schema_text, lambda folder: parse_schema(str(folder / "schema"))),
    "prices": HostileKind(
        _json_file("prices.json", lambda: json.dumps({"unit": "ns", "prices": {"scan": 1.5, "row": 2}})),
        _read_prices,
    ),
}
OFTEN = ("json", "csv", "parquet", "arrow", "table", "snapshot", "snapshot")


def hostile(seed: int) -> dict[str, Any]:
    """The hostile files of a seed, as JSON can hold them."""
    rng = Random(f"hostile/{seed}")
    kind = rng.choice((*HOSTILE, *OFTEN))
    files = HOSTILE[kind].make(rng)
    return {"kind": kind, "files": {name: base64.b64encode(data).decode() for name, data in files.items()}}


def check_hostile(case: Mapping[str, Any]) -> str:
    """How reading the files of a case went; raises Unclear, for its damaged texts too."""
    for number, text in enumerate(case["texts"]):
        try:
            check_text(text, SCHEMA if number % 2 else None)
        except Exception as error:
            wrong = Unclear(f"text: {type(error).__name__}: {str(error)[:600]!r}")
            wrong.text = text
            raise wrong from error
    if not case["files"]:
        return "read"
    return read_outcome(case["kind"], {name: base64.b64decode(data) for name, data in case["files"].items()})
