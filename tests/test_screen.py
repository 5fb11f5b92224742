"""Characters that a terminal obeys are made visible, all others stay."""

import unicodedata

import pytest

from stretto.screen import LINES, as_lines, shortened, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", r"\x1b[2J"),
        ("\x9b2J", r"\x9b2J"),
        ("a\nb\tc\rd\0", r"a\nb\tc\rd\x00"),
        ("\u202eevil\u2066", r"\u202eevil\u2066"),
        ("\u2028\x85\x7f", r"\u2028\x85\x7f"),
        ("\ud800", r"\ud800"),
        ("plain, ünï, 𝒳, \\n, 日本, zero\u200dwidth", "plain, ünï, 𝒳, \\n, 日本, zero\u200dwidth"),
        ("", ""),
    ],
)
def test_visible(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_no_control_is_left() -> None:
    every = "".join(map(chr, range(0x110000)))
    left = visible(every)
    assert not [c for c in left if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")]
    assert not [
        c
        for c in left
        if unicodedata.bidirectional(c) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
    ]
    left.encode()


def test_lines() -> None:
    assert visible("a\n\tb\x07", LINES) == "a\n\tb\\x07"
    assert as_lines(["a\nb", "c"]) == "a\\nb\nc"


def test_shortened() -> None:
    assert shortened("x" * 20, 20) == "x" * 20
    assert shortened("a" * 50 + "b" * 50, 20) == "aaaaaaaaaaa .. bbbbb"
