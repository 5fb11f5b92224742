"""An installation that nobody may write to, and a user without a home, still have a folder for compiled loops."""

import os
import stat
from pathlib import Path

import pytest

from stretto import compiled_loops
from stretto.compiled_loops import SETTING, ensure_folder


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing is writable but the folder of temporary files."""
    others = {name: value for name, value in os.environ.items() if name not in (SETTING, "XDG_CACHE_HOME")}
    monkeypatch.setattr(os, "environ", others | {"HOME": "/proc/nowhere"})
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(compiled_loops, "__file__", "/proc/nowhere/stretto/compiled_loops.py")
    monkeypatch.setattr(compiled_loops.sys, "modules", {})
    writable = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: str(path)[:5] != "/proc" and writable(path, mode))
    return tmp_path


def test_a_folder_of_its_own(nowhere: Path) -> None:
    ensure_folder()
    folder = Path(os.environ[SETTING])
    assert folder.parent == nowhere
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    del os.environ[SETTING]
    ensure_folder()
    assert Path(os.environ[SETTING]) == folder  # what was compiled is found again


def test_a_folder_that_others_may_write_to_is_not_taken(nowhere: Path) -> None:
    ensure_folder()
    usual = Path(os.environ.pop(SETTING))
    usual.chmod(0o777)
    ensure_folder()
    assert Path(os.environ.pop(SETTING)) != usual
    usual.chmod(0o700)
    usual.rename(nowhere / "other")
    usual.symlink_to(nowhere / "other")
    ensure_folder()
    assert Path(os.environ[SETTING]) != usual


def test_where_numba_finds_one_nothing_is_set(nowhere: Path) -> None:
    os.environ["XDG_CACHE_HOME"] = str(nowhere / "not" / "yet")
    ensure_folder()
    assert SETTING not in os.environ
    del os.environ["XDG_CACHE_HOME"]
    os.environ[SETTING] = "mine"
    ensure_folder()
    assert os.environ[SETTING] == "mine"
