"""How deeply JSON text is nested, counted before a parser sees the text: parsers recurse, and deep text kills them."""

import json
import re
from typing import Any, Final

import numpy as np

DEEPEST: Final = 100
"""The most objects and lists around a value."""
TOO_DEEP: Final = f"nested more than {DEEPEST} levels deep"
HALF_PAIR: Final = "half of a surrogate pair"
HALF: Final = (
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F]"
)
"""Regular expression of half of a surrogate pair, in JSON text without doubled backslashes."""

# Outside of strings a byte counts as it stands. A string that is not closed ends with its line.
_STRING: Final = re.compile(rb'"(?:[^"\\\n]|\\.)*+"?')
_HALF: Final = re.compile(HALF.encode())
_NEWLINE, _RETURN, _OPEN, _CLOSE = b"\n\r{}"


def load_json(text: str | bytes) -> Any:
    """Parse JSON text. Raise ValueError where it is no JSON, nested too deeply, or holds half of a surrogate pair."""
    data = text.encode() if isinstance(text, str) else text
    if too_deep_at(data) is not None:
        raise ValueError(TOO_DEEP)
    if has_half_pair(data):
        raise ValueError(f"it holds {HALF_PAIR}, which is not Unicode text")
    return json.loads(data.decode())


def too_deep_at(data: bytes) -> int | None:
    """Return the 1-based line of the first bracket that is nested too deeply; None where no bracket is.

    The text is read as one stream, as parsers read it: lists and objects may go on in the next line.
    """
    if data.count(b"[") + data.count(b"{") <= DEEPEST:
        return None
    codes = np.frombuffer(_STRING.sub(b"", data), np.uint8)
    folded = codes & 0xDF  # lists and objects have the same codes, but for this bit
    opens = folded == ord("[")
    brackets = np.flatnonzero(opens | (folded == ord("]")))
    depth = np.cumsum(np.where(opens[brackets], 1, -1))
    deep = brackets[depth > DEEPEST]
    return 1 + int(np.count_nonzero(codes[: deep[0]] == _NEWLINE)) if len(deep) else None


def has_half_pair(data: bytes) -> bool:
    """Whether JSON text has an escape that is half of a surrogate pair."""
    # Without doubled backslashes, a backslash before `u` begins an escape.
    return b"\\" in data and _HALF.search(data.replace(b"\\\\", b"")) is not None


def is_flat(data: bytes) -> bool:
    """Return whether a parser may read these lines as one stream of objects, none nested too deeply.

    `data` ends with a newline. Every line must begin with `{`: Arrow ends the process where the first value is null.
    Strings are looked at only where a line has many brackets. Lines that also end with `}` cannot add up: if one
    leaves a list or a string open, then the first byte of the next line is an error.
    """
    codes = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(codes == _NEWLINE)
    starts = np.append(0, ends[:-1] + 1)
    others = np.flatnonzero(codes[starts] != _OPEN).tolist()
    if not all(data[starts[line] : ends[line]].lstrip().startswith(b"{") for line in others):
        return False
    last = codes[np.maximum(ends - 1, 0)]
    if (last == _RETURN).any():
        last = np.where(last == _RETURN, codes[np.maximum(ends - 2, 0)], last)
    if (last == _CLOSE).all():
        opened = np.flatnonzero((codes & 0xDF) == ord("["))
        if len(opened) <= DEEPEST:
            return True
        lines = np.searchsorted(ends, opened)
        if not (lines[DEEPEST:] == lines[:-DEEPEST]).any():
            return True
    return too_deep_at(data) is None
