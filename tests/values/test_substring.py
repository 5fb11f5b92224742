"""Texts that hold another one, and what a regular expression needs: as Arrow finds them."""

from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.support.text_terms import REGEXES

from stretto.text.regular_expressions import needed_text
from stretto.values import substring, text_tests
from stretto.values.strings import Strings
from stretto.values.substring import texts_with

SIGNS = "aab é𝄞"


@pytest.mark.parametrize("seed", range(40))
def test_texts_are_found_as_arrow_finds_them(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(substring, "FEW", 0)
    rng = Random(seed)
    texts = [
        "".join(rng.choices(SIGNS, k=rng.choice((0, 0, 1, 2, 5, 9)))) for _ in range(rng.choice((0, 1, 60)))
    ]
    array = pa.array(["before", *texts], pa.large_string()).slice(1)
    for word in ("a", "ab", "aa", "é", "b a", "aab", "𝄞a", "aba b"):
        assert texts_with(array, word).tolist() == pc.match_substring(array, word).to_pylist(), (word, texts)


@pytest.mark.parametrize(
    ("pattern", "needed"),
    [
        ("net.*user -enc", "user -enc"),
        (r"a\.b+c", "a."),
        ("abc|abd", "ab"),
        ("(?i)abc", ""),
        ("(?i:abc)d", "d"),
        ("a|b", ""),
        ("[[:alpha:]]xyz", ""),
        (r"\Qa.b\E", ""),
        ("^abc$", "abc"),
        ("ab?cde", "cde"),
        ("(abc)+", ""),
    ],
)
def test_what_every_match_needs(pattern: str, needed: str) -> None:
    assert needed_text(pattern) == needed


def test_a_filter_changes_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (substring, text_tests):
        monkeypatch.setattr(module, "FEW", 0)
    monkeypatch.setattr(text_tests, "SHORT", 1)
    rng = Random(3)
    texts = pa.array(["".join(rng.choices("abcX.%Bk1\n", k=rng.choice((0, 2, 4, 7)))) for _ in range(300)])
    texts = texts.cast(pa.large_string())
    for regex in (*REGEXES, "ab.*c", "^ab", "bc$", "a[bc]k", "Xk|Xb", "b{2}", "(?s)a.*b"):
        found = np.asarray(text_tests._filtered(texts, needed_text(regex), regex))
        assert found.tolist() == pc.match_substring_regex(texts, regex).to_pylist(), regex


def test_texts_that_are_all_new_are_answered_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_tests, "FEW", 2)
    strings = Strings()
    codes = strings.encode(pa.array([f"text {i % 7}-{i}" for i in range(50)])).data
    expected = [str(i % 7).startswith("3") for i in range(50)]
    known = text_tests.KnownAnswers(lambda texts: pc.match_substring(texts, "text 3-"))
    assert known.of(codes[:20], strings).tolist() == expected[:20]
    assert known.of(codes[10:], strings).tolist() == expected[10:]  # some are known
    assert known.of(codes[::-1].copy(), strings).tolist() == expected[::-1]
