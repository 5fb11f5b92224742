"""Writing: the formats of the match file, and that a file is either complete or not there."""

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.full_disk import fill_disk

from stretto.data.json_write import json_lines, json_texts
from stretto.data.sinks import open_sink
from stretto.errors import EventsError

MATCHES = pa.table(
    {
        "query": pa.array(["q1", "q2"]).dictionary_encode(),
        "match_id": ["0" * 32, "f" * 32],
        "start": pa.array([0, 1], pa.timestamp("us")),
        "events": pa.array(
            [[("a", [1]), ("b", [2, 3])], [('odd "name"', []), ("c", [4])]],
            pa.map_(pa.string(), pa.list_(pa.int64())),
        ),
        "returned": [None, '{"symbol": "A\\"B"}'],
    }
)
OBJECTS = [{"a": [1], "b": [2, 3]}, {'odd "name"': [], "c": [4]}]


def write(path: Path, table: pa.Table = MATCHES) -> Path:
    with open_sink(path) as sink:
        for batch in table.to_batches(max_chunksize=1):
            sink.write(batch)
    assert sink.rows == table.num_rows
    return path


def test_parquet_and_arrow(tmp_path: Path) -> None:
    expected = MATCHES.to_pylist()
    assert pq.read_table(write(tmp_path / "m.parquet")).to_pylist() == expected
    with pa.ipc.open_file(write(tmp_path / "m.arrow")) as file:
        assert file.read_all().to_pylist() == expected


def test_json_lines(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in write(tmp_path / "m.jsonl").read_text().splitlines()]
    assert [line["events"] for line in lines] == OBJECTS
    assert lines[1] == {
        "query": "q2",
        "match_id": "f" * 32,
        "start": "1970-01-01T00:00:00.000001",
        "events": OBJECTS[1],
        "returned": '{"symbol": "A\\"B"}',
    }
    assert lines[0]["returned"] is None


def test_csv(tmp_path: Path) -> None:
    with write(tmp_path / "m.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [json.loads(row["events"]) for row in rows] == OBJECTS
    assert rows[1]["start"] == "1970-01-01 00:00:00.000001"
    assert rows[1]["query"] == "q2"
    assert (rows[0]["returned"], rows[1]["returned"]) == ("", '{"symbol": "A\\"B"}')


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl", ".arrow"])
def test_no_rows(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"m{ending}"
    with open_sink(path, MATCHES.schema):
        pass
    assert path.exists()
    if ending == ".parquet":
        assert pq.read_table(path).schema.names == MATCHES.schema.names


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array([1.0, 0.1, None, float("nan"), float("inf"), 1e300]), [1.0, 0.1, None, None, None, 1e300]),
        (pa.array(["a", '"', "\\", "\n\x01", "ä\u2028", None]), ["a", '"', "\\", "\n\x01", "ä\u2028", None]),
        (pa.array(["\x7f\x9b2J", "\ue000", "\x9fü"]), ["\x7f\x9b2J", "\ue000", "\x9fü"]),
        (pa.array([True, None]), [True, None]),
        (pa.array([[1, None], None, []], pa.list_(pa.int64())), [[1, None], None, []]),
        (pa.array([None, None]), [None, None]),
        (pa.array(["x", None]).dictionary_encode(), ["x", None]),
        (pa.array([1 << 62, -5]), [1 << 62, -5]),
    ],
    ids=lambda v: str(getattr(v, "type", "")),
)
def test_json_texts(values: pa.Array, expected: list) -> None:
    texts = json_texts(values).to_pylist()
    assert [json.loads(text) for text in texts] == expected
    assert not any("\x7f" <= character <= "\x9f" for text in texts for character in text)
    if len(values) > 1:
        assert [json.loads(text) for text in json_texts(values.slice(1)).to_pylist()] == expected[1:]


def test_slices_of_maps() -> None:
    batch = MATCHES.combine_chunks().to_batches()[0].slice(1)
    assert [json.loads(line)["events"] for line in json_lines(batch).to_pylist()] == OBJECTS[1:]


def interrupted(path: Path) -> None:
    with open_sink(path) as sink:
        sink.write(MATCHES.to_batches()[0])
        raise KeyboardInterrupt


def test_nothing_is_left_after_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "m.parquet"
    path.write_text("before")
    with pytest.raises(KeyboardInterrupt):
        interrupted(path)
    assert [file.name for file in tmp_path.iterdir()] == ["m.parquet"]
    assert path.read_text() == "before"


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl", ".arrow"])
@pytest.mark.parametrize("room", [0, 50, 1500])
def test_a_full_disk_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, room: int
) -> None:
    path = tmp_path / f"m{ending}"
    path.write_text("before")
    fill_disk(monkeypatch, room)
    with pytest.raises(OSError, match="No space left on device") as caught:
        write(path, pa.concat_tables([MATCHES] * 100))
    assert caught.value.filename == str(path)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert path.read_text() == "before"


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path: Path) -> None:
    assert write(tmp_path / f"{'n' * 249}.jsonl").exists()


def test_the_file_appears_only_when_complete(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    with open_sink(path) as sink:
        sink.write(MATCHES.to_batches()[0])
        assert not path.exists()
    assert [file.name for file in tmp_path.iterdir()] == ["m.jsonl"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real.jsonl")
    write(tmp_path / "link.jsonl")
    assert (tmp_path / "link.jsonl").is_symlink()
    assert (tmp_path / "real.jsonl").read_text().count("\n") == 2


def test_devices_are_written_to_directly() -> None:
    write(Path("/dev/null"))
    assert not Path("/dev/null").is_file()


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("m.xlsx", "unknown ending '.xlsx' (known: .parquet"),
        ("m", "the name has no ending (known: .parquet"),
        ("no/m.csv", "cannot be written: No such file or directory (there is no folder"),
        ("folder.csv", "cannot be written: it is a folder"),
    ],
)
def test_refused(tmp_path: Path, path: str, message: str) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(EventsError) as caught:
        open_sink(tmp_path / path)
    assert message in str(caught.value)
