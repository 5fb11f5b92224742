"""Returned columns as they are shown: the attributes of a whole event are one column of structs, or lists of these."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from stretto.engine.results.returned_values import arrow_array, json_array, json_lists, json_objects_of
from stretto.pattern.nodes import EventField, Return
from stretto.schema import LISTS, Kind
from stretto.values.lists import lists_of
from stretto.values.strings import Strings
from stretto.values.vector import Vector


def returned_columns(returns: Sequence[Return]) -> list[tuple[str, pa.DataType]]:
    """The columns of a result and their types."""
    return [(name, _type(items)) for name, items in _columns(returns)]


def _columns(returns: Sequence[Return]) -> Iterator[tuple[str, list[Return]]]:
    """Columns by name, with what is in each: one value, or the attributes of a whole event."""
    for key, items in groupby(
        returns, lambda item: (item.part is not None, item.part.record if item.part else item.name)
    ):
        yield key[1], list(items)


def _type(items: Sequence[Return]) -> pa.DataType:
    parts = _parts(items)
    if not parts:
        return items[0].kind.arrow
    record = pa.struct([(part.field, part.kind.arrow) for part in parts])
    return pa.list_(record) if parts[0].many else record


def _parts(items: Sequence[Return]) -> list[EventField]:
    return [item.part for item in items if item.part is not None]


def returned_arrays(
    returns: Sequence[Return], values: Sequence[Vector], strings: Strings
) -> dict[str, pa.Array]:
    """The columns of a result by name."""
    vectors = iter(values)
    found: dict[str, pa.Array] = {}
    for name, items in _columns(returns):
        arrays = [arrow_array(next(vectors), item.kind, strings) for item in items]
        parts = _parts(items)
        found[name] = _whole_events(parts, arrays) if parts else arrays[0]
    return found


def _whole_events(parts: Sequence[EventField], arrays: Sequence[Any]) -> pa.Array:
    """Attributes side by side as structs; `ts`, the first of them, is null only where nothing is bound."""
    fields = [pa.field(part.field, part.kind.arrow) for part in parts]
    nothing = arrays[0].is_null() if arrays[0].null_count else None
    if not parts[0].many:
        return pa.StructArray.from_arrays(arrays, fields=fields, mask=nothing)
    children = [_elements(one.flatten(), part.kind) for part, one in zip(parts, arrays, strict=True)]
    lengths = pc.fill_null(pc.list_value_length(arrays[0]), 0)
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths).cast(pa.int32())])
    return pa.ListArray.from_arrays(
        offsets, pa.StructArray.from_arrays(children, fields=fields), mask=nothing
    )


def _elements(values: Any, kind: Kind) -> Any:
    """Values that were kept in a list, as what they are."""
    return lists_of(values, kind) if kind in LISTS else values.cast(kind.arrow)


def nested_objects(returns: Sequence[Return], values: Sequence[Vector], strings: Strings) -> pa.Array:
    """A JSON object per row, whole events as objects in it."""
    arrays = returned_arrays(returns, values, strings)
    texts = {name: _json(arrays[name], items) for name, items in _columns(returns)}
    return json_objects_of(texts)


def _json(array: Any, items: Sequence[Return]) -> Any:
    parts = _parts(items)
    if not parts:
        return json_array(array, items[0].kind)
    structs = array.flatten() if parts[0].many else array
    fields = zip(parts, structs.flatten(), strict=True)
    texts = json_objects_of({part.field: json_array(field, part.kind) for part, field in fields})
    return json_lists(array, texts) if parts[0].many else pc.if_else(array.is_valid(), texts, "null")
