"""The archive of Java's classes: who makes it, who uses it, and that nothing depends on it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stretto.spark import archive, java

LISTED = "-XX:DumpLoadedClassList="
USED = "-XX:SharedArchiveFile="


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of Java, with a cache and a Spark whose program writes its arguments into every archive it makes."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a cache"))
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    (tmp_path / "spark" / "bin").mkdir(parents=True)
    (tmp_path / "spark" / "jars").mkdir()
    (tmp_path / "spark" / "jars" / "one.jar").write_text("1")
    program = tmp_path / "spark" / "bin" / "spark-submit"
    program.write_text(f"""#!{sys.executable}
import shlex, sys
options = dict(part.split("=", 1) for part in shlex.split(sys.argv[2]) if part.startswith("-XX:"))
listed = open(options["-XX:SharedClassListFile"]).read()
open(options["{USED}"[:-1]], "w").write(listed)
sys.exit("broken" in listed)
""")
    program.chmod(0o755)
    return fake_java(tmp_path, "17")


def fake_java(folder: Path, version: str) -> Path:
    program = folder / "jdk" / "bin" / "java"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"'\n")
    program.chmod(0o755)
    return java._home_for(program)


def listed_by(home: Path, text: str) -> Path:
    """What a session that lists its classes has written."""
    told = archive.options(home, lists=True)
    assert told.startswith(LISTED), told
    path = Path(told.removeprefix(LISTED).strip("'"))
    path.write_text(text)
    return path


def test_a_listed_start_makes_the_archive_of_the_next(home: Path) -> None:
    assert archive.options(home) == ""
    classes = listed_by(home, "java/lang/Object id: 0\njava/lang/Str")
    archive.make(classes)
    made = archive.archive_of(home)
    assert made.read_text() == "java/lang/Object id: 0\n"  # without the line that was being written
    assert archive.options(home) == archive.options(home, lists=True)
    assert archive.options(home).endswith(f"{USED}'{made}'")
    assert [file.name for file in made.parent.iterdir()] == [made.name]


def test_an_archive_is_of_one_java_and_one_spark(home: Path, tmp_path: Path) -> None:
    archive.make(listed_by(home, "A\n"))
    (tmp_path / "spark" / "jars" / "two.jar").write_text("2")
    assert archive.options(home) == ""
    (tmp_path / "spark" / "jars" / "two.jar").unlink()
    assert archive.options(home) != ""
    assert fake_java(tmp_path, "17.0.16") == home
    assert archive.options(home) == ""


def test_what_cannot_be_made_is_not_there(home: Path) -> None:
    archive.make(listed_by(home, "broken\n"))
    assert archive.options(home) == ""
    archive.make(listed_by(home, "A\n"))
    assert archive.options(home) != ""


def test_one_process_makes_it(home: Path) -> None:
    classes = listed_by(home, "A\n")
    taken = archive.archive_of(home).with_suffix(".taken")
    taken.write_text("")
    archive.make(classes)
    assert archive.options(home) == ""
    long_ago = time.time() - archive.PATIENCE_S - 1
    os.utime(taken, (long_ago, long_ago))  # that process is gone
    archive.make(classes)
    assert archive.options(home) != ""


def test_what_nobody_uses_is_removed(home: Path) -> None:
    classes = listed_by(home, "A\n")
    old, young = classes.with_name("old.jsa"), classes.with_name("young.jsa")
    for file, days in ((old, 31), (young, 29)):
        file.write_text("")
        os.utime(file, (time.time() - days * 86400,) * 2)
    archive.make(classes)
    assert (old.exists(), young.exists()) == (False, True)


def test_another_process_makes_it(home: Path) -> None:
    listed_by(home, "A\n")
    archive.make_apart()
    assert archive.archive_of(home).read_text() == "A\n"


def test_a_java_that_would_refuse_it_makes_none(home: Path, tmp_path: Path) -> None:
    assert archive.options(home, lists=True) != ""
    assert archive.options(fake_java(tmp_path, "21.0.8"), lists=True) == ""


def test_without_a_cache_nothing_is_listed(home: Path, tmp_path: Path) -> None:
    (tmp_path / "a cache" / "stretto" / "classes").write_text("in the way")
    assert archive.options(home, lists=True) == ""


@pytest.mark.parametrize("damage", ["missing", "damaged", "of another path"])
def test_java_goes_without_an_archive_that_is_no_use(tmp_path: Path, damage: str) -> None:
    """And says nothing: standard output is for results."""
    packaged = java._packaged()
    assert packaged is not None
    file = tmp_path / "classes.jsa"
    if damage == "damaged":
        file.write_text("nothing")
    if damage == "of another path":
        subprocess.run(
            [packaged, "-Xshare:dump", f"{USED}{file}", "-cp", "a.jar"], capture_output=True, check=True
        )
        assert file.stat().st_size > 1 << 20
    command = [packaged, *archive.SILENT.split(), f"{USED}{file}", "-cp", "b.jar", "--version"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("openjdk 21")
    assert (len(ran.stdout.splitlines()), ran.stderr) == (3, "")
