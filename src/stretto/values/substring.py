"""Which texts hold another one: the rule of the bad character (Horspool, Practical fast searching in strings, 1980).

All texts lie one behind the other, so they are searched as one; of what is found, what crosses the end of a text is
none. A word of ten letters is looked for in about a tenth of the steps that there are bytes.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from stretto.values.loops import loop
from stretto.values.rows import I64, Bool

Bytes = npt.NDArray[np.uint8]

FEW = 1 << 16
"""Texts for which a loop would not pay for its compilation."""


@loop
def holding(data: Bytes, offsets: I64, word: Bytes) -> Bool:  # pragma: no cover - compiled
    """Which of the texts data[offsets[i]:offsets[i + 1]] hold the word, which has at least one byte."""
    n, size = offsets.shape[0] - 1, word.shape[0]
    found = np.zeros(n, np.bool_)
    skip = np.full(256, size, np.int64)
    for i in range(size - 1):
        skip[word[i]] = size - 1 - i
    last = word[size - 1]
    text = 0
    at = offsets[0] + size - 1  # where the end of the word is laid
    stop = offsets[n]
    while at < stop:
        sign = data[at]
        if sign == last:
            start = at - size + 1
            same = True
            for i in range(size - 1):
                if data[start + i] != word[i]:
                    same = False
                    break
            if same:
                while offsets[text + 1] <= start:
                    text += 1
                if at < offsets[text + 1]:
                    found[text] = True
                    at = offsets[text + 1] + size - 1
                    continue
        at += skip[sign]
    return found


def texts_with(texts: pa.Array, word: str) -> Bool:
    """Which of an array of texts, none of them null, hold a word."""
    if len(texts) < FEW or not word:
        return np.asarray(pc.match_substring(texts, word).to_numpy(zero_copy_only=False), np.bool_)
    large = texts.cast(pa.large_string())
    _, places, data = large.buffers()
    offsets = np.frombuffer(places, np.int64)[large.offset : large.offset + len(large) + 1]
    bits = np.frombuffer(data if data is not None and len(data) else b"\0", np.uint8)
    return np.asarray(holding(bits, offsets, np.frombuffer(word.encode(), np.uint8)))
