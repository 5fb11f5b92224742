"""Versions of a workload: published, read back, refused where they do not fit, picked up from a file that changes."""

import json
import pickle
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import stretto
from stretto import QueryError, Workload, optimize
from stretto.schema import Kind, Schema
from stretto.spark.errors import StrettoSparkError
from stretto.spark.stream.versions import (
    Publisher,
    Version,
    WorkloadWatch,
    last_version,
    publish,
    read_versions,
)

SCHEMA = Schema({"x": Kind.FLOAT, "k": Kind.STRING})
RISE = "QUERY rise PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 10 SECONDS;"
SAME = "QUERY same PATTERN SEQ(A a, B b) WHERE a.k = b.k WITHIN 10 SECONDS;"


def published(folder: Path, text: str) -> int:
    workload = Workload.parse(text)
    return publish(folder, workload, optimize(workload, SCHEMA))


def test_a_version_comes_back_as_it_was(tmp_path: Path) -> None:
    assert [published(tmp_path / "w", RISE), published(tmp_path / "w", SAME)] == [1, 2]
    found = last_version(tmp_path / "w")
    assert found is not None
    assert found.number == 2
    assert found.text == Workload.parse(SAME).to_text()
    assert found.plan == optimize(Workload.parse(SAME), SCHEMA)
    assert (tmp_path / "w").stat().st_mode & 0o077 == 0


def test_there_is_no_version_before_the_first(tmp_path: Path) -> None:
    assert last_version(tmp_path / "nothing") is None


def test_a_version_of_another_release_is_planned_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = optimize(Workload.parse(RISE), SCHEMA)
    written = Version(3, RISE, plan).to_bytes()
    monkeypatch.setattr(stretto, "__version__", "99")
    found = Version.from_bytes(written.replace(b'"plan": "', b'"plan": "!'))
    assert (found.number, found.plan.queries.keys()) == (3, plan.queries.keys())


def test_a_damaged_version_says_so() -> None:
    with pytest.raises(StrettoSparkError, match="damaged"):
        Version.from_bytes(b"{}")
    whole = Version(3, RISE, optimize(Workload.parse(RISE), SCHEMA)).to_bytes()
    plan = json.loads(whole)["plan"]
    for part in (plan[: len(plan) // 8 * 4], "", plan[4:]):
        with pytest.raises(StrettoSparkError, match="damaged"):
            Version.from_bytes(whole.replace(plan.encode(), part.encode()))


def test_a_plan_of_another_digest_is_not_unpickled(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Version(3, RISE, optimize(Workload.parse(RISE), SCHEMA)).to_bytes()
    monkeypatch.setattr(pickle, "loads", lambda *_: pytest.fail("unpickled"))
    plan = json.loads(whole)["plan"]
    with pytest.raises(StrettoSparkError, match="its plan has another digest"):
        Version.from_bytes(whole.replace(plan.encode(), plan[::-1].encode()))


def test_the_same_workload_is_not_published_again(tmp_path: Path) -> None:
    first = Publisher(tmp_path, SCHEMA).offer(Workload.parse(RISE))
    again = Publisher(tmp_path, SCHEMA).offer(Workload.parse(f"-- a comment\n{RISE}"))
    assert (first.number, again.number) == (1, 1)
    assert Publisher(tmp_path, SCHEMA).offer(Workload.parse(RISE + SAME)).number == 2


def test_a_wrong_workload_is_refused_with_every_mistake(tmp_path: Path) -> None:
    file = tmp_path / "rules.cep"
    file.write_text("QUERY q PATTERN SEQ(A a, B b) WHERE a.z < b.y WITHIN 1 SECOND;")
    publisher = Publisher(tmp_path / "w", SCHEMA)
    with pytest.raises(QueryError) as refused:
        publisher.offer_file(file)
    assert "`z`" in str(refused.value)
    assert "`y`" in str(refused.value)
    assert last_version(tmp_path / "w") is None


def test_another_kind_of_a_used_attribute_is_refused(tmp_path: Path) -> None:
    Publisher(tmp_path, SCHEMA).offer(Workload.parse(SAME))
    changed = replace(SCHEMA, attributes={"x": Kind.STRING, "k": Kind.STRING})
    with pytest.raises(StrettoSparkError, match="`x` was double in the events so far and is string now"):
        Publisher(tmp_path, changed).offer(Workload.parse(RISE))
    assert Publisher(tmp_path, changed).offer(Workload.parse(SAME)).number == 1  # reads no x


def test_a_watched_file_becomes_versions(tmp_path: Path) -> None:
    file, told = tmp_path / "rules.cep", list[str]()
    file.write_text(RISE)
    publisher = Publisher(tmp_path / "w", SCHEMA)
    publisher.offer_file(file)
    watch = WorkloadWatch(file, publisher, told.append)

    def change(text: str) -> None:
        file.write_text(text)
        watch.look()
        watch.look()
        watch.look()

    change(RISE + SAME)
    change("QUERY broken")
    change("")
    change(f"-- only words\n{RISE}{SAME}")
    change(SAME)
    assert [message.splitlines()[-1] for message in told] == [
        "version 2 of the workload: 2 queries (added same)",
        "the stream keeps version 2 of the workload",
        "the stream keeps version 2 of the workload",
        "version 3 of the workload: 1 query (removed rise)",
    ]
    assert "rules.cep:1" in told[1]
    assert publisher.last is not None
    assert publisher.last.number == 3


FAMILY = """CREATE TABLE limits FROM 'limits.csv';
QUERY low FOR EACH limits r KEY r.id PATTERN SEQ(A a, B b) WHERE a.k = r.k AND b.x < r.low WITHIN r.horizon;"""
ROWS = "id,k,low,horizon\n1,a,0.5,10 seconds\n2,b,1.5,1 minute\n"


def test_rows_of_a_table_are_added_changed_and_removed_while_it_is_watched(tmp_path: Path) -> None:
    file, rows, told = tmp_path / "rules.cep", tmp_path / "limits.csv", list[str]()
    file.write_text(FAMILY)
    rows.write_text(ROWS)
    publisher = Publisher(tmp_path / "w", SCHEMA)
    publisher.offer_file(file)
    watch = WorkloadWatch(file, publisher, told.append)

    def change(text: str) -> list[str]:
        rows.write_text(text)
        told.clear()
        for _ in range(3):
            watch.look()
        return told

    def members() -> list[str]:
        assert publisher.last is not None
        workload = publisher.last.plan.workload
        assert workload is not None
        return [*workload.bind(SCHEMA).families[0].members]

    (added,) = change(ROWS + "3,c,2.5,5 seconds\n")
    assert added.startswith("version 2 of the workload: 1 query (other rows: limits 3 rows (")
    assert members() == ["1", "2", "3"]
    bad = "4,d,1.0,-3 seconds\n,e,1.0,1 second\n1,f,1.0,1 second\n5,g,1.0,soon\n6,h,1.0,1 second\n"
    assert change(ROWS + bad)[:4] == [
        "`limits.csv`, row 3: the window must be longer than zero; the row is left out",
        "`limits.csv`, row 4: the key `id` is null; the row is left out",
        "`limits.csv`, row 5: the key `id` repeats: `1`; the row is left out",
        "`limits.csv`, row 6: the window `soon` is no duration such as `10 minutes`; the row is left out",
    ]
    assert members() == ["1", "2", "6"]
    change(ROWS.replace("0.5", "0.75"))
    assert members() == ["1", "2"]
    (refused,) = change("id,k,low\n1,a,0.5\n")
    assert "table `limits` has no column `horizon`" in refused
    assert "the stream keeps version 4 of the workload" in refused
    rows.unlink()
    told.clear()
    for _ in range(3):
        watch.look()
    assert "`limits.csv` is not there" in told[0]
    assert members() == ["1", "2"]


class Frame:
    """A DataFrame, as far as a table needs one."""

    def __init__(self, rows: dict[str, list[object]]) -> None:
        self._rows = rows

    def toArrow(self) -> pa.Table:  # noqa: N802 - Spark's name
        return pa.table(self._rows)


def test_a_program_gives_other_rows_while_the_stream_runs(tmp_path: Path) -> None:
    query = FAMILY.splitlines()[1].replace("r.horizon", "5 SECONDS")
    publisher = Publisher(tmp_path / "w", SCHEMA)

    def offer(ids: list[object]) -> list[str]:
        rows = Frame({"id": ids, "k": ["a"] * len(ids), "low": [0.5] * len(ids)})
        version = publisher.offer(Workload.parse(query).table("limits", rows))
        assert version.plan.workload is not None
        return [str(version.number), *version.plan.workload.bind(SCHEMA).families[0].members]

    assert offer([1, 2]) == ["1", "1", "2"]
    assert offer([1, 2]) == ["1", "1", "2"], "the same rows are the same version"
    assert offer([2, 7]) == ["2", "2", "7"]
    with pytest.raises(QueryError, match="the key `id` repeats: `3`"):
        offer([3, 3])
    assert publisher.last is not None
    assert publisher.last.number == 2


def test_a_folder_of_rows_is_watched_too(tmp_path: Path) -> None:
    file, folder, told = tmp_path / "rules.cep", tmp_path / "limits", list[str]()
    file.write_text(FAMILY.replace("'limits.csv'", "'limits/'"))
    folder.mkdir()
    (folder / "a.csv").write_text(ROWS)
    publisher = Publisher(tmp_path / "w", SCHEMA)
    publisher.offer_file(file)
    watch = WorkloadWatch(file, publisher, told.append)
    (folder / "b.csv").write_text("id,k,low,horizon\n3,c,2.5,5 seconds\n1,c,2.5,5 seconds\n")
    for _ in range(3):
        watch.look()
    assert told[0] == "`limits/b.csv`, row 2: the key `id` repeats: `1`; the row is left out"
    assert told[1].startswith("version 2 of the workload: 1 query (other rows: limits 3 rows (")
    (folder / "a.csv").unlink()
    for _ in range(3):
        watch.look()
    assert told[2].startswith("version 3 of the workload: 1 query (other rows: limits 2 rows (")


def test_a_bad_row_at_the_start_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "rules.cep").write_text(FAMILY)
    (tmp_path / "limits.csv").write_text(ROWS + "2,c,0.5,1 second\n")
    with pytest.raises(QueryError, match=r"`limits.csv`, row 3: the key `id` repeats: `2`"):
        Publisher(tmp_path / "w", SCHEMA).offer_file(tmp_path / "rules.cep")


def test_a_half_written_file_waits_for_the_rest(tmp_path: Path) -> None:
    file, told = tmp_path / "rules.cep", list[str]()
    file.write_text(RISE)
    publisher = Publisher(tmp_path / "w", SCHEMA)
    publisher.offer_file(file)
    watch = WorkloadWatch(file, publisher, told.append)
    file.write_text(SAME[:20])
    watch.look()
    file.write_text(SAME)
    watch.look()
    assert not told
    watch.look()
    assert told == ["version 2 of the workload: 1 query (added same; removed rise)"]


def test_the_thread_looks_until_it_is_ended(tmp_path: Path) -> None:
    file, told = tmp_path / "rules.cep", list[str]()
    file.write_text(RISE)
    publisher = Publisher(tmp_path / "w", SCHEMA)
    publisher.offer_file(file)
    watch = WorkloadWatch(file, publisher, lambda message: (told.append(message), watch.end()), every_s=0.01)  # type: ignore[func-returns-value]
    watch.start()
    file.write_text(SAME)
    watch.join(60)
    assert not watch.is_alive()
    assert len(told) == 1


def test_targets_read_every_version_once(spark: SparkSession, tmp_path: Path) -> None:
    published(tmp_path / "w", RISE)
    rows = read_versions(spark, tmp_path / "w", 3)
    query = (
        rows.writeStream.format("memory")
        .queryName("versions_read")
        .option("checkpointLocation", str(tmp_path / "c"))
        .start()
    )
    try:
        query.processAllAvailable()
        published(tmp_path / "w", SAME)
        query.processAllAvailable()
    finally:
        query.stop()
    found = spark.table("versions_read").orderBy("version", "target").collect()
    assert [(row.target, row.kind, row.version) for row in found] == [
        (target, "workload", version) for version in (1, 2) for target in range(3)
    ]
    assert Version.from_bytes(bytes(found[-1].payload)) == last_version(tmp_path / "w")
