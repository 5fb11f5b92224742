"""The bucket of an event by its key: the same for equal values, in every process and every batch."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from stretto.schema import Kind, column_of, kind_of
from stretto.values.convert import as_kind, plain
from stretto.values.hashing import LANES, U64
from stretto.values.rows import I64

LANE = LANES[0]
FACTOR = 0x100000001B3


def buckets_of(batch: pa.RecordBatch, attributes: Sequence[str], buckets: int) -> I64:
    """For each event a number below `buckets`; nulls count as one value."""
    state = np.zeros(batch.num_rows, np.uint64)
    for name in attributes:
        state = LANE.mix(state * np.uint64(LANE.step) ^ _bits(column_of(batch, name)))
    found: I64 = (state % np.uint64(buckets)).astype(np.int64)
    return found


def _bits(column: Any) -> U64:
    """64 bits per value, equal for equal values; 0 for nulls."""
    kind = kind_of(column.type)
    if kind is Kind.STRING:
        bits = _of_texts(column)
        valid = column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else None
    else:
        vector = plain(as_kind(column, kind or Kind.INT))
        valid = vector.valid
        # Zero has two signs that are equal.
        data = vector.data + 0.0 if kind is Kind.FLOAT else vector.data.astype(np.int64, copy=False)
        bits = LANE.mix(data.view(np.uint64) + np.uint64(1))
    return bits if valid is None else np.where(valid, bits, np.uint64(0))


def _of_texts(column: Any) -> U64:
    if pa.types.is_dictionary(column.type):
        if not len(column.dictionary):
            return np.zeros(len(column), np.uint64)
        indices = column.indices.fill_null(0).to_numpy(zero_copy_only=False)
        found: U64 = _of_texts(column.dictionary)[indices]
        return found
    texts = column.cast(pa.large_string())
    size = len(texts)
    _, places, content = texts.buffers()
    offsets = np.frombuffer(places, np.int64)[texts.offset : texts.offset + size + 1]
    lengths = np.diff(offsets)
    sums = LANE.mix(lengths.astype(np.uint64) + np.uint64(1))
    filled = np.flatnonzero(lengths)
    if not len(filled):
        return LANE.mix(sums)
    letters = np.frombuffer(content, np.uint8)[offsets[0] : offsets[-1]].astype(np.uint64)
    powers = np.full(int(lengths.max()), FACTOR, np.uint64)
    powers[0] = 1
    weights = np.cumprod(powers, dtype=np.uint64)
    at = np.arange(len(letters)) - np.repeat(offsets[:-1] - offsets[0], lengths)
    sums[filled] += np.add.reduceat(
        (letters + np.uint64(1)) * weights[at], (offsets[:-1] - offsets[0])[filled]
    )
    return LANE.mix(sums)
