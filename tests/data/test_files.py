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
from tests.data.event_files import ENDINGS, EVENTS, KINDS, open_events, read, rows, text, write

from stretto.errors import EventsError
from stretto.schema import Kind, Special


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
