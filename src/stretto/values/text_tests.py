"""LIKE, MATCHES and their kin over the codes of texts: each distinct text is judged once, and the answer kept."""

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stretto.pattern.predicates import Apply, Const
from stretto.text.regular_expressions import like_parts, like_regex, needed_text
from stretto.values.rows import I64, Bool
from stretto.values.strings import Strings
from stretto.values.substring import FEW, texts_with

TESTS: Final = frozenset({"like", "ilike", "matches", "imatches", "contains", "starts_with", "ends_with"})


SHORT: Final = 3
"""A plain text of fewer characters is in too many others to be looked for first."""


def is_text_test(expr: Apply) -> bool:
    """Whether a term asks something of a text that stands in the query."""
    return expr.op in TESTS and all(isinstance(argument, Const) for argument in expr.arguments[1:])


def judge_of(expr: Apply) -> Callable[[pa.Array], pa.Array]:
    """What tells of an array of texts which of them pass; Arrow compiles a pattern once for all of them."""
    words = [str(argument.value) for argument in expr.arguments[1:] if isinstance(argument, Const)]
    text = words[0]
    match expr.op:
        case "contains":
            return lambda texts: pa.array(texts_with(texts, text))
        case "starts_with":
            return lambda texts: pc.starts_with(texts, text)
        case "ends_with":
            return lambda texts: pc.ends_with(texts, text)
        case "matches":
            return lambda texts: _filtered(texts, needed_text(text), text)
        case "imatches":
            return lambda texts: pc.match_substring_regex(texts, f"(?i:{text})")
    if expr.op == "ilike":
        return lambda texts: pc.match_substring_regex(texts, "(?is)" + like_regex(*words))
    parts = like_parts(*words)
    longest = max((part for part in parts if part), key=len, default="")
    if parts == [None, longest, None]:
        return lambda texts: pa.array(texts_with(texts, longest))
    return lambda texts: _filtered(texts, longest, "(?s)" + like_regex(*words))


def _filtered(texts: pa.Array, needed: str, regex: str) -> pa.Array:
    """Which texts match; only those that hold what every match needs are looked at."""
    if len(texts) < FEW or len(needed) < SHORT:
        return pc.match_substring_regex(texts, regex)
    found = texts_with(texts, needed)
    rows = np.flatnonzero(found)
    if len(rows) > len(texts) // 2:
        return pc.match_substring_regex(texts, regex)
    found[rows] = pc.match_substring_regex(texts.take(pa.array(rows)), regex).to_numpy(zero_copy_only=False)
    return pa.array(found)


class KnownAnswers:
    """The answers to one question about texts, by code: what was asked before is looked up."""

    def __init__(self, judge: Callable[[pa.Array], pa.Array]) -> None:
        self._judge = judge
        self._answers = np.zeros(0, np.int8)  # 0: not asked yet, 1: no, 2: yes

    def of(self, codes: I64, strings: Strings) -> Bool:
        """Which of these texts pass."""
        self._grow(len(strings))
        new = self._all_new(codes)
        if new is not None:
            answers = np.asarray(self._judge(strings.texts_of(codes)).to_numpy(zero_copy_only=False))
            np.add(answers, np.int8(1), out=self._answers[new], casting="unsafe")
            return answers
        found = self._answers[codes]
        if codes.size and not found.all():
            self._ask(codes[found == 0] if found.ndim else codes.reshape(1), strings)
            found = self._answers[codes]
        passed: Bool = found == 2
        return passed

    def _all_new(self, codes: I64) -> slice | None:
        """Where the answers of codes will stand that count on and were never asked: texts that are all different."""
        if codes.ndim != 1 or len(codes) < FEW or codes[-1] - codes[0] + 1 != len(codes):
            return None
        place = slice(int(codes[0]), int(codes[-1]) + 1)
        if self._answers[place].any() or (codes[1:] != codes[:-1] + 1).any():
            return None
        return place

    def _grow(self, size: int) -> None:
        if size > len(self._answers):
            more = np.zeros(max(size, 2 * len(self._answers)), np.int8)
            more[: len(self._answers)] = self._answers
            self._answers = more

    def _ask(self, codes: I64, strings: Strings) -> None:
        new = distinct(codes, len(strings))
        passed = self._judge(strings.texts_of(new)).to_numpy(zero_copy_only=False)
        self._answers[new] = np.where(passed, 2, 1)


def distinct(codes: I64, size: int) -> I64:
    """The different ones of codes below `size`: marked where there are many, sorted where there are few."""
    if len(codes) * 8 < size:
        return np.unique(codes)
    marks = np.zeros(size, np.bool_)
    marks[codes] = True
    return np.flatnonzero(marks)
