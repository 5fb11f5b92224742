"""Events that an engine keeps, as Arrow batches."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from stretto.engine.arena import Block
from stretto.engine.returned import arrow_array
from stretto.schema import Kind, Special
from stretto.values.strings import Strings


def to_arrow(
    block: Block, codes: Mapping[str, int], kinds: Mapping[str, Kind], special: Special, strings: Strings
) -> pa.RecordBatch:
    """A block with the attributes of these kinds; events of a type without a code get a name that no type has."""
    names = {code: name for name, code in codes.items()}
    other = "other"
    while other in codes:
        other += "_"
    words = pa.array([names.get(code, other) for code in range(len(names) + 1)])
    columns: dict[str, pa.Array] = {
        special.ts: pa.array(block.ts).view(pa.timestamp("us")),
        special.type: pa.DictionaryArray.from_arrays(pa.array(block.types), words),
        special.id: pa.array(np.asarray(block.ids, np.int64)),
    }
    for name, kind in kinds.items():
        if name not in columns:
            columns[name] = arrow_array(block.attributes[name], kind, strings)
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
