"""Patterns of LIKE and regular expressions: what is wrong with them, and what they are in RE2's words."""

import re
import warnings
from functools import lru_cache
from re import _constants, _parser  # what `re.compile` reads a pattern with

import pyarrow as pa
import pyarrow.compute as pc

from stretto.json_depth import HALF_PAIR


@lru_cache(maxsize=4096)
def regex_problem(pattern: str) -> str:
    """Why RE2 does not take a regular expression; an empty text if it does."""
    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except pa.ArrowInvalid as error:
        return str(error).partition("expression: ")[2] or str(error)
    except UnicodeEncodeError:
        return f"it holds {HALF_PAIR}"
    return ""


def like_parts(pattern: str, escape: str = "") -> list[str | None]:
    """A pattern of LIKE as plain texts, with None for `%` and the empty text for `_`."""
    parts: list[str | None] = []
    plain, at = "", 0
    while at < len(pattern):
        sign = pattern[at]
        at += 1
        if sign == escape and escape:
            plain, at = plain + pattern[at], at + 1
        elif sign in "%_":
            parts += [plain] if plain else []
            parts.append(None if sign == "%" else "")
            plain = ""
        else:
            plain += sign
    return [*parts, plain] if plain else parts


def like_regex(pattern: str, escape: str = "") -> str:
    """A pattern of LIKE as a regular expression of RE2, to be found anywhere; `.` must match line ends too.

    A `%` at an end is said by the anchor that is not there: looking for what is inside is quicker than matching all.
    """
    parts = like_parts(pattern, escape)
    begins, ends = parts[:1] == [None], parts[-1:] == [None]
    inner = parts[1:] if begins else parts
    inner = inner[:-1] if ends and inner else inner
    words = {None: ".*", "": "."}
    body = "".join(words[part] if not part else quoted(part) for part in inner)
    return ("" if begins else "^") + f"(?:{body})" + ("" if ends else "$")


@lru_cache(maxsize=4096)
def needed_text(pattern: str) -> str:
    """The longest plain text that every match of a regular expression holds, as far as is easily seen; else empty.

    Python's parser reads it, which knows nearly the words of RE2: where they may differ nothing is said.
    """
    if "[[" in pattern or "[^[" in pattern:
        return ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            parsed = _parser.parse(pattern)
    except (re.error, OverflowError, RecursionError, Warning):
        return ""
    if parsed.state.flags & (re.IGNORECASE | re.VERBOSE):
        return ""
    runs = [""]
    for word, value in parsed.data:
        if word is _constants.LITERAL:
            runs[-1] += chr(value)
        else:
            runs.append("")
    return max(runs, key=len)


def quoted(text: str) -> str:
    """A text as a regular expression that only it matches, for RE2."""
    return (
        re.sub(r"([^\w])", lambda found: found[1] if ord(found[1]) > 127 else "\\" + found[1], text)
        .replace("\\\x00", r"\x00")
        .replace("\\\n", r"\n")
    )
