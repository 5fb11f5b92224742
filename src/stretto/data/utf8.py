"""Bytes that claim to be UTF-8: what is not UTF-8 is marked, so that readers do not fail on it."""

import codecs
import io
from typing import Any

MARK = "\uffff"  # no character: it never stands in a text
_MARKED = "stretto.marked"

codecs.register_error(_MARKED, lambda error: (MARK, getattr(error, "end", 0)))


class MarkedUtf8(io.RawIOBase):
    """A stream of bytes in which every sequence that is not UTF-8 is replaced by MARK; `marked` says if any was."""

    def __init__(self, raw: Any) -> None:
        super().__init__()
        self._raw = raw
        self._held = b""
        self.marked = False

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """About `size` bytes; none only at the end."""
        while True:
            fresh = self._raw.read(size)
            data = self._held + fresh
            cut = whole_characters(data) if fresh else len(data)
            data, self._held = data[:cut], data[cut:]
            if data or not fresh:
                return self._checked(data)

    def _checked(self, data: bytes) -> bytes:
        try:
            data.decode()
        except UnicodeDecodeError:
            self.marked = True
            return data.decode(errors=_MARKED).encode()
        return data


def whole_characters(data: bytes) -> int:
    """How many bytes are left without a character that is cut off at the end."""
    for back in range(1, min(3, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:
            break
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return len(data) - back if length > back else len(data)
    return len(data)
