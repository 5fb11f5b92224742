"""Engines in files: they go on as if they had stayed, and a file that is not to be trusted is not loaded."""

import os
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from stretto import Engine, Schema, Workload, optimize
from stretto.spark.stream.engine_cache import KEPT, EngineCache, local_folder

PLAN = optimize(
    Workload.parse("QUERY q PATTERN SEQ(A a, B b) WHERE a.s = b.s WITHIN 100 us RETURN a.s AS s;"),
    Schema.of(pa.schema([("s", pa.string())]), {"A", "B"}),
    "none",
)


def events(start: int, count: int) -> pa.Table:
    numbers = np.arange(start, start + count)
    return pa.table(
        {
            "ts": pa.array(numbers, pa.timestamp("us")),
            "type": pa.array(["A", "B"] * (count // 2)),
            "s": pa.array([f"s{n // 2 % 50}" for n in numbers.tolist()]),
        }
    )


def test_an_engine_from_a_file_goes_on(tmp_path: Path) -> None:
    cache = EngineCache.at(tmp_path, "query", "run")
    stays, goes = (Engine(PLAN, watermark="given") for _ in range(2))
    found = 0
    for number in range(12):
        batch = events(1000 * number, 1000)
        for engine in (stays, goes):
            engine.push(batch)
        until = 1000 * number + 900
        expected, got = stays.advance(until), goes.advance(until)
        assert got.to_arrow() == expected.to_arrow()
        found += len(got)
        assert cache.store(3, number, goes) > 0
        loaded = cache.load(3, number, Engine)
        assert loaded is not None
        goes = loaded
    assert found > 5000


def test_the_file_stays_as_it_was(tmp_path: Path) -> None:
    cache = EngineCache.at(tmp_path, "query", "run")
    engine = Engine(PLAN, watermark="given")
    engine.push(events(0, 1000))
    engine.advance(500)
    cache.store(0, 1, engine)
    answers = []
    for _ in range(2):
        loaded = cache.load(0, 1, Engine)
        assert loaded is not None
        loaded.push(events(1000, 1000))
        answers.append(loaded.advance(2000).to_arrow())
    assert answers[0] == answers[1]


def test_few_files_stay(tmp_path: Path) -> None:
    cache = EngineCache.at(tmp_path, "query", "run")
    for counter in range(10):
        cache.store(0, counter, Engine(PLAN))
    assert cache.folder is not None
    assert len(list(cache.folder.iterdir())) == KEPT
    assert cache.load(0, 9, Engine) is not None
    assert cache.load(0, 5, Engine) is None
    assert cache.load(1, 9, Engine) is None


def test_a_new_run_removes_what_the_last_one_left(tmp_path: Path) -> None:
    first = EngineCache.at(tmp_path, "query", "one")
    other = EngineCache.at(tmp_path, "another", "one")
    for cache in (first, other):
        cache.store(0, 1, Engine(PLAN))
    second = EngineCache.at(tmp_path, "query", "two")
    assert second.load(0, 1, Engine) is None
    assert first.load(0, 1, Engine) is None
    assert other.load(0, 1, Engine) is not None


@pytest.mark.parametrize(
    "damage", [lambda data: b"", lambda data: data[:-100], lambda data: b"x" * len(data)]
)
def test_a_damaged_file_is_as_good_as_none(tmp_path: Path, damage) -> None:
    cache = EngineCache.at(tmp_path, "query", "run")
    cache.store(0, 1, Engine(PLAN))
    assert cache.folder is not None
    (path,) = cache.folder.iterdir()
    path.write_bytes(damage(path.read_bytes()))
    assert cache.load(0, 1, Engine) is None


def test_only_our_own_folder_is_used(tmp_path: Path) -> None:
    home = tmp_path / f"stretto-{os.getuid()}"
    home.mkdir()
    home.chmod(0o777)
    cache = EngineCache.at(tmp_path, "query", "run")
    assert cache.folder is None
    assert cache.store(0, 1, Engine(PLAN)) == 0
    assert cache.load(0, 1, Engine) is None
    assert EngineCache.at(tmp_path / "missing", "query", "run").folder is None


def test_a_folder_that_was_cleaned_away_is_no_failure(tmp_path: Path) -> None:
    cache = EngineCache.at(tmp_path, "query", "run")
    assert cache.folder is not None
    cache.folder.rmdir()
    assert cache.store(0, 1, Engine(PLAN)) == 0
    assert cache.load(0, 1, Engine) is None


def test_spark_says_where_scratch_files_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},/elsewhere")
    assert local_folder() == tmp_path
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/is/not/there")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    assert local_folder() == tmp_path / "temporary"
    local_folder().mkdir()
    assert EngineCache.of_task("name").folder is not None
