"""Java's classes in an archive that is mapped into memory, so that a session need not load them one by one.

The first stream of a user on a machine has Java list the classes it loads. After its first micro-batch a process of the
lowest priority makes an archive of them in the user's cache (about 220 MB), and later sessions start with it. Nothing
depends on it: Java goes without an archive that is missing, damaged, or of another Java or other jars.
"""

import os
import shlex
import subprocess
import sys
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

import pyspark

from stretto.spark.java import cache_folder, identity, version_of

VERSIONS: Final = (17,)
"""Java 21 refuses the archive of a class path that names a file twice, as Spark's does."""
PATIENCE_S: Final = 600
"""A process that has not made an archive by then was killed."""
KEPT_S: Final = 30 * 24 * 3600
"""How long files stay that no session uses."""
SILENT: Final = "-Xlog:cds=off -Xlog:cds+dynamic=off -Xlog:cds+heap=off -Xlog:gc+verify=off"
"""Java says what it thinks of an archive on standard output, which is for results."""
MAKE: Final = "import os, sys; from stretto.spark import archive; os.nice(19); archive.make(sys.argv[1])"
"""The program of another process, of the lowest priority."""


def options(home: Path, *, lists: bool = False) -> str:
    """What to tell the Java of a folder that `java_home` gave: to use the archive of its classes.

    Where there is none yet and `lists` is set, to list the classes, of which `make_apart` makes one.
    """
    archive = archive_of(home)
    with suppress(OSError):
        os.utime(archive)  # it is in use
        return f"{SILENT} {_option('SharedArchiveFile', archive)}"
    if not lists or version_of(home / "bin" / "java") not in VERSIONS:
        return ""
    try:
        archive.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return ""
    return _option("DumpLoadedClassList", archive.with_name(f"{archive.stem}-{os.getpid()}.classes"))


def archive_of(home: Path) -> Path:
    """Where the archive of a Java and the Spark of this process is, or would be."""
    jars = _spark_home() / "jars"
    found = sorted((jar.name, jar.stat().st_size) for jar in jars.glob("*.jar"))
    parts = repr((identity(home), pyspark.__version__, str(jars), found))
    return _folder() / f"{sha256(parts.encode()).hexdigest()[:16]}.jsa"


def make_apart() -> None:
    """Have another process make an archive of the classes that the Java of this one has listed, if it lists them.

    Waits for it, but it goes on when this process ends.
    """
    for classes in _folder().glob(f"*-{os.getpid()}.classes"):
        subprocess.run(  # noqa: S603 - our own module
            [sys.executable, "-c", MAKE, classes],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # an interrupt is not for it
            check=False,
        )


def make(listed: str | Path) -> None:
    """Make an archive of a list of classes, unless another process is at it."""
    classes = Path(listed)
    archive = classes.with_name(f"{classes.stem.rpartition('-')[0]}.jsa")
    taken, written = archive.with_suffix(".taken"), archive.with_suffix(".partial")
    if archive.exists() or _age(taken) < PATIENCE_S:
        return
    whole, _, _ = classes.read_text(errors="replace").rpartition("\n")  # Java may still be writing
    taken.write_text(f"{whole}\n")
    written.unlink(missing_ok=True)
    lists = [_option("SharedClassListFile", taken), _option("SharedArchiveFile", written)]
    # Java as Spark starts it, but it writes the archive in place of running anything.
    told = " ".join(["-Xshare:dump", SILENT, *lists])
    done = subprocess.run(  # noqa: S603 - Spark's own program
        [_spark_home() / "bin" / "spark-submit", "--driver-java-options", told, "pyspark-shell"],
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode == 0 and written.is_file():
        written.replace(archive)
    taken.unlink(missing_ok=True)
    classes.unlink(missing_ok=True)
    for file in archive.parent.iterdir():
        if _age(file) > KEPT_S:
            file.unlink(missing_ok=True)


def _folder() -> Path:
    return cache_folder() / "classes"


def _spark_home() -> Path:
    return Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)


def _option(name: str, path: Path) -> str:
    return f"-XX:{name}={shlex.quote(str(path))}"


def _age(file: Path) -> float:
    """Seconds since a file was written; endless where there is none."""
    try:
        return time.time() - file.stat().st_mtime
    except OSError:
        return float("inf")
