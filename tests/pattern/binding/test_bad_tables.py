"""What is wrong with tables, families and streams is said before any event is read: with the file, and the row."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import stretto
from stretto.errors import QueryError
from stretto.pattern.binding.good_rows import with_good_rows
from stretto.pattern.workload import Workload
from stretto.schema import Kind, Schema

READINGS = Schema({"v": Kind.FLOAT, "host": Kind.STRING, "at": Kind.TIME}, frozenset({"R", "S"}))
TABLE = "CREATE TABLE limits FROM '{}';\n"
QUERY = "QUERY q FOR EACH limits r KEY r.id PATTERN SEQ(R a, S b) WHERE a.v > r.low WITHIN r.horizon;"
GOOD = "id,low,horizon\n1,0.5,10 seconds\n2,1.5,1 minute\n"


def told(folder: Path, text: str) -> str:
    """What is said of a workload file."""
    file = folder / "w.cep"
    file.write_text(text)
    with pytest.raises(QueryError) as refused:
        Workload.read(file, READINGS).bind(READINGS)
    return str(refused.value)


BROKEN = {
    "a key that repeats": ("1,0.5,1 s\n1,0.5,2 s\n", "`limits.csv`, row 2: the key `id` repeats: `1`"),
    "a null key": ("1,0.5,1 s\n,0.5,2 s\n", "`limits.csv`, row 2: the key `id` is null"),
    "a negative window": (
        "1,0.5,1 s\n2,0.5,-2 s\n",
        "`limits.csv`, row 2: the window must be longer than zero",
    ),
    "a window that is none": (
        "1,0.5,1 s\n2,0.5,soon\n",
        "`limits.csv`, row 2: the window `soon` is no duration",
    ),
    "a null window": ("1,0.5,1 s\n2,0.5,\n", "`limits.csv`, row 2: the window is null"),
    "a kind that does not fit": ("1,low,1 s\n2,high,1 s\n", "a.v > r.low"),
    "a row that is too short": ("1,0.5\n", "`limits.csv` cannot be read: "),
}


@pytest.mark.parametrize("case", BROKEN)
def test_rows_that_cannot_be(tmp_path: Path, case: str) -> None:
    rows, expected = BROKEN[case]
    (tmp_path / "limits.csv").write_text("id,low,horizon\n" + rows)
    said = told(tmp_path, TABLE.format("limits.csv") + QUERY)
    assert expected in said
    assert "w.cep:" in said


@pytest.mark.parametrize("case", [case for case in BROKEN if "key" in case or "window" in case])
def test_while_a_stream_runs_the_other_rows_are_kept(tmp_path: Path, case: str) -> None:
    rows, expected = BROKEN[case]
    (tmp_path / "limits.csv").write_text("id,low,horizon\n" + rows)
    (tmp_path / "w.cep").write_text(TABLE.format("limits.csv") + QUERY)
    text = (tmp_path / "w.cep").read_text()
    kept, wrong = with_good_rows(Workload.parse(text, str(tmp_path / "w.cep")))
    assert len(wrong) == 1
    assert expected in wrong[0]
    (family,) = kept.bind(READINGS).families
    assert family.members == ("1",)


FILES = {
    "missing.csv": "`missing.csv` is not there",
    "limits.txt": "a table is a folder, or a file that ends in .csv",
    "broken.parquet": "`broken.parquet` cannot be read: ",
    "broken.jsonl": "`broken.jsonl` cannot be read: ",
    "broken.arrow": "`broken.arrow` cannot be read: ",
    "nowhere/": "`nowhere/` is not there",
    "broken.jsonl/": "`broken.jsonl/` is no folder",
    "empty/": "`empty/`: the folder has no file that ends in .csv",
}


@pytest.mark.parametrize("path", FILES)
def test_files_that_are_none(tmp_path: Path, path: str) -> None:
    for name in ("broken.parquet", "broken.jsonl", "broken.arrow", "limits.txt"):
        (tmp_path / name).write_bytes(b"{PAR1 \xff this is nothing")
    (tmp_path / "empty").mkdir()
    assert FILES[path] in told(tmp_path, TABLE.format(path) + QUERY)


def test_columns_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "limits.csv").write_text(GOOD)
    table = TABLE.format("limits.csv")
    assert "no column `hihg`" in told(tmp_path, table + QUERY.replace("r.low", "r.hihg"))
    assert "table `limits` has no column `key`" in told(tmp_path, table + QUERY.replace("r.id", "r.key"))
    assert "table `limits` has no column `window`" in told(
        tmp_path, table + QUERY.replace("r.horizon", "r.window")
    )
    assert "an integer is no window" in told(tmp_path, table + QUERY.replace("r.horizon", "r.id"))
    assert "unknown table `limit`" in told(tmp_path, table + QUERY.replace("EACH limits", "EACH limit"))


CYCLES = (
    "CREATE STREAM one AS SELECT v FROM two; CREATE STREAM two AS SELECT v FROM one;",
    "CREATE STREAM one AS SELECT v FROM one WHERE v > 1;",
    """CREATE STREAM one AS PATTERN SEQ(R a, two b) WITHIN 1 s RETURN a.v AS v;
    CREATE STREAM two AS SELECT a.v FROM one a JOIN R b ON a.v = b.v WITHIN 1 s;""",
)


@pytest.mark.parametrize("text", CYCLES, ids=["two selections", "itself", "a pattern and a join"])
def test_streams_that_are_made_of_themselves(tmp_path: Path, text: str) -> None:
    said = told(tmp_path, text + "QUERY q PATTERN one a WITHIN 1 s;")
    assert "`one` is defined by itself" in said
    assert "its sources lead back to it" in said


# ---- folders -------------------------------------------------------------------------------------------------


def folder_of(tmp_path: Path, **texts: str) -> Path:
    (tmp_path / "limits").mkdir()
    for name, text in texts.items():
        (tmp_path / "limits" / f"{name}.csv").write_text(text)
    return tmp_path


def test_a_folder_is_the_table_of_all_its_files(tmp_path: Path) -> None:
    folder_of(tmp_path, b="id,low,horizon\n3,2,1 s\n", a=GOOD, _SUCCESS="", **{".hidden": "nothing"})
    more = {"id": pa.array([7]), "low": pa.array([2.5]), "horizon": pa.array(["5 s"])}
    pq.write_table(pa.table(more), tmp_path / "limits" / "c.parquet")
    (tmp_path / "w.cep").write_text(TABLE.format("limits/") + QUERY)
    (family,) = Workload.read(tmp_path / "w.cep").bind(READINGS).families
    assert family.members == ("1", "2", "3", "7")
    assert family.table.values("low") == [0.5, 1.5, 2.0, 2.5]
    assert family.table.row(2) == "`limits/b.csv`, row 1"
    plan = stretto.optimize(Workload.read(tmp_path / "w.cep"), READINGS)
    assert "4 queries like q" in plan.explain()


def test_a_mistake_in_a_folder_names_the_file(tmp_path: Path) -> None:
    folder_of(tmp_path, a=GOOD, b="id,low,horizon\n3,2,1 s\n1,2,1 s\n")
    said = told(tmp_path, TABLE.format("limits") + QUERY)
    assert "`limits/b.csv`, row 2: the key `id` repeats: `1`" in said


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ("id,low\n3,2\n", "`limits/b.csv` has no column `horizon`, which `limits/a.csv` has"),
        ("id,low,horizon,high\n3,2,1 s,5\n", "`limits/a.csv` has no column `high`, which `limits/b.csv` has"),
        ("id,low,horizon\n3,no,1 s\n", "`limits`: its files do not fit together"),
        ("id,low,horizon\n3\n", "`limits/b.csv` cannot be read: "),
    ],
)
def test_files_that_do_not_fit_together(tmp_path: Path, second: str, expected: str) -> None:
    folder_of(tmp_path, a=GOOD, b=second)
    assert expected in told(tmp_path, TABLE.format("limits") + QUERY)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (
            '{"id": 1}\n{"id": ' + "[" * 20_000 + "]" * 20_000 + "}",
            "line 2 is nested more than 100 levels deep",
        ),
        ('{"id":\n' * 20_000, "line 101 is nested more than 100 levels deep"),
        ('{"id": "\\udc00"}\n', "half of a surrogate pair"),
    ],
    ids=["deep", "open", "half"],
)
def test_json_that_no_parser_should_see(tmp_path: Path, rows: str, expected: str) -> None:
    (tmp_path / "limits.json").write_text(rows)
    said = told(tmp_path, TABLE.format("limits.json") + QUERY)
    assert (
        f"`limits.json` cannot be read: {expected if 'half' not in expected else 'it holds ' + expected}"
        in said
    )


def test_a_list_is_no_key(tmp_path: Path) -> None:
    (tmp_path / "limits.json").write_text('{"id": ["a"], "low": 1.5, "horizon": "1 s"}\n')
    said = told(tmp_path, TABLE.format("limits.json") + QUERY)
    assert "`id` is a list" in said
    assert "a key is a text, a number, a time or a truth value" in said


def test_damaged_columns_of_a_table_file_are_told(tmp_path: Path) -> None:
    codes = pa.DictionaryArray.from_arrays(pa.array([0, 7], pa.int32()), pa.array(["a"]), safe=False)
    table = pa.table({"id": codes})
    with (
        pa.OSFile(str(tmp_path / "limits.arrow"), "wb") as file,
        pa.ipc.new_file(file, table.schema) as writer,
    ):
        writer.write_table(table)
    assert "`limits.arrow` cannot be read: " in told(tmp_path, TABLE.format("limits.arrow") + QUERY)


def test_a_column_whose_name_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "limits.csv").write_bytes(b"id,l\x80w\n1,2\n")
    assert "`limits.csv` cannot be read: " in told(tmp_path, TABLE.format("limits.csv") + QUERY)


def test_a_first_row_that_is_null_is_told(tmp_path: Path) -> None:
    (tmp_path / "limits.json").write_text(' null\n{"id": 1}\n')
    assert "its first row is null, not an object" in told(tmp_path, TABLE.format("limits.json") + QUERY)
