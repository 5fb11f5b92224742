"""What a database cannot hold, in a form that it can: a row is never a reason to stop a stream."""

import json
import re
from collections.abc import Callable, Collection, Mapping
from hashlib import sha256
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stretto.values.rows import Bool

REPLACED: Final = "\ufffd"
_NUL: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
_FAR: Final = r"^([+-]|0000)"
_YEAR: Final = re.compile(r"([+-]?\d+)(.*)")
KEY_BYTES: Final = 1_000
"""A third of a page, which is 8 KiB, is all that an index of PostgreSQL takes of a row."""
FIRST: Final = (4714, "-11-24")
"""The first day of PostgreSQL's times, before Christ."""


def held_by_postgres(
    rows: pa.Table, types: Mapping[str, str], key: Collection[str] = ()
) -> tuple[pa.Table, int]:
    """Texts as columns of these types take them, and in how many rows something had to be replaced.

    There is no NUL in a text or in JSON, so U+FFFD stands for it; times before those that PostgreSQL has are -infinity.
    An index takes no long texts, so that those of the key become their digests.
    """
    batches, count = [], 0
    for batch in rows.to_batches():
        changed = np.zeros(batch.num_rows, np.bool_)
        columns = []
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            form = _FORMS.get(types[name].partition(" ")[0])
            held = column if form is None else form(column, changed)
            columns.append(_short(held, changed) if name in key else held)
        batches.append(pa.RecordBatch.from_arrays(columns, schema=batch.schema))
        count += int(np.count_nonzero(changed))
    return pa.Table.from_batches(batches, rows.schema), count


def _plain(texts: Any, changed: Bool) -> Any:
    found = pc.fill_null(pc.match_substring(texts, "\0"), False)
    changed |= found.to_numpy(zero_copy_only=False)
    return pc.replace_substring(texts, "\0", REPLACED)


def _short(texts: Any, changed: Bool) -> Any:
    return _rewritten(texts, pc.greater(pc.binary_length(texts), KEY_BYTES), _digest, changed)


def _digest(text: str) -> tuple[str, bool]:
    return json.dumps({"sha256": sha256(text.encode()).hexdigest()}), True


def _json(texts: Any, changed: Bool) -> Any:
    return _rewritten(texts, pc.match_substring(texts, r"\u0000"), _without_nul, changed)


def _without_nul(text: str) -> tuple[str, bool]:
    written, count = _NUL.subn(rf"\g<1>{REPLACED}", text)
    return written, count > 0


def _time(texts: Any, changed: Bool) -> Any:
    return _rewritten(texts, pc.match_substring_regex(texts, _FAR), _in_years_of_christ, changed)


def _in_years_of_christ(text: str) -> tuple[str, bool]:
    """A time without a sign: years before 1 are counted backwards, from 1."""
    found = _YEAR.match(text)
    assert found is not None
    year, rest = int(found[1]), found[2]
    if year > 0:
        return f"{year}{rest}", False
    before = 1 - year
    is_early = before > FIRST[0] or (before == FIRST[0] and rest < FIRST[1])
    return ("-infinity", True) if is_early else (f"{before:04d}{rest} BC", False)


def _rewritten(texts: Any, which: Any, rewrite: Callable[[str], tuple[str, bool]], changed: Bool) -> Any:
    """The texts with some of them written otherwise; `changed` takes in which rows that loses something."""
    mask = pc.fill_null(which, False)
    if not mask.true_count:
        return texts
    found = [rewrite(text) for text in texts.filter(mask).to_pylist()]
    changed[mask.to_numpy(zero_copy_only=False)] |= np.array([is_lost for _, is_lost in found], np.bool_)
    return pc.replace_with_mask(texts, mask, pa.array([text for text, _ in found], texts.type))


_FORMS: Final[Mapping[str, Callable[[Any, Bool], Any]]] = {
    "text": _plain,
    "jsonb": _json,
    "timestamp": _time,
}
"""How values of a type are rewritten; those of other types stay as they are."""
