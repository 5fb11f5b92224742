"""Texts of data and names as they are shown: nothing that a terminal obeys, and not too long."""

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

# What moves the cursor, clears the screen, ends the line or turns the direction of writing; and halves of characters,
# which no encoding can write.
_OBEYED: Final = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
LINES: Final = "\n\t"
"""The characters that a text of several lines keeps."""


def visible(text: str, keep: str = "") -> str:
    r"""The text with escapes such as `\n` and `\x1b` for characters that a terminal obeys; those in `keep` stay.

    All data, names and texts of a workload that go to a terminal go through here. What is written to files does not.
    """
    return _OBEYED.sub(lambda found: found[0] if found[0] in keep else _escape(found[0]), text)


def as_lines(lines: Iterable[str]) -> str:
    """The lines of a text: each stays one line, whatever names and constants it holds."""
    return "\n".join(map(visible, lines))


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def shortened(text: str, most: int) -> str:
    """The text, or its first and its last part if it is longer than that."""
    if len(text) <= most:
        return text
    tail = most // 4
    return f"{text[: most - tail - 4]} .. {text[-tail:]}"


def counted(number: int, word: str) -> str:
    """`1 query`, `2 queries`, `3 matches`, `1,000 events`."""
    plural = f"{word[:-1]}ies" if word.endswith("y") else f"{word}es" if word.endswith("ch") else f"{word}s"
    return f"{number:,} {word if number == 1 else plural}"


def bytes_text(number: int) -> str:
    """Return a number of bytes in a unit that suits it: `3.5 GiB`, `12 bytes`."""
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if number >= 1 << power:
            return f"{number / (1 << power):.1f} {unit}"
    return f"{number} bytes"


def html_table(heads: Sequence[str], rows: Iterable[Sequence[object]], most: int = 300) -> str:
    """A table for a notebook; every text is escaped, and long ones are shortened."""

    def cells(tag: str, values: Sequence[object]) -> str:
        return "".join(f"<{tag}>{escape(shortened(visible(str(v)), most))}</{tag}>" for v in values)

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<table><thead><tr>{cells('th', heads)}</tr></thead><tbody>{body}</tbody></table>"
