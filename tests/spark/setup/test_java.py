"""Which Java is taken, and the script that starts it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stretto.spark.errors import StrettoSparkError
from stretto.spark.setup import java
from stretto.spark.setup import private_folder as private
from stretto.spark.setup.java import DROPPED, java_home

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Java is not started by a script there")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A machine without Java: `install(folder, version)` puts a program there that says its version and arguments."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(java, "_packaged", lambda: None)

    def install(folder: str, version: str) -> Path:
        program = tmp_path / folder / "java"
        program.parent.mkdir(parents=True)
        program.write_text(f"""#!/bin/sh
if [ "$1" = -version ]; then echo 'openjdk version "{version}" 2025-04-15' >&2; exit; fi
echo {version}
for argument do echo "$argument"; done
""")
        program.chmod(0o755)
        return program

    return install


def arguments_of(home: Path, *arguments: str) -> list[str]:
    started = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True, check=True)
    return started.stdout.splitlines()


def test_java_of_the_path(machine) -> None:
    machine("path", "17.0.15")
    assert arguments_of(java_home(), "-x") == ["17.0.15", "-x"]


def test_java_home_comes_before_the_path(machine, tmp_path, monkeypatch) -> None:
    machine("path", "17.0.15")
    machine("home/bin", "21.0.8")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert arguments_of(java_home()) == ["21.0.8"]


def test_other_versions_are_passed_over(machine, tmp_path, monkeypatch) -> None:
    machine("home/bin", "1.8.0_392")
    machine("path", "11.0.2")
    packaged = machine("wheel/bin", "21.0.8")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(java, "_packaged", lambda: packaged)
    assert arguments_of(java_home()) == ["21.0.8"]


def test_nothing_to_start(machine, tmp_path, monkeypatch) -> None:
    broken = machine("home/bin", "17.0.1")
    broken.write_text("#!/bin/sh\nexit 1\n")
    machine("path", "11.0.2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    with pytest.raises(StrettoSparkError) as caught:
        java_home()
    assert str(caught.value).startswith(
        f"Spark needs Java 17 or 21, and there is none: JAVA_HOME ({tmp_path / 'home'}) has one that does not run; "
        f"the path ({tmp_path / 'path' / 'java'}) has version 11."
    )
    assert "pip install" in str(caught.value)


def test_one_argument_is_dropped_and_the_others_stay_as_they_are(machine) -> None:
    machine("path with 'quotes' and spaces", "17")
    machine("path", "17")
    kept = ["-cp", "a b:c", "", "$HOME", "it's", '"x"', "-Dlast=1"]
    assert arguments_of(java_home(), DROPPED, *kept[:3], DROPPED, *kept[3:]) == ["17", *kept]


def test_a_program_with_an_odd_name(machine, tmp_path, monkeypatch) -> None:
    machine("it's here/bin", "17")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "it's here"))
    assert arguments_of(java_home(), "x") == ["17", "x"]


def test_a_folder_of_ours_is_used_again(machine, monkeypatch) -> None:
    machine("path", "17")
    home = java_home()
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert java_home() == home


def test_a_damaged_script_is_written_anew(machine) -> None:
    machine("path", "17")
    home = java_home()
    (home / "bin" / "java").write_text("")
    assert arguments_of(java_home(), "x") == ["17", "x"]
    assert [file.name for file in (home / "bin").iterdir()] == ["java"]


def test_without_a_cache_folder(machine, tmp_path, monkeypatch) -> None:
    machine("path", "17")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(java, "_home_cache", lambda: None)
    assert arguments_of(java_home(), "x") == ["17", "x"]


def test_the_packaged_java_runs() -> None:
    packaged = java._packaged()
    assert packaged is not None
    assert java.version_of(packaged) == 21


@pytest.mark.parametrize("trouble", ["open to others", "a link", "of another user", "a file"])
def test_a_cache_that_others_can_write_to_is_passed_over(
    machine, tmp_path, monkeypatch, trouble: str
) -> None:
    machine("path", "17.0.15")
    monkeypatch.setattr(java, "_home_cache", lambda: None)
    folder = tmp_path / "cache" / "stretto"
    assert java_home().is_relative_to(folder)
    shutil.rmtree(folder)
    if trouble == "a file":
        folder.write_text("")
    elif trouble == "a link":
        (tmp_path / "theirs").mkdir(mode=0o700)
        folder.symlink_to(tmp_path / "theirs")
    else:
        folder.mkdir(mode=0o700)
    if trouble == "open to others":
        folder.chmod(0o777)
    if trouble == "of another user":
        monkeypatch.setattr(private.os, "getuid", lambda: folder.stat().st_uid + 1)
    home = java_home()
    assert not home.is_relative_to(folder.parent)
    assert not home.is_relative_to(tmp_path)
    assert arguments_of(home, "-x") == ["17.0.15", "-x"]
