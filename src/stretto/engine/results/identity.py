"""The identity of rows: hashes of what they bind, the ids of matches, and equal rows found.

A hash depends on what a row binds and on a seed, on nothing else: not on the row's place, its chunk or the process.
"""

from collections.abc import Iterator, Sequence
from hashlib import blake2b

import numpy as np
import pyarrow as pa

from stretto.engine.kernels.hash_tables import first_with_key, first_with_key_reference
from stretto.engine.memory.limits import Meter, size_of
from stretto.values.hashing import LANES, U64, Lane
from stretto.values.reduce import all_hold
from stretto.values.rows import I64, Bool, Column, Rows, Sets, concat_rows
from stretto.values.strings import Strings

FEW = 1 << 12  # rows for which a loop would not pay for its compilation
FINDING = 64  # bytes that it takes, per row, to find equal ones


def match_ids(
    columns: Sequence[Column], n: int, query: str, variables: Sequence[str], texts: Strings | None = None
) -> pa.Array:
    """32 hexadecimal digits per row: a 128-bit hash of the query, its variables and the events bound to them.

    `texts`: what the ids of events are codes of, where they are texts.
    """
    return ids_of_queries(columns, [query], np.zeros(n, np.int64), variables, texts)


def ids_of_queries(
    columns: Sequence[Column],
    queries: Sequence[str],
    of: I64,
    variables: Sequence[str],
    texts: Strings | None = None,
) -> pa.Array:
    """The same where row i is a match of `queries[of[i]]`."""
    rest = "".join(f"\0{name}" for name in variables)
    digests = b"".join(blake2b((query + rest).encode(), digest_size=16).digest() for query in queries)
    seeds = np.frombuffer(digests, ">u8").reshape(len(queries), len(LANES)).astype(np.uint64)
    words = np.empty((len(of), len(LANES)), ">u8")
    for number, lane in enumerate(LANES):
        known = columns if texts is None else [_of_texts(column, texts, lane) for column in columns]
        words[:, number] = hashed(known, seeds[of, number], lane)
    return _hexadecimal(words)


def _of_texts(column: Column, texts: Strings, lane: Lane) -> Column:
    """Hashes of texts in place of their codes."""
    if isinstance(column, Sets):
        return Sets(column.offsets, texts.hashes(column.values, lane).view(np.int64))
    return texts.hashes(column, lane).view(np.int64)


def hashed(columns: Sequence[Column], start: U64, lane: Lane) -> U64:
    """A hash per row of what the columns hold, in their order, beginning with the given state of each row."""
    state = lane.mix(start)
    for column in columns:
        if isinstance(column, Sets):
            state = _absorb(state, _set_hashes(column, lane), lane)
            state = _absorb(state, column.lengths.view(np.uint64), lane)
        else:
            state = _absorb(state, _words(column), lane)
    return state


def _absorb(state: U64, word: U64, lane: Lane) -> U64:
    return lane.mix(state * np.uint64(lane.step) + word)


def _words(ids: I64) -> U64:
    """Ids as words of 64 bits: matches may hold them in 32, and the same id has the same hash."""
    return np.ascontiguousarray(ids, np.int64).view(np.uint64)


def _set_hashes(sets: Sets, lane: Lane) -> U64:
    """Per set, the sum (modulo 2^64) of hashes of its elements, each together with its place in the set."""
    lengths = sets.lengths
    place = np.arange(len(sets.values)) - np.repeat(sets.offsets[:-1], lengths)
    salt = lane.mix(np.arange(1, int(lengths.max(initial=0)) + 1, dtype=np.uint64) * np.uint64(lane.step))
    elements = lane.mix(_words(sets.values) ^ salt[place])
    running = np.zeros(len(elements) + 1, np.uint64)
    np.cumsum(elements, out=running[1:])
    sums: U64 = running[sets.offsets[1:]] - running[sets.offsets[:-1]]
    return sums


_DIGITS = np.frombuffer("".join(f"{byte:02x}" for byte in range(256)).encode(), np.uint16)


def _hexadecimal(words: U64) -> pa.Array:
    """Each row's big-endian bytes as hexadecimal digits."""
    digits = np.ascontiguousarray(_DIGITS[words.view(np.uint8)])
    width = 2 * words.itemsize * words.shape[1]
    offsets = np.arange(len(words) + 1, dtype=np.int32) * width
    return pa.StringArray.from_buffers(len(words), pa.py_buffer(offsets), pa.py_buffer(digits))


# ---- equal rows ------------------------------------------------------------------------------------------


def once(parts: Sequence[Rows], meter: Meter) -> tuple[Rows, Bool]:
    """The rows of all parts in one piece, and which to keep so that equal rows remain once, the earliest of them."""
    # All of them in one piece, what finds equal ones, and those that are kept.
    count = sum(map(len, parts))
    meter.reserve(2 * sum(map(size_of, parts)) + FINDING * count, count)
    rows = concat_rows(parts)
    return rows, duplicates(rows.columns, rows.first)


def duplicates(columns: Sequence[Column], first: I64) -> Bool:
    """Which rows to keep so that equal rows remain once, the earliest of them; `first` is the rows' first time.

    Rows meet by a hash and are then compared exactly.
    """
    n = len(first)
    keys = hashed(columns, np.ascontiguousarray(first).view(np.uint64), LANES[0])
    earliest = first_with_key_reference(keys) if n < FEW else first_with_key(keys)
    later = np.flatnonzero(earliest != np.arange(n))
    keep = np.ones(n, np.bool_)
    if not len(later):
        return keep
    if _equal(columns, earliest[later], later).all():
        keep[later] = False
    else:  # two unequal rows have one hash
        keep[list(_repeated(columns, np.union1d(earliest[later], later)))] = False
    return keep


def _equal(columns: Sequence[Column], left: I64, right: I64) -> Bool:
    """Whether the rows left[k] and right[k] bind the same."""
    same = np.ones(len(left), np.bool_)
    for column in columns:
        if isinstance(column, Sets):
            same[same] = column.lengths[left[same]] == column.lengths[right[same]]
            ours, theirs = column.take(left[same]), column.take(right[same])
            same[same] = all_hold(ours.offsets, ours.values == theirs.values)
        else:
            same &= column[left] == column[right]
    return same


def _repeated(columns: Sequence[Column], rows: I64) -> Iterator[int]:
    """Those of the rows, looked at one by one, that equal one before."""
    seen: set[tuple[bytes, ...]] = set()
    for row in rows.tolist():
        bound = tuple(
            column.values[column.offsets[row] : column.offsets[row + 1]].tobytes()
            if isinstance(column, Sets)
            else column[row].tobytes()
            for column in columns
        )
        if bound in seen:
            yield row
        seen.add(bound)
