"""The raw events behind an event of a join or of a pattern stream, as values of its columns, and back as ids.

Different derived events may list the same ids, so there are also numbers that tell events apart.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stretto.engine.results.identity import hashed
from stretto.engine.results.match_chunks import NO_ID
from stretto.engine.stream.arena import Arena
from stretto.plan.front.leaves import Listing, StreamLeaf
from stretto.schema import Kind
from stretto.values.hashing import LANES, text_hashes
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


def event_numbers(listings: Sequence[Listing], column: Column, arena: Arena) -> Sets:
    """Return a number for each event of a variable, whose events are at these positions.

    The number is a hash of the time of the event, its stream, its ids, and how many events before it agree in all of
    these. It does not depend on the position, which may change with a restart or another plan.
    """
    events = column if isinstance(column, Sets) else _bound(column)
    positions, index = np.unique(events.values, return_inverse=True)
    near, lane = arena.of_times(positions), LANES[0]
    ids = as_sets(arena.ids(near))
    # An event of its own id differs in type from others with this id; the columns of leaves are of one stream each.
    types = np.where(ids.lengths > 0, _type_hashes(arena, near), 0)
    leaves = [leaf for listing in listings for leaf in listing.leaves]
    parts = [ids, *(leaf_ids(leaf, arena.values(leaf.column, near), arena.strings) for leaf in leaves)]
    if arena.text_ids:
        parts = [Sets(part.offsets, arena.strings.hashes(part.values, lane).view(np.int64)) for part in parts]
    times = arena.values("ts", near).data.view(np.uint64)
    keys = hashed([types, *parts], times, lane)
    order = np.argsort(keys, kind="stable")
    begins = np.flatnonzero(np.append(True, keys[order][1:] != keys[order][:-1]))
    agreeing = np.empty(len(keys), np.int64)
    agreeing[order] = np.arange(len(keys)) - np.repeat(begins, np.diff(begins, append=len(keys)))
    numbers = hashed([agreeing], keys, lane).view(np.int64)
    return Sets(events.offsets, numbers[np.searchsorted(near, positions)][index.reshape(-1)])


def _type_hashes(arena: Arena, positions: I64) -> I64:
    """Hashes of the names of types, which are the same under every plan; codes are not."""
    codes, index = np.unique(arena.borrowed_types[positions - arena.base], return_inverse=True)
    names = {code: name for name, code in arena.codes.items()}
    texts = pa.array([names.get(code, "") for code in codes.tolist()], pa.string())
    hashes: I64 = text_hashes(texts, LANES[0]).view(np.int64)[index.reshape(-1)]
    return hashes


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
