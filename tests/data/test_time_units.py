"""Integers as times: their unit is told by their size, said, or asked for."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.data.files import open_events
from stretto.errors import EventsError
from stretto.schema import Special
from stretto.values.time_units import FIRST_S, LAST_S, PER_SECOND, judged_unit

SECONDS = 1_700_000_000
UNITS = pytest.mark.parametrize("unit", list(PER_SECOND))


def write(folder: Path, ending: str, times: list[int]) -> Path:
    path = folder / f"e{ending}"
    if ending == ".parquet":
        pq.write_table(pa.table({"ts": times, "type": ["A"] * len(times)}), path)
    elif ending == ".csv":
        path.write_text("ts,type\n" + "".join(f"{ts},A\n" for ts in times))
    else:
        path.write_text("".join(f'{{"ts": {ts}, "type": "A"}}\n' for ts in times))
    return path


def times_of(path: Path, special: Special | None = None) -> list[int]:
    batches = list(open_events(path, special).batches())
    return [us for batch in batches for us in batch.column("ts").cast(pa.int64()).to_pylist()]


@UNITS
@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl"])
def test_the_size_of_integers_tells_their_unit(tmp_path: Path, unit: str, ending: str) -> None:
    path = write(tmp_path, ending, [(SECONDS + i) * PER_SECOND[unit] for i in range(3)])
    assert times_of(path) == [(SECONDS + i) * 1_000_000 for i in range(3)]
    told = open_events(path).unit_told
    assert told is not None
    assert "2023-11-14 22:13:20" in told


@UNITS
@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl"])
def test_a_unit_that_is_given_holds(tmp_path: Path, unit: str, ending: str) -> None:
    path = write(tmp_path, ending, [5_000_000_000, 7_000_000_000])
    us = {"s": 10**6, "ms": 1000, "us": 1, "ns": 0}[unit]
    special = Special(unit=unit)
    assert times_of(path, special) == [5_000_000_000 * us or 5_000_000, 7_000_000_000 * us or 7_000_000]
    assert open_events(path, special).unit_told is None


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl"])
def test_what_is_not_clear_is_refused(tmp_path: Path, ending: str) -> None:
    with pytest.raises(
        EventsError, match="integers such as 1, and it is not clear in which unit: give --ts-unit"
    ):
        open_events(write(tmp_path, ending, [1, 2, 3])).survey()


def test_files_of_several_units_are_refused(tmp_path: Path) -> None:
    write(tmp_path, ".csv", [SECONDS])
    write(tmp_path, ".jsonl", [SECONDS * 1000])
    with pytest.raises(
        EventsError, match=r"seconds in .*e.csv and milliseconds in .*e.jsonl: give --ts-unit"
    ):
        open_events(tmp_path)


@given(st.sampled_from(list(PER_SECOND)), st.lists(st.integers(FIRST_S, LAST_S - 1), min_size=1))
def test_no_number_of_these_years_has_two_units(unit: str, seconds: list[int]) -> None:
    found = judged_unit(np.array(seconds, np.int64) * PER_SECOND[unit])
    assert found is not None
    assert found.unit == unit
