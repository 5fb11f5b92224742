"""Files that get their names when they are complete; until then they have a hidden name in the same folder."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_UNFINISHED: set[Path] = set()


def drop_unfinished() -> None:
    """Remove the files of this process that have no name yet: it ends without closing them."""
    for path in list(_UNFINISHED):
        with suppress(OSError):
            path.unlink(missing_ok=True)


class PartialFile:
    """A file that is being written: `finish` gives it its name, `drop` leaves nothing behind.

    Pipes and devices are written at once. Every OSError names the file, and not the hidden one.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        self._place = Path(path)
        self._temporary: Path | None = None
        if not self._place.exists() or self._place.is_file():
            self._place = self._place.resolve()  # through a link, so that the link stays one
            hidden = f".{self._place.name[:40]}.{secrets.token_hex(4)}.partial"
            self._temporary = self._place.with_name(hidden)
        with self.named():
            self.stream: BinaryIO = (self._temporary or self._place).open("wb")
        if self._temporary is not None:
            _UNFINISHED.add(self._temporary)

    def finish(self) -> None:
        """Give it its name. What is held back is written now; if that fails, nothing is left behind."""
        try:
            with self.named():
                self.stream.close()
                if self._temporary is not None:
                    self._temporary.replace(self._place)
                    _UNFINISHED.discard(self._temporary)
        except BaseException:
            self.drop()
            raise

    def drop(self) -> None:
        """Leave nothing behind; a file that was there before stays as it was."""
        with suppress(OSError):  # closing writes what is held back, and may fail as the writing did
            self.stream.close()
        if self._temporary is not None:
            self._temporary.unlink(missing_ok=True)
            _UNFINISHED.discard(self._temporary)

    @contextmanager
    def named(self) -> Iterator[None]:
        """Errors of the system that come out of here name the file."""
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OSError(error.errno, error.strerror or str(error), self.path) from error


def write_text(path: str | Path, text: str) -> None:
    """A text as a whole file, in UTF-8."""
    file = PartialFile(path)
    try:
        with file.named():
            file.stream.write(text.encode())
        file.finish()
    except BaseException:
        file.drop()
        raise
