"""Order keys of texts among constants, that stay as they are when constants are added.

A constant has a label with room around it (list labelling: Itai, Konheim and Rodeh, A sparse table implementation of
priority queues, 1981); any other text has the number after the label of the greatest constant below it. So a comparison
of a text with a constant is one of numbers.
"""

from bisect import bisect_right
from collections.abc import Iterable
from typing import Final

import numpy as np

from stretto.values.rows import I64
from stretto.values.strings import Strings

BEFORE: Final = -(1 << 62)
"""The key of a text below all constants."""
AFTER: Final = 1 << 62
WIDE_STEP: Final = 1 << 32
"""What lies between labels at either end, so that constants in ascending order find room."""


class TextLabels:
    """Labels of constants, and keys of all texts of an engine."""

    def __init__(self, strings: Strings) -> None:
        self._strings = strings
        self._texts: list[str] = []
        self._labels: list[int] = []
        self._by_text: dict[str, int] = {}
        self._keys: I64 = np.zeros(0, np.int64)

    def label(self, text: str) -> int:
        """The key of a constant."""
        return self._by_text[text]

    def add(self, texts: Iterable[str]) -> bool:
        """Take constants in; True if that has changed the labels of others."""
        new = sorted(set(texts) - self._by_text.keys())
        if not new:
            return False
        known = len(self._texts)
        runs: dict[int, list[str]] = {}
        for text in new:
            runs.setdefault(bisect_right(self._texts, text), []).append(text)
        given = {text: label for at, run in runs.items() for text, label in self._between(at, run)}
        fits = len(given) == len(new)
        self._texts = sorted([*self._texts, *new])
        if fits:
            self._by_text |= given
        else:
            step = (AFTER - BEFORE) // (len(self._texts) + 1)
            self._by_text = {text: BEFORE + (i + 1) * step for i, text in enumerate(self._texts)}
        self._labels = [self._by_text[text] for text in self._texts]
        self._keys = np.zeros(0, np.int64)
        return known > 0 and not fits

    def keys(self, codes: I64) -> I64:
        """Keys of texts, given by their codes; for the arbitrary data under a null, an arbitrary key."""
        known, now = len(self._keys), len(self._strings)
        if known == 0 and now:
            self._keys = self._all_keys()
        elif known < now:
            texts = self._strings.texts(np.arange(known, now)).to_pylist()
            self._keys = np.append(self._keys, np.array([self._key(text) for text in texts], np.int64))
        return self._keys.take(codes, mode="clip") if now else np.zeros(len(codes), np.int64)

    def _between(self, at: int, run: list[str]) -> list[tuple[str, int]]:
        """Labels for texts that come before constant `at`, evenly; none if there is no room."""
        low = self._labels[at - 1] if at else BEFORE
        high = self._labels[at] if at < len(self._labels) else AFTER
        step = (high - low) // (len(run) + 1)
        if at in (0, len(self._labels)):
            step = min(step, WIDE_STEP)
        if step < 2:
            return []
        if at == 0:  # the first of all are in the middle, others before them just before
            low = high - step * (len(run) + 1) if self._labels else 0
        return [(text, low + (i + 1) * step) for i, text in enumerate(run)]

    def _all_keys(self) -> I64:
        constants = np.array([self._strings.code(text) for text in self._texts], np.int64)
        ranks = self._strings.rank(np.arange(len(self._strings)))
        own = self._strings.rank(constants)
        below = np.searchsorted(own, ranks, side="right") - 1
        labels = np.array(self._labels, np.int64)
        keys: I64 = np.where(below < 0, BEFORE, labels[below] + (own[below] != ranks))
        return keys

    def _key(self, text: str) -> int:
        below = bisect_right(self._texts, text) - 1
        if below < 0:
            return BEFORE
        return self._labels[below] + (self._texts[below] != text)
