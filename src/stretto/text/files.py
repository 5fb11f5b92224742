"""Texts from files."""

from pathlib import Path

from stretto.errors import StrettoError


def read_text(path: str | Path, what: str) -> str:
    """The text of a file; the error names the file and says what it should hold."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise StrettoError(f"{path}: the {what} is not UTF-8 text (at byte {error.start})") from None
    except OSError as error:
        raise StrettoError(f"{path}: the {what} cannot be read: {error.strerror}") from None
