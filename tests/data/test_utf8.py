"""Marking what is not UTF-8, wherever the stream is cut."""

import io

import pytest

from stretto.data.utf8 import MARK, MarkedUtf8, whole_characters


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
@pytest.mark.parametrize("text", ["plain", "ä€😀 mixed", "", "é" * 7])
def test_utf8_passes_unchanged(text: str, size: int) -> None:
    stream = MarkedUtf8(io.BytesIO(text.encode()))
    assert b"".join(iter(lambda: stream.read(size), b"")).decode() == text
    assert not stream.marked


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_other_bytes_are_marked(size: int) -> None:
    stream = MarkedUtf8(io.BytesIO(b"a\xffb\xe2\x82,\xc3\xa4\xf0\x9f"))
    found = b"".join(iter(lambda: stream.read(size), b"")).decode()
    assert found.replace(MARK + MARK, MARK) == f"a{MARK}b{MARK},ä{MARK}"
    assert stream.marked


def test_whole_characters() -> None:
    assert [whole_characters("€".encode()[:n]) for n in range(4)] == [0, 0, 0, 3]
    assert whole_characters(b"abc") == 3
    assert whole_characters(b"\x80\x80\x80\x80") == 4
