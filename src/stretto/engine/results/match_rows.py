"""Matches as Arrow rows: a column per variable, or those of match files."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from stretto.engine.results.identity import ids_of_queries, match_ids
from stretto.engine.results.match_chunks import NO_ID, MatchChunk, Output
from stretto.engine.results.returned_events import nested_objects, returned_arrays
from stretto.engine.results.returned_values import json_objects
from stretto.values.rows import Bool, Column, Sets, spread
from stretto.values.strings import Strings

SCHEMA: Final = pa.schema(
    [
        ("query", pa.string()),
        ("match_id", pa.string()),
        ("start", pa.timestamp("us")),
        ("end", pa.timestamp("us")),
        ("detected", pa.timestamp("us")),
        ("events", pa.map_(pa.string(), pa.list_(pa.int64()))),
        ("member", pa.string()),
        ("returned", pa.string()),
    ]
)
"""The columns of match files, where ids are integers."""


def match_schema(*, text_ids: bool) -> pa.Schema:
    """The columns of match files; ids as the data has them."""
    if not text_ids:
        return SCHEMA
    at = SCHEMA.get_field_index("events")
    return SCHEMA.set(at, pa.field("events", pa.map_(pa.string(), pa.list_(pa.string()))))


def typed_rows(output: Output, chunk: MatchChunk) -> pa.RecordBatch:
    returned = returned_arrays(output.returns, chunk.returned, chunk.strings).values()
    texts = chunk.strings if output.text_ids else None
    arrays = [*(_ids(column, texts) for column in chunk.ids), *_times(chunk), *returned]
    if output.family:
        arrays.insert(0, _members(chunk))
    return pa.RecordBatch.from_arrays(arrays, schema=output.schema)


def file_rows(output: Output, chunk: MatchChunk) -> pa.RecordBatch:
    n, routed, names = len(chunk), chunk.routed, output.variables
    texts = chunk.strings if output.text_ids else None
    if routed is None:
        queries = pa.repeat(pa.scalar(output.query, pa.string()), n)
        ids = match_ids(chunk.ids, n, output.query, names, texts)
    else:
        queries = routed.members.queries(routed.firsts)
        numbers, of = np.unique(routed.firsts, return_inverse=True)
        ids = ids_of_queries(chunk.ids, routed.members.identities(numbers), of, names, texts)
    arrays = [
        queries,
        ids,
        *_times(chunk),
        _events(output.variables, chunk, texts),
        _members(chunk),
        _returned(output, chunk),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=match_schema(text_ids=output.text_ids))


def _members(chunk: MatchChunk) -> pa.Array:
    """The key of each match's row; null where the query is for none."""
    routed = chunk.routed
    return pa.nulls(len(chunk), pa.string()) if routed is None else routed.members.texts(routed.firsts)


def _returned(output: Output, chunk: MatchChunk) -> pa.Array:
    """A JSON object per match; null where nothing is returned."""
    if not output.returns:
        return pa.nulls(len(chunk), pa.string())
    if any(item.part is not None for item in output.returns):
        return nested_objects(output.returns, chunk.returned, chunk.strings)
    names, kinds = [item.name for item in output.returns], [item.kind for item in output.returns]
    return json_objects(names, kinds, chunk.returned, chunk.strings)


def _times(chunk: MatchChunk) -> list[pa.Array]:
    return [pa.array(times).view(pa.timestamp("us")) for times in (chunk.start, chunk.end, chunk.detected)]


def _ids(column: Column, texts: Strings | None) -> pa.Array:
    unbound = ~_bound(column)
    mask = pa.array(unbound) if unbound.any() else None
    if isinstance(column, Sets):
        values = pa.array(column.values) if texts is None else texts.texts(column.values)
        return pa.ListArray.from_arrays(column.offsets.astype(np.int32), values, mask=mask)
    if texts is not None:
        return texts.texts(column, None if mask is None else ~unbound)
    return pa.array(column, mask=None if mask is None else unbound)


def _bound(column: Column) -> Bool:
    bound: Bool = column.lengths > 0 if isinstance(column, Sets) else column != NO_ID
    return bound


def _events(variables: Sequence[str], chunk: MatchChunk, texts: Strings | None) -> pa.Array:
    """A map per match from its bound variables, in their order, to the lists of their ids."""
    n = len(chunk)
    bound = np.stack([_bound(column) for column in chunk.ids], axis=1)
    lengths = np.stack(
        [c.lengths if isinstance(c, Sets) else np.ones(n, np.int64) for c in chunk.ids], axis=1
    )
    ends = np.cumsum(np.where(bound, lengths, 0)).reshape(bound.shape)
    starts = ends - lengths
    ids = np.empty(int(ends[-1, -1]) if n else 0, np.int64)
    for number, column in enumerate(chunk.ids):
        if isinstance(column, Sets):
            ids[spread(starts[:, number], column.lengths, column.offsets)] = column.values
        else:
            there = bound[:, number]
            ids[starts[there, number]] = column[there]
    lists = pa.ListArray.from_arrays(
        np.append(0, ends[bound]).astype(np.int32), pa.array(ids) if texts is None else texts.texts(ids)
    )
    names = pa.array(variables, pa.string()).take(pa.array(np.nonzero(bound)[1]))
    offsets = np.append(0, np.cumsum(bound.sum(axis=1))).astype(np.int32)
    return pa.MapArray.from_arrays(offsets, names, lists)
