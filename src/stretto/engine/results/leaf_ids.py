"""The raw events behind an event of a join or of a pattern stream, as values of its columns, and back as ids."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stretto.engine.results.match_chunks import NO_ID
from stretto.engine.stream.arena import Arena
from stretto.plan.front.leaves import Listing, StreamLeaf
from stretto.schema import Kind
from stretto.values.lists import flattened, list_texts
from stretto.values.rows import I64, UNBOUND, Column, Sets
from stretto.values.strings import Strings
from stretto.values.vector import Vector


def leaf_values(leaf: StreamLeaf, column: Column, strings: Strings) -> Vector:
    """The ids behind a leaf: a number, or a text of several with commas between."""
    if not leaf.many:
        assert not isinstance(column, Sets)
        bound = column != NO_ID
        return Vector(column, None if bound.all() else bound)
    if not isinstance(column, Sets):
        bound = column != NO_ID
        column = Sets(np.append(0, np.cumsum(bound)), column[bound])
    if leaf.text:
        of_texts = pa.LargeListArray.from_arrays(pa.array(column.offsets), strings.texts(column.values))
        return strings.encode(list_texts(of_texts, Kind.STRINGS))
    texts = pa.array(column.values).cast(pa.string())
    lists = pa.ListArray.from_arrays(column.offsets.astype(np.int32), texts)
    return strings.encode(pc.binary_join(lists, ","))


def leaf_ids(leaf: StreamLeaf, vector: Vector, strings: Strings) -> Sets:
    """The ids behind events, by the values of their leaf; none where that is null."""
    if not leaf.many:
        data: I64 = vector.data
        return as_sets(data if vector.valid is None else np.where(vector.valid, data, NO_ID))
    if leaf.text:
        return _text_lists(vector, strings)
    lists = pc.split_pattern(strings.texts(vector.data, vector.valid).fill_null(""), ",")
    flat = pc.list_flatten(lists)
    said = np.asarray(pc.not_equal(flat, ""))
    ids = flat.filter(pa.array(said)).cast(pa.int64()).to_numpy(zero_copy_only=False)
    return Sets(np.append(0, np.cumsum(said))[np.asarray(lists.offsets)], ids)


def _text_lists(vector: Vector, strings: Strings) -> Sets:
    """Ids that are texts, from lists of them; each distinct list is read once."""
    codes = vector.data if vector.valid is None else vector.data[vector.valid]
    distinct, place = np.unique(codes, return_inverse=True)
    lengths, ids = flattened(distinct, Kind.STRINGS, strings)
    few = Sets(np.append(0, np.cumsum(lengths)), ids.data)
    found = few.take(place.reshape(-1))
    if vector.valid is None:
        return found
    sizes = np.zeros(len(vector.data), np.int64)
    sizes[vector.valid] = found.lengths
    return Sets(np.append(0, np.cumsum(sizes)), found.values)


def listed_ids(listing: Listing, column: Column, arena: Arena, *, several: bool) -> Column:
    """What matches list of a variable, whose events are at these positions."""
    events = column if isinstance(column, Sets) else _bound(column)
    parts = [as_sets(arena.ids(events.values))] if listing.own else []
    parts += [
        leaf_ids(leaf, arena.values(leaf.column, events.values), arena.strings) for leaf in listing.leaves
    ]
    each = side_by_side(parts, len(events.values))
    found = Sets(each.offsets[events.offsets], each.values)
    if several or listing.many:
        return found
    ids = np.full(len(events.offsets) - 1, NO_ID)
    ids[found.lengths > 0] = found.values
    return ids


def side_by_side(parts: list[Sets], n: int) -> Sets:
    """Of each of `n` rows what all parts have, one part after another."""
    if len(parts) == 1:
        return parts[0]
    lengths = np.sum([part.lengths for part in parts], axis=0, dtype=np.int64)
    offsets = np.append(0, np.cumsum(lengths))
    values = np.empty(int(offsets[-1]), np.int64)
    start = offsets[:-1].copy()
    for part in parts:
        row = np.repeat(np.arange(n), part.lengths)
        values[start[row] + np.arange(len(part.values)) - part.offsets[row]] = part.values
        start += part.lengths
    return Sets(offsets, values)


def as_sets(ids: I64) -> Sets:
    """Ids as sets of one, or of none."""
    there = ids != NO_ID
    return Sets(np.append(0, np.cumsum(there)), ids[there])


def _bound(positions: I64) -> Sets:
    there = positions != UNBOUND
    return Sets(np.append(0, np.cumsum(there)), positions[there])
