"""A damaged, full or missing cache of compiled loops ends no run: loops are compiled, and one line says so."""

import errno
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from numba.core.caching import IndexDataCacheFile

from stretto import loop_cache
from stretto.errors import StrettoWarning
from stretto.values.loops import loop

CODE = """
import numpy as np
from stretto.values.reduce import ALL_PRESENT, sum_ints
for _ in range(2):
    print(sum_ints(np.array([0, 2]), np.array([3, 4]), ALL_PRESENT)[0])
"""


def _run(folder: Path) -> subprocess.CompletedProcess[str]:
    settings = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    return subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, env=settings, check=False
    )


@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
@pytest.mark.parametrize("bytes_left", [0, 100])
def test_a_damaged_cache_is_made_anew(tmp_path: Path, ending: str, bytes_left: int) -> None:
    assert _run(tmp_path).stderr == ""
    files = [path for path in tmp_path.rglob("*") if path.name.endswith(ending)]
    assert files
    for path in files:
        path.write_bytes(path.read_bytes()[:bytes_left])
    damaged = _run(tmp_path)
    assert damaged.stdout.split() == ["[7]", "[7]"]
    assert damaged.stderr.count("StrettoWarning") == 1
    assert "these loops are compiled again" in damaged.stderr
    healed = _run(tmp_path)
    assert (healed.stdout.split(), healed.stderr) == (["[7]", "[7]"], "")


@pytest.fixture
def full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[warnings.WarningMessage]]:
    """A folder that takes no byte more; what is warned of is gathered."""

    def refuse(_cache: object, _name: str, _data: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(IndexDataCacheFile, "_save_data", refuse)
    monkeypatch.setattr(loop_cache, "_warned", [])
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def test_a_full_disk_is_said_once(full: list[warnings.WarningMessage]) -> None:
    @loop
    def plus_one(x: int) -> int:
        return x + 1

    @loop
    def plus_two(x: int) -> int:
        return x + 2

    assert (plus_one(1), plus_two(1)) == (2, 3)
    (said,) = full
    assert said.category is StrettoWarning
    assert "No space left on device" in str(said.message)
    assert "NUMBA_CACHE_DIR" in str(said.message)


def test_no_folder_at_all(full: list[warnings.WarningMessage], monkeypatch: pytest.MonkeyPatch) -> None:
    def none_there(_function: object) -> None:
        raise RuntimeError("no locator available")

    monkeypatch.setattr(loop_cache, "ForgivingCache", none_there)

    @loop
    def plus_three(x: int) -> int:
        return x + 3

    assert plus_three(1) == 4
    assert "no folder for compiled loops" in str(full[0].message)
