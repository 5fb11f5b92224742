"""Reading events: every format, what is inferred, what is set apart, and what is refused."""

import datetime as dt
import gzip
import io
import json
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stretto.data import files
from stretto.data.files import EventFile
from stretto.data.sinks import open_sink
from stretto.errors import EventsError
from stretto.schema import Kind, Special

START = dt.datetime(2024, 1, 1)  # noqa: DTZ001 - times have no zone here
EVENTS = pa.table(
    {
        "ts": pa.array([START + dt.timedelta(seconds=i) for i in range(6)], pa.timestamp("us")),
        "type": ["A", "B", "A", "C", "B", "A"],
        "n": pa.array([1, 2, None, 4, 5, 6], pa.int64()),
        "x": [0.5, 1.0, 2.0, None, 1e300, -0.1],
        "name": ["a", 'quo"te', "new\nline", "tab\tä", None, "back\\slash"],
        "ok": [True, False, None, True, False, True],
        "at": pa.array([START] * 5 + [None], pa.timestamp("us")),
    }
)
KINDS = {"n": "integer", "x": "double", "name": "string", "ok": "boolean", "at": "timestamp"}
ENDINGS = [".parquet", ".csv", ".jsonl", ".arrow"]


def open_events(path, special: Special | None = None, columns=None) -> EventFile:
    """Small integers as times are microseconds here."""
    return files.open_events(path, special or Special(unit="us"), columns)


def write(path: Path, table: pa.Table) -> Path:
    with open_sink(path, table.schema) as sink:
        for batch in table.to_batches():
            sink.write(batch)
    return path


def read(events: EventFile, size: int = 1000) -> pa.Table:
    return pa.Table.from_batches(list(events.batches(size)))


def rows(events: EventFile) -> list[dict]:
    return read(events).to_pylist()


def text(tmp_path: Path, name: str, content: str | bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("ending", ENDINGS)
def test_round_trip(tmp_path: Path, ending: str) -> None:
    events = open_events(write(tmp_path / f"events{ending}", EVENTS))
    assert {name: kind.value for name, kind in events.schema.attributes.items()} == KINDS
    assert events.schema.types == {"A", "B", "C"}
    assert events.rows == 6
    assert events.disorder_us() == 0
    table = read(events)
    assert table.schema.field("type").type == pa.dictionary(pa.int32(), pa.string())
    assert table.schema.field("ts").type == pa.timestamp("us")
    assert table["id"].to_pylist() == list(range(6))
    assert table.drop_columns(["id"]).to_pylist() == EVENTS.to_pylist()


@pytest.mark.parametrize("ending", [*ENDINGS, ".arrows"])
def test_only_the_columns_asked_for(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"events{ending}"
    if ending == ".arrows":
        with pa.ipc.new_stream(path, EVENTS.schema) as stream:
            stream.write_table(EVENTS, max_chunksize=2)
    else:
        write(path, EVENTS)
    events = open_events(path, Special(), ["n", "missing"])
    assert list(rows(events)[0]) == ["ts", "type", "id", "n"]
    assert set(events.schema.attributes) == set(KINDS)
    assert list(rows(events.select(["x"]))[0]) == ["ts", "type", "id", "x"]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("size", [1, 4, 7, 1000])
def test_batches_have_the_size_asked_for(tmp_path: Path, ending: str, size: int) -> None:
    table = pa.concat_tables([EVENTS] * 5)
    events = open_events(write(tmp_path / f"events{ending}", table))
    sizes = [batch.num_rows for batch in events.batches(size)]
    assert sizes == [size] * (30 // size) + ([30 % size] if 30 % size else [])
    assert read(events, size).drop_columns(["id"]).to_pylist() == table.to_pylist()


@pytest.mark.parametrize("ending", ENDINGS)
def test_disorder(tmp_path: Path, ending: str) -> None:
    events = open_events(write(tmp_path / f"events{ending}", EVENTS.take([0, 3, 1, 4, 5, 2])))
    assert events.disorder_us() == 3_000_000


def test_a_folder_in_the_order_of_names(tmp_path: Path) -> None:
    write(tmp_path / "b.parquet", EVENTS.slice(2, 2))
    write(tmp_path / "a.csv", EVENTS.slice(0, 2))
    write(tmp_path / "c.jsonl", EVENTS.slice(4, 2))
    text(tmp_path, "_SUCCESS", "")
    text(tmp_path, ".hidden.csv", "")
    text(tmp_path, "README.md", "no events")
    events = open_events(tmp_path)
    assert read(events)["id"].to_pylist() == list(range(6))
    assert read(events).drop_columns(["id"]).to_pylist() == EVENTS.to_pylist()
    assert events.rows == 6


def test_files_of_a_folder_may_have_other_columns(tmp_path: Path) -> None:
    text(tmp_path, "a.csv", "ts,type,x\n1,A,1\n")
    text(tmp_path, "b.csv", "ts,type,x,y\n2,B,1.5,b\n")
    events = open_events(tmp_path)
    assert events.schema.attributes == {"x": Kind.FLOAT, "y": Kind.STRING}
    assert [(r["x"], r["y"]) for r in rows(events)] == [(1.0, None), (1.5, "b")]


def test_files_of_a_folder_that_contradict_each_other(tmp_path: Path) -> None:
    text(tmp_path, "a.csv", "ts,type,x\n1,A,1\n")
    text(tmp_path, "b.csv", "ts,type,x\n2,B,b\n")
    with pytest.raises(EventsError, match=r"column `x` holds int64 in .*a\.csv, but string in .*b\.csv"):
        open_events(tmp_path).schema  # noqa: B018 - reading it is the test


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = b'{"ts": 5, "type": "A", "x": 1}\n\n{"ts": 3, "type": "B"}'
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(lines)))
    events = open_events("-")
    assert events.disorder_us() == 2
    assert [(r["type"], r["x"]) for r in rows(events)] == [("A", 1), ("B", None)]


@pytest.mark.parametrize("name", ["events.csv.gz", "events.jsonl.gz"])
def test_compressed_text(tmp_path: Path, name: str) -> None:
    plain = write(tmp_path / name.removesuffix(".gz"), EVENTS)
    (tmp_path / name).write_bytes(gzip.compress(plain.read_bytes()))
    assert read(open_events(tmp_path / name)).drop_columns(["id"]).to_pylist() == EVENTS.to_pylist()


# ---- times ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "us"),
    [
        (pa.array([1, -1], pa.int64()), [1, -1]),
        (pa.array([1, 2], pa.uint32()), [1, 2]),
        (pa.array([1, -1], pa.timestamp("s")), [1_000_000, -1_000_000]),
        (pa.array([1, -1], pa.timestamp("ms", "Europe/Paris")), [1_000, -1_000]),
        (pa.array([1_999, -1], pa.timestamp("ns")), [1, -1]),
        (pa.array([1_999, -1], pa.timestamp("ns", "UTC")), [1, -1]),
        (pa.array([1], pa.date32()), [86_400_000_000]),
        (pa.array(["1970-01-01", "1970-01-01T00:00:01.5"]), [0, 1_500_000]),
        (pa.array(["1970-01-01T00:00:00.123456789"]), [123_456]),
        (pa.array(["1970-01-01T01:00:00+01:00", "1970-01-01 00:00:01Z", "1970-01-01"]), [0, 1_000_000, 0]),
        (pa.array(["1970-01-01T00:00:00.123456789Z"]), [123_456]),
        (pa.array(["1970-01-01 00:00:01"]).dictionary_encode(), [1_000_000]),
    ],
    ids=lambda v: str(v.type) if isinstance(v, pa.Array) else "",
)
def test_times_of_any_kind(tmp_path: Path, values: pa.Array, us: list[int]) -> None:
    pq.write_table(pa.table({"ts": values, "type": ["A"] * len(values)}), tmp_path / "e.parquet")
    assert read(open_events(tmp_path / "e.parquet"))["ts"].cast(pa.int64()).to_pylist() == us


def test_types_of_any_kind(tmp_path: Path) -> None:
    for i, types in enumerate([pa.array([1, 2]), pa.array(["1", "2"], pa.large_string())]):
        pq.write_table(pa.table({"ts": [1, 2], "type": types}), tmp_path / f"{i}.parquet")
        assert read(open_events(tmp_path / f"{i}.parquet"))["type"].to_pylist() == ["1", "2"]
    plain = pa.array(["1", "2"]).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string()))
    pq.write_table(pa.table({"ts": [1, 2], "type": plain}), tmp_path / "d.parquet")
    assert read(open_events(tmp_path / "d.parquet"))["type"].to_pylist() == ["1", "2"]


def test_own_names_of_the_special_columns(tmp_path: Path) -> None:
    path = text(tmp_path, "e.csv", "when,what,key,ts\n5,A,70,x\n")
    events = open_events(path, Special("when", "what", "key", "us"))
    (row,) = rows(events)
    assert (row["when"].microsecond, row["what"], row["key"], row["ts"]) == (5, "A", 70, "x")


def test_lists_are_read_and_fields_of_structs(tmp_path: Path) -> None:
    columns = {"ts": [1], "type": ["A"], "tags": [[1, 2]], "p": [{"name": "x"}]}
    pq.write_table(pa.table(columns), tmp_path / "e.parquet")
    events = open_events(tmp_path / "e.parquet")
    assert events.schema.attributes == {"tags": Kind.INTS, "p.name": Kind.STRING}
    assert rows(events)[0]["p"] == {"name": "x"}
    for tags, kind in (([1, 2], Kind.INTS), (["a", None], Kind.STRINGS), ([1, 0.5], Kind.FLOATS)):
        events = open_events(text(tmp_path, "e.jsonl", json.dumps({"ts": 1, "type": "A", "tags": tags})))
        assert events.schema.attributes == {"tags": kind}
        assert rows(events)[0]["tags"] == tags


def test_objects_in_objects_are_fields_of_structs(tmp_path: Path) -> None:
    """What JSON and Parquet say alike is read alike; what is no object where others have one is rejected."""
    values = [
        {"name": "cmd", "args": ["a", None], "at": {"start": "2024-01-01T00:00:00", "n": 1}},
        {"name": None, "args": [], "at": None},
        None,
        {"name": "x", "args": None, "at": {"start": None, "n": 2**40}},
    ]
    lines = [json.dumps({"ts": 1, "type": "A", "p": p, "p.q": 3}) for p in values]
    lines += ['{"ts": 1, "type": "B", "p": 7}', '{"ts": 1, "type": "C", "p": {"at": [2]}}']
    events = open_events(text(tmp_path, "e.jsonl", "\n".join([*lines, *lines[:4] * 8])))
    assert events.schema.attributes == {
        "p.name": Kind.STRING,
        "p.args": Kind.STRINGS,
        "p.at.start": Kind.TIME,
        "p.at.n": Kind.INT,
        "p.q": Kind.INT,
    }
    found = rows(events)
    assert [(row["p.name"], row["p.args"], row["p.at.n"], row["p.q"]) for row in found[:4]] == [
        ("cmd", ["a", None], 1, 3),
        (None, [], None, 3),
        (None, None, None, 3),
        ("x", None, 2**40, 3),
    ]
    assert [row["p.at.start"] for row in found[:4]] == [dt.datetime(2024, 1, 1), None, None, None]  # noqa: DTZ001
    assert events.rejected == 2


def test_fields_of_objects_that_appear_late(tmp_path: Path) -> None:
    early = "\n".join(
        ['{"ts": 1, "type": "A"}'] * 30_000 + ['{"ts": 1, "type": "A", "p": {"at": null}}'] * 30_000
    )
    late = '{"ts": 2, "type": "B", "p": {"at": "2024-01-01", "n": 5, "q": {"s": "x", "l": [1]}}}'
    events = open_events(text(tmp_path, "e.jsonl", f"{early}\n{late}\n"))
    kinds = {"p.at": Kind.TIME, "p.n": Kind.INT, "p.q.s": Kind.STRING, "p.q.l": Kind.INTS}
    assert events.schema.attributes == kinds
    last = rows(events)[-1]
    assert (last["p.at"], last["p.n"], last["p.q.s"], last["p.q.l"]) == (dt.datetime(2024, 1, 1), 5, "x", [1])  # noqa: DTZ001
    assert events.rejected == 0


def test_a_column_that_is_an_object_at_times(tmp_path: Path) -> None:
    """Mostly texts: the objects are rejected. Fields of what is rejected are no columns."""
    lines = ['{"ts": 1, "type": "A", "p": "x"}'] * 30 + ['{"ts": 1, "type": "A", "p": {"q": 1}}']
    events = open_events(text(tmp_path, "e.jsonl", "\n".join(lines)))
    assert events.schema.attributes == {"p": Kind.STRING}
    assert (len(rows(events)), events.rejected) == (30, 1)


def test_other_nested_columns_are_skipped(tmp_path: Path) -> None:
    pq.write_table(pa.table({"ts": [1], "type": ["A"], "tags": [[[1, 2]]], "x": [1]}), tmp_path / "e.parquet")
    line = json.dumps({"ts": 1, "type": "A", "tags": [[1, 2]], "x": 1})
    for path in (tmp_path / "e.parquet", text(tmp_path, "e.jsonl", line)):
        events = open_events(path)
        assert events.schema.skipped == ("tags",)
        assert list(rows(events)[0]) == ["ts", "type", "id", "x"]


# ---- kinds of texts, and rows that do not fit ----------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "-2", " 3"], Kind.INT),
        (["1", "2.5", "1e9", "NaN"], Kind.FLOAT),
        (["true", "False", "TRUE"], Kind.BOOL),
        (["2024-01-01", "2024-01-01T00:00:00Z"], Kind.TIME),
        (["abc", "1"], Kind.STRING),
        (["0x10", "0x11"], Kind.STRING),
        (["9223372036854775808", "1"], Kind.FLOAT),
        (["1"] * 9 + ["abc"], Kind.INT),
        (["1"] * 8 + ["abc"] * 2, Kind.STRING),
        (["", ""], Kind.STRING),
    ],
)
def test_kinds_of_csv_columns(tmp_path: Path, values: list[str], kind: Kind) -> None:
    lines = [f"{i},A,{value}" for i, value in enumerate(values)]
    path = text(tmp_path, "e.csv", "\n".join(["ts,type,v", *lines]))
    assert open_events(path).schema.attributes == {"v": kind}


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ("1 2 3", Kind.INT),
        ("1 2.5", Kind.FLOAT),
        ("true false", Kind.BOOL),
        ('"2024-01-01" "2024-01-02T00:00:00Z"', Kind.TIME),
        ('"a" "1"', Kind.STRING),
        ('"1" "2"', Kind.STRING),
        ("1 true", Kind.STRING),
        ("null null", Kind.STRING),
    ],
)
def test_kinds_of_json_columns(tmp_path: Path, values: str, kind: Kind) -> None:
    lines = [f'{{"ts": {i}, "type": "A", "v": {value}}}' for i, value in enumerate(values.split(" "))]
    assert open_events(text(tmp_path, "e.jsonl", "\n".join(lines))).schema.attributes == {"v": kind}


def test_csv_rows_that_do_not_fit(tmp_path: Path) -> None:
    good = "\n".join(f'{i},A,{i}.5,"two\nlines"' for i in range(20))
    bad = '20,A,abc,z\n\n21,A,1\nnever,A,1,z\n22,A,1,z,too,many\n23,"",,z\n24,A,\xe4,z'
    path = text(tmp_path, "e.csv", f"ts,type,price,note\n{good}\n".encode() + bad.encode("latin-1"))
    events = open_events(path)
    table = read(events)
    assert table.num_rows == 21
    assert table["id"].to_pylist() == [*range(20), 24]
    assert table["type"].to_pylist()[-1] == ""
    rejected = events.take_rejected()
    assert sorted(reason.removeprefix(f"{path}: ") for reason in rejected["reason"].to_pylist()) == [
        "line 42: price: 'abc' is not a number",
        "line 44: 3 values, where the header has 4",
        "line 45: ts: 'never' is not an integer",
        "line 46: 6 values, where the header has 4",
        "line 48: price: not UTF-8 text",
    ]
    by_reason = {row["reason"].rpartition(": ")[2]: row for row in rejected.to_pylist()}
    assert by_reason["'abc' is not a number"]["note"] == "z"
    assert by_reason["3 values, where the header has 4"]["text"] == "21,A,1"
    assert events.rejected == 5
    assert events.take_rejected().num_rows == 0


def test_json_lines_that_do_not_fit(tmp_path: Path) -> None:
    def line(i: int, **more: object) -> str:
        return json.dumps({"ts": i, "type": "A", "price": i + 0.5, "n": i, "ok": True, **more})

    lines = [line(i) for i in range(500)]
    lines[100] = '{"ts": 100, "type": "A"'
    lines[200] = line(200, price="abc")
    lines[201] = ""
    lines[300] = "[1, 2]"
    lines[301] = line(301, n=1.5)
    lines[302] = line(302, n=2.0)
    lines[303] = line(303, ok=1)
    lines[304] = line(304, n=1 << 70)
    lines[305] = line(305, price=[1])
    path = text(tmp_path, "e.jsonl", "\n".join(lines).encode() + b'\n{"ts": 1, "type": "\xff"}\n')
    events = open_events(path)
    table = read(events, 37)
    assert table.num_rows == 500 - 8
    row_of = {row["price"]: row["id"] for row in table.to_pylist()}
    assert row_of[0.5] == 0
    assert row_of[499.5] == 498  # the blank line is no row, the bad ones are
    assert events.survey().types == {"A"}
    reasons = [reason.removeprefix(f"{path}: ") for reason in events.take_rejected()["reason"].to_pylist()]
    assert reasons == [
        "line 101: not JSON: Expecting ',' delimiter at column 24",
        "line 201: price: 'abc' is not a number",
        "line 301: [1, 2] is not an object",
        "line 302: n: 1.5 is not an integer",
        "line 304: ok: 1 is not true or false",
        "line 305: n: 1180591620717411303424 is not an integer",
        "line 306: price: [1] is not a number",
        "line 501: not UTF-8 text",
    ]


@pytest.mark.parametrize(
    "line",
    [
        r'{"ts": 2, "type": "A", "s": "x\uD800y"}',
        r'{"ts": 2, "type": "\udc00", "s": "x"}',
        r'{"ts": 2, "type": "A", "s": "x", "\ud800": 1}',
        r'{"ts": 2, "type": "A", "s": "x", "more": [{"a": "\ude00\ud83d"}]}',
    ],
)
def test_half_of_a_surrogate_pair_is_no_text(tmp_path: Path, line: str) -> None:
    good = r'{"ts": 1, "type": "A", "s": "\ud83d\ude00 \\ud800"}'
    for lines in ([good, line], [line, good]):
        events = open_events(text(tmp_path, "e.jsonl", "\n".join(lines)))
        assert read(events)["s"].to_pylist() == ["\U0001f600 \\ud800"]
        (rejected,) = events.take_rejected().to_pylist()
        assert rejected["reason"].endswith("not Unicode text: half of a surrogate pair")
        assert rejected["text"] == line


def test_bad_times_in_json(tmp_path: Path) -> None:
    lines = [json.dumps({"ts": f"2024-01-01T00:00:{i:02}", "type": "A"}) for i in range(20)]
    lines[7] = '{"ts": "2024-13-01", "type": "A"}'
    lines[8] = '{"ts": 5, "type": "A"}'
    lines[9] = '{"type": "A"}'
    events = open_events(text(tmp_path, "e.jsonl", "\n".join(lines)))
    table = read(events)
    assert table.num_rows == 18
    assert table["ts"].null_count == 1  # a missing time is for the engine to judge
    reasons = [reason.partition(": ")[2] for reason in events.take_rejected()["reason"].to_pylist()]
    assert sorted(reasons) == ["line 8: ts: '2024-13-01' is not a time", "line 9: ts: 5 is not a time"]


def test_bad_times_in_parquet(tmp_path: Path) -> None:
    values = ["2024-01-01"] * 19 + ["soon"]
    pq.write_table(pa.table({"ts": values, "type": ["A"] * 20}), tmp_path / "e.parquet")
    events = open_events(tmp_path / "e.parquet")
    assert read(events).num_rows == 19
    assert events.take_rejected()["reason"].to_pylist() == [
        f"{tmp_path}/e.parquet: row 20: ts: 'soon' is not a time"
    ]


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
@pytest.mark.parametrize(
    ("ts", "shown"),
    [
        (pa.array([1, 2**62, 2], pa.timestamp("ms")), f"{2**62} milliseconds since 1970"),
        (pa.array([1, 2**31 - 1, 2], pa.int32()).view(pa.date32()), f"{2**31 - 1} days since 1970"),
        (pa.array([1, 2**63, 2], pa.uint64()), f"{2**63}"),
    ],
    ids=["ms", "date", "uint64"],
)
def test_times_out_of_range(tmp_path: Path, ending: str, ts: pa.Array, shown: str) -> None:
    path = tmp_path / f"e{ending}"
    with open_sink(path) as sink:
        sink.write(pa.record_batch({"ts": ts, "type": ["A", "B", "C"], "x": [1.0, None, 3.0]}))
    events = open_events(path)
    assert events.schema.types == {"A", "C"}
    assert read(events)["x"].to_pylist() == [1.0, 3.0]
    (rejected,) = events.take_rejected().to_pylist()
    assert rejected["reason"] == f"{path}: row 2: ts: {shown} is out of range"
    assert (rejected["ts"], rejected["type"], rejected["x"]) == (shown, "B", None)


def test_bytes_that_are_no_text_are_left_to_the_engine(tmp_path: Path) -> None:
    types = pa.array([b"A", b"\xff"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"ts": [1, 2], "type": types}), tmp_path / "e.parquet")
    events = open_events(tmp_path / "e.parquet")
    assert events.schema.types == {"A", "\ufffd"}
    assert read(events).num_rows == 2


@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_far_times_as_texts(tmp_path: Path, ending: str) -> None:
    ts = pa.array([-62_135_596_800_000_001, -(1 << 61), 1 << 61, 0], pa.timestamp("us"))
    path = tmp_path / f"e{ending}"
    with open_sink(path) as sink:
        sink.write(pa.record_batch({"ts": ts, "type": ["A", "B", "C", "D"], "t": ts}))
    events = open_events(path)
    assert events.schema.attributes == {"t": Kind.TIME}
    table = read(events)
    assert table["ts"].combine_chunks() == ts
    assert table["t"].combine_chunks() == ts


def test_numbers_where_most_are_texts_become_texts(tmp_path: Path) -> None:
    lines = [json.dumps({"ts": i, "type": "A", "v": v}) for i, v in enumerate(["a", 1, 2.5, True, "b"])]
    table = read(open_events(text(tmp_path, "e.jsonl", "\n".join(lines))))
    assert table["v"].to_pylist() == ["a", "1", "2.5", "true", "b"]


def test_columns_that_appear_late(tmp_path: Path) -> None:
    early = "\n".join(f"{i},A,," for i in range(120_000))
    events = open_events(text(tmp_path, "e.csv", f"ts,type,n,s\n{early}\n999999,B,5,\n"))
    assert events.schema.attributes == {"n": Kind.INT, "s": Kind.STRING}
    assert rows(events.select(["n"]))[-1]["n"] == 5
    early = "\n".join('{"ts": 1, "type": "A"}' for _ in range(60_000))
    late = '{"ts": 2, "type": "B", "n": 5, "at": "2024-01-01", "s": "x", "o": [{"a": 1}], "p": {"a": 1}, "z": null}'
    events = open_events(text(tmp_path, "e.jsonl", f"{early}\n{late}\n"))
    kinds = {"n": Kind.INT, "at": Kind.TIME, "s": Kind.STRING, "p.a": Kind.INT, "z": Kind.STRING}
    assert events.schema.attributes == kinds
    assert events.schema.skipped == ("o",)
    assert rows(events)[-1]["n"] == 5


def test_other_spellings_of_csv(tmp_path: Path) -> None:
    for name, content in {
        "bom.csv": b"\xef\xbb\xbfts,type,x\r\n1,A,2\r\n",
        "semicolon.csv": b"ts;type;x\n1;A;2\n",
        "tab.tsv": b"ts\ttype\tx\n1\tA\t2\n",
        "blank.csv": b"\n\nts,type,x\n1,A,2\n\n",
        "quoted.csv": b'"ts","type","x"\n"1","A","2"\n',
    }.items():
        (row,) = rows(open_events(text(tmp_path, name, content)))
        assert (row["type"], row["x"], row["id"]) == ("A", 2, 0), name


# ---- empty and broken files ----------------------------------------------------------------------------


def test_files_without_events(tmp_path: Path) -> None:
    pq.write_table(EVENTS.slice(0, 0), tmp_path / "e.parquet")
    paths = [
        tmp_path / "e.parquet",
        text(tmp_path, "e.csv", "ts,type,x\n"),
        text(tmp_path, "f.csv", "ts,type,x"),
    ]
    for path in paths:
        events = open_events(path)
        assert events.schema.types is None
        assert list(events.batches()) == []
        assert events.disorder_us() == 0
        assert events.rows == 0


def corrupt(tmp_path: Path) -> Path:
    whole = write(tmp_path / "whole.parquet", EVENTS).read_bytes()
    return text(tmp_path, "cut.parquet", whole[: len(whole) // 2])


def missing_column(tmp_path: Path) -> Path:
    pq.write_table(EVENTS.rename_columns(["Ts", *EVENTS.column_names[1:]]), tmp_path / "e.parquet")
    return tmp_path / "e.parquet"


def double_times(tmp_path: Path) -> Path:
    pq.write_table(pa.table({"ts": [1.5], "type": ["A"]}), tmp_path / "e.parquet")
    return tmp_path / "e.parquet"


def boolean_types(tmp_path: Path) -> Path:
    pq.write_table(pa.table({"ts": [1], "type": [True]}), tmp_path / "e.parquet")
    return tmp_path / "e.parquet"


def double_ids(tmp_path: Path) -> Path:
    return text(tmp_path, "e.csv", "ts,type,id\n1,A,0.5\n")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda d: d / "none.parquet", "none.parquet: no such file or folder"),
        (lambda d: text(d, "e.xlsx", "x"), "unknown ending '.xlsx' (known: .parquet, "),
        (lambda d: text(d, "events", "x"), "the name has no ending (known: .parquet, "),
        (lambda d: text(d, "e.parquet", ""), "the file is empty (0 bytes)"),
        (lambda d: text(d, "e.csv", ""), "the file is empty (0 bytes)"),
        (lambda d: text(d, "e.jsonl", ""), "the file is empty (0 bytes)"),
        (lambda d: text(d, "e.csv", "\n\n"), "the file has no header line"),
        (lambda d: text(d, "e.arrow", "x" * 100), "not a readable Arrow file, or damaged"),
        (corrupt, "cut.parquet: not a readable Parquet file, or damaged"),
        (
            missing_column,
            "no column `ts` for the times of the events, did you mean `Ts`? (columns: Ts, type, n,",
        ),
        (missing_column, "name the right one with --ts"),
        (
            lambda d: text(d, "e.csv", "ts,typ\n1,A\n"),
            "no column `type` for the types of the events, did you mean",
        ),
        (lambda d: text(d, "e.jsonl", '{"a": 1}'), "no column `ts` for the times of the events (columns: a;"),
        (lambda d: text(d, "e.csv", "ts,type,x,x\n1,A,2,3\n"), "column `x` occurs twice"),
        (double_times, "column `ts` holds double, not times"),
        (
            lambda d: text(
                d, "e.jsonl", '{"ts": "2024-01-01", "type": "A"}\n{"ts": "soon", "type": "A"}'
            ),  # the one that is none is named
            "column `ts` holds strings, such as 'soon', not times",
        ),
        (
            lambda d: text(d, "e.csv", "ts,type\nsoon,A\n"),
            "column `ts` holds strings, such as 'soon', not times",
        ),
        (
            lambda d: text(d, "e.jsonl", '{"ts": true, "type": "A"}'),
            "holds booleans, such as 'True', not times",
        ),
        (boolean_types, "column `type` holds bool, not the names of event types"),
        (double_ids, "column `id` holds doubles: ids are integers or strings (name another column with --id"),
        (
            lambda d: text(d, "e.json", '[{"ts": 1, "type": "A"}]'),
            "a JSON array; events are read as JSON lines",
        ),
        (
            lambda d: text(d, "e.jsonl", "hello"),
            "not JSON lines: line 1: not JSON: Expecting value at column 1",
        ),
        (lambda d: text(d, "e.csv", "ts,type\n1,A\n".encode("utf-16")), "UTF-16"),
        (lambda d: d, "the folder holds no event files"),
    ],
)
def test_refused(tmp_path: Path, make, message: str) -> None:
    with pytest.raises(EventsError) as caught:
        open_events(make(tmp_path)).schema  # noqa: B018 - reading it is the test
    assert message in str(caught.value)


def test_damage_in_the_middle_is_found_while_reading(tmp_path: Path) -> None:
    table = pa.table({"ts": range(200_000), "type": ["A"] * 200_000, "x": [i * 0.37 for i in range(200_000)]})
    pq.write_table(table, tmp_path / "e.parquet", compression="zstd", row_group_size=50_000)
    data = bytearray((tmp_path / "e.parquet").read_bytes())
    data[len(data) // 2 : len(data) // 2 + 2000] = b"\0" * 2000
    (tmp_path / "e.parquet").write_bytes(data)
    with pytest.raises(EventsError, match="damaged"):
        read(open_events(tmp_path / "e.parquet"))
