"""The default bound on an engine's memory: half of the memory that this machine or its cgroup has left.

A container's limit is that of its cgroup. A process past it is killed by the kernel, without a message.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

PART: Final = 2
"""An engine takes one of so many parts of what is available; the rest is for the process, its files and others."""
UNKNOWN: Final = 8 << 30
"""Taken as available where the system does not tell."""
LEAST: Final = 16 << 20
"""Memory for an engine where nothing is left: a run that needs little still ends well."""
NO_LIMIT: Final = 1 << 60
"""Version 1 of cgroups writes a number beyond this where there is no limit."""
_V2: Final = ("memory.max", "memory.current", "inactive_file")
_V1: Final = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def default_memory_bytes(engines: int = 1, root: Path = Path("/")) -> int:
    """Return the memory of one of so many engines that run on this machine at a time, each in its own process.

    `root`: the folder that holds `proc` and `sys`.
    """
    share = available_bytes(root) // PART // max(engines, 1)
    allowed = _process_limit()
    return max(share if allowed is None else min(share, allowed // PART), LEAST)


def available_bytes(root: Path = Path("/")) -> int:
    """Return the bytes that can still be used: the least of the machine's and those of each enclosing cgroup."""
    left = [*_of_machine(root), *_of_cgroups(root)]
    return max(min(left), 0) if left else UNKNOWN


def _of_machine(root: Path) -> Iterator[int]:
    """Yield what the kernel calls available, or all memory where there is no such figure."""
    for line in _lines(root / "proc/meminfo"):
        if line.startswith("MemAvailable:"):
            yield int(line.split()[1]) << 10
            return
    if "SC_PHYS_PAGES" in getattr(os, "sysconf_names", ()):
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _of_cgroups(root: Path) -> Iterator[int]:
    """Yield what is left below each limit of the process's cgroups; both versions may be mounted beside each other."""
    mount = root / "sys/fs/cgroup"
    for line in _lines(root / "proc/self/cgroup"):
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            homes, names = [mount, mount / "unified"], _V2
        elif "memory" in controllers.split(","):
            homes, names = [mount / "memory"], _V1
        else:
            continue
        for home in homes:
            # A container may see its own cgroup as the root of the mount, and yet a path of the host.
            inside = [part for part in path.split("/") if part not in ("", "..")]
            for depth in range(len(inside) + 1):
                yield from _left_in(home.joinpath(*inside[:depth]), *names)


def _left_in(folder: Path, limit_name: str, usage_name: str, cache_name: str) -> Iterator[int]:
    """Yield the limit of a cgroup without what it uses; file pages that the kernel can drop count as unused."""
    limit, usage = (_number(folder / name) for name in (limit_name, usage_name))
    if limit is None or limit >= NO_LIMIT:
        return
    cache = 0
    for line in _lines(folder / "memory.stat"):
        name, _, number = line.partition(" ")
        if name == cache_name:
            cache = int(number)
    yield limit - max((usage or 0) - cache, 0)


def _process_limit() -> int | None:
    """Return the bound on this process's address space, as Spark sets it for Python workers; None: no bound."""
    if sys.platform == "win32":
        return None
    from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit  # noqa: PLC0415 - there is none on Windows

    soft = getrlimit(RLIMIT_AS)[0]
    return None if soft == RLIM_INFINITY else soft


def _number(path: Path) -> int | None:
    """Return the number that a file holds; None where there is no such file, or it says `max`."""
    text = "".join(_lines(path)).strip()
    return int(text) if text.isdigit() else None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []
