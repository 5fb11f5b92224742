"""Engines between two micro-batches, in files of the machine that ran the last one.

An engine is a cache of what its window's events give, and can be rebuilt from them; reading it back is quicker. A file
holds the pickled engine and, apart from it, its arrays, which are mapped into memory when it is loaded. Files are named
by the run of the stream, the target and how often its state was written, so that none is ever taken for another one.
"""

import mmap
import os
import pickle
import shutil
import struct
import tempfile
from pathlib import Path
from typing import Any, Final, TypeVar

from pyspark import TaskContext

from stretto.records import dataclass
from stretto.spark.setup.private_folder import OWNER_ONLY, is_private

MAGIC: Final = b"stretto1"
ALIGNMENT: Final = 64
KEPT: Final = 4
"""Files per target: a batch writes at most two, and one that is run again needs the last of the batch before."""
QUERY_ID: Final = "sql.streaming.queryId"
RUN_ID: Final = "spark.jobGroup.id"

Kept = TypeVar("Kept")


@dataclass(frozen=True, slots=True)
class EngineCache:
    """The engines of one run of a stream in a folder of this machine; where there is no safe folder, none is kept."""

    folder: Path | None

    @classmethod
    def of_task(cls, stream: str) -> "EngineCache":
        """That of the task at work; `stream` names it where Spark does not."""
        task = TaskContext.get()
        query = (task.getLocalProperty(QUERY_ID) if task else None) or stream
        run = (task.getLocalProperty(RUN_ID) if task else None) or "run"
        return cls.at(local_folder(), query, f"{run}-{stream}")

    @classmethod
    def at(cls, base: Path, query: str, run: str) -> "EngineCache":
        """That of a run of a query below a folder; what earlier runs left behind is removed."""
        try:
            home = base / f"stretto-{os.getuid()}"
            if not is_private(home):
                return cls(None)
            folder = home / query / run
            if not folder.is_dir():
                folder.mkdir(mode=OWNER_ONLY, parents=True, exist_ok=True)
                for other in folder.parent.iterdir():
                    if other.name != run:
                        shutil.rmtree(other, ignore_errors=True)
        except OSError:
            return cls(None)
        return cls(folder)

    def store(self, target: int, counter: int, engine: object) -> int:
        """Keep an engine, or a unit, as it is after the state was written so often; gives the bytes of the file."""
        if self.folder is None:
            return 0
        path = self._path(target, counter)
        partial = path.with_suffix(f".{os.getpid()}.partial")
        try:
            size = _write(partial, engine)
            partial.replace(path)
            self._path(target, counter - KEPT).unlink(missing_ok=True)
        except OSError:  # a full disk, or a folder that was cleaned away
            partial.unlink(missing_ok=True)
            return 0
        return size

    def load(self, target: int, counter: int, kind: type[Kept]) -> Kept | None:
        """What was stored for this target and counter, if it is of this kind; None if it is not here."""
        if self.folder is None:
            return None
        try:
            engine = _read(self._path(target, counter))
        except Exception:  # noqa: BLE001 - a file that cannot be read is as good as none
            return None
        return engine if isinstance(engine, kind) else None

    def _path(self, target: int, counter: int) -> Path:
        assert self.folder is not None
        return self.folder / f"{target}-{counter}.engine"


def local_folder() -> Path:
    """The first of Spark's folders for scratch files on this machine, or the system's."""
    named = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    return Path(named) if named and Path(named).is_dir() else Path(tempfile.gettempdir())


def _write(path: Path, engine: object) -> int:
    """Magic, number of arrays, length of the pickle and of each array; then all of them, aligned."""
    buffers: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(engine, protocol=5, buffer_callback=buffers.append)
    parts = [memoryview(pickled), *(buffer.raw() for buffer in buffers)]
    with path.open("wb") as file:
        file.write(struct.pack(f"<8sq{len(parts)}q", MAGIC, len(parts), *(part.nbytes for part in parts)))
        for part in parts:
            file.write(bytes(-file.tell() % ALIGNMENT))
            file.write(part)
        return file.tell()


def _read(path: Path) -> Any:
    with path.open("rb") as file:
        # Private pages: arrays can be written to, and the file stays as it is.
        whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    magic, count = struct.unpack_from("<8sq", whole)
    if magic != MAGIC:
        raise ValueError(f"{path} holds no engine")
    sizes = struct.unpack_from(f"<{count}q", whole, 16)
    at = 16 + 8 * count
    parts: list[memoryview] = []
    for size in sizes:
        at += -at % ALIGNMENT
        if at + size > len(whole):
            raise ValueError(f"{path} is cut off")
        parts.append(whole[at : at + size])
        at += size
    return pickle.loads(parts[0], buffers=parts[1:])  # noqa: S301 - a folder that only we can write to
