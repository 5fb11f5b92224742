"""A disk that is full after so many bytes: files opened for writing fail as the system's do."""

import errno
import io
import os
from pathlib import Path
from typing import Any

import pytest


class FullFile(io.FileIO):
    """A file that takes no more than `room` bytes."""

    room = 0

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        if self.tell() + size > type(self).room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(data) or 0


def fill_disk(monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    """From now on every file that a Path opens for writing has so much room."""
    opened = Path.open

    def full(self: Path, mode: str = "r", *args: Any, **options: Any) -> Any:
        if "w" not in mode:
            return opened(self, mode, *args, **options)
        limited = type("Limited", (FullFile,), {"room": room})
        file = io.BufferedWriter(limited(self, "wb"))
        return file if "b" in mode else io.TextIOWrapper(file, encoding="utf-8")

    monkeypatch.setattr(Path, "open", full)
