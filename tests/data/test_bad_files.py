"""Files of events with rows, times or columns that do not fit: what is refused, and what is said of it."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.data.event_files import EVENTS, open_events, read, text, write

from stretto.data.sinks import open_sink
from stretto.errors import EventsError
from stretto.schema import Kind


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


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("b.csv", "ts,type,x\nsoon,A,1\nlater,B,2\n"),
        (
            "b.jsonl",
            '{"ts": "soon", "type": "A", "x": 1}\n{"ts": null, "type": "B"}\n{"ts": true, "type": "B"}\n',
        ),
    ],
)
def test_a_file_of_bad_times_beside_others_is_rejected_row_by_row(
    tmp_path: Path, name: str, content: str
) -> None:
    text(tmp_path, name, content)
    with pytest.raises(EventsError, match="'soon', not times"):
        open_events(tmp_path)
    text(tmp_path, "a.csv", "ts,type,x\n2024-01-01,A,1\n")
    text(tmp_path, "c.csv", "ts,type,x\n2024-01-02,C,3\n")
    events = open_events(tmp_path)
    assert [row["x"] for row in read(events).to_pylist() if row["ts"] is not None] == [1, 3]
    assert "ts: 'soon' is not a time" in str(events.take_rejected()["reason"].to_pylist())
    assert events.schema.types == {"A", "C"} | ({"B"} if "jsonl" in name else set())


def test_damage_in_the_middle_is_found_while_reading(tmp_path: Path) -> None:
    table = pa.table({"ts": range(200_000), "type": ["A"] * 200_000, "x": [i * 0.37 for i in range(200_000)]})
    pq.write_table(table, tmp_path / "e.parquet", compression="zstd", row_group_size=50_000)
    data = bytearray((tmp_path / "e.parquet").read_bytes())
    data[len(data) // 2 : len(data) // 2 + 2000] = b"\0" * 2000
    (tmp_path / "e.parquet").write_bytes(data)
    with pytest.raises(EventsError, match="damaged"):
        read(open_events(tmp_path / "e.parquet"))


DEEP = {
    "lists": "[" * 20_000 + "]" * 20_000,
    "objects": '{"a":' * 500 + "1" + "}" * 500,
    "open": "[" * 20_000,
}


@pytest.mark.parametrize("deep", DEEP.values(), ids=DEEP)
@pytest.mark.parametrize("place", [0, 700, 2_500])
def test_deeply_nested_lines_are_rejected(tmp_path: Path, deep: str, place: int) -> None:
    """Also in an attribute that nobody reads, and in the first lines, which tell the columns."""
    lines = [f'{{"ts": {i}, "type": "A", "x": {i}}}' for i in range(3_000)]
    lines[place : place + 2] = [f'{{"ts": 0, "type": "A", "x": 0, "more": {deep}}}'] * 2
    path = text(tmp_path, "e.jsonl", "\n".join(lines))
    for columns in (None, ["x"]):
        events = open_events(path, columns=columns)
        assert read(events)["x"].to_pylist() == [x for x in range(3_000) if x not in (place, place + 1)]
        reasons = events.take_rejected()["reason"].to_pylist()
        assert reasons == [
            f"{path}: line {line}: not JSON that can be read: nested more than 100 levels deep"
            for line in (place + 1, place + 2)
        ]


def test_lines_that_leave_lists_open_do_not_add_up(tmp_path: Path) -> None:
    """A parser of many lines would go on in the next one: 90 lists more by every line."""
    good = '{"ts": 1, "type": "A", "x": 1}'
    for bad in ('{"ts": 1, "type": "A", "more": ' + "[" * 90, '{"a":' + "[" * 90 + '"' + "]" * 90 + '}"'):
        events = open_events(text(tmp_path, "e.jsonl", "\n".join([good, *[bad] * 3_000, good])))
        assert read(events).num_rows == 2
        assert events.rejected == 3_000


def test_a_value_of_a_hundred_levels_is_read(tmp_path: Path) -> None:
    nested = '{"a":' * 98 + '{"b": 7}' + "}" * 98
    events = open_events(text(tmp_path, "e.jsonl", f'{{"ts": 1, "type": "A", "x": {nested}}}\n'))
    assert read(events).num_rows == 1
    assert not events.rejected


@pytest.mark.parametrize(
    "line", ["null", "  null", 'null {"ts": 1, "type": "A"}', '{"ts": 1, "type": "A"} null', "3"]
)
@pytest.mark.parametrize("place", [0, 30, 59])
def test_lines_that_are_no_object_are_rejected(tmp_path: Path, line: str, place: int) -> None:
    """A null that comes first ends Arrow's process, and one that comes later would be an event of nulls."""
    lines = ['{"ts": 1, "type": "A", "x": 1}'] * 60
    lines[place] = line
    events = open_events(text(tmp_path, "e.jsonl", "\n".join(lines)))
    assert read(events).num_rows == 59
    assert events.take_rejected()["text"].to_pylist() == [line]


def test_surrogates_as_bytes_are_no_text(tmp_path: Path) -> None:
    lines = b'{"ts": 1, "type": "A", "s": "x"}\n{"ts": 1, "type": "A", "s": "\xed\xa0\x80"}\n'
    events = open_events(text(tmp_path, "e.jsonl", lines))
    assert read(events).num_rows == 1
    assert events.take_rejected()["reason"].to_pylist()[0].endswith("line 2: not UTF-8 text")


@pytest.mark.parametrize("form", [".arrow", ".parquet"])
def test_a_column_whose_name_is_no_text_is_told(tmp_path: Path, form: str) -> None:
    path = write(tmp_path / f"e{form}", EVENTS.rename_columns([*EVENTS.column_names[:-1], "some_name"]))
    path.write_bytes(path.read_bytes().replace(b"some_name", b"some\x80name"))
    with pytest.raises(EventsError, match=r"not a readable .* file, or damaged"):
        open_events(path)
