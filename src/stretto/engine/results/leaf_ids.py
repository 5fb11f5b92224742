"""The raw events behind an event of a join or of a pattern stream, as values of its columns, and back as ids."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stretto.engine.results.matches import NO_ID
from stretto.plan.leaves import Leaf
from stretto.values.rows import Column, Sets
from stretto.values.strings import Strings
from stretto.values.vector import Vector


def leaf_values(leaf: Leaf, column: Column, strings: Strings) -> Vector:
    """The ids behind a leaf: a number, or a text of several with commas between."""
    if not leaf.many:
        assert not isinstance(column, Sets)
        bound = column != NO_ID
        return Vector(column, None if bound.all() else bound)
    if not isinstance(column, Sets):
        bound = column != NO_ID
        column = Sets(np.append(0, np.cumsum(bound)), column[bound])
    texts = pa.array(column.values).cast(pa.string())
    lists = pa.ListArray.from_arrays(column.offsets.astype(np.int32), texts)
    return strings.encode(pc.binary_join(lists, ","))


def leaf_ids(leaf: Leaf, positions: Column, vector: Vector, strings: Strings) -> Column:
    """The ids of the events at some positions, or sets of positions, by the values of their leaf."""
    if not leaf.many:
        data = vector.data if vector.valid is None else np.where(vector.valid, vector.data, NO_ID)
        if not isinstance(positions, Sets):
            return data
        kept = data != NO_ID
        ends = np.append(0, np.cumsum(kept))[positions.offsets]
        return Sets(ends, data[kept])
    texts = strings.texts(vector.data, vector.valid).fill_null("")
    lists = pc.split_pattern(texts, ",")
    flat = pc.list_flatten(lists)
    said = pc.not_equal(flat, "")
    ids = flat.filter(said).cast(pa.int64()).to_numpy(zero_copy_only=False)
    counts = np.append(0, np.cumsum(np.asarray(said)))
    ends = counts[np.asarray(lists.offsets)]
    return Sets(ends[positions.offsets] if isinstance(positions, Sets) else ends, ids)
