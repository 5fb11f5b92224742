"""The typed layout of results: a table per query, a column for each variable, RETURN column, label and aggregate."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pa_json

from stretto.engine.results.matches import Output
from stretto.engine.results.returned_events import returned_columns
from stretto.pattern.nodes import TIMES, TrendQuery
from stretto.schema import Kind

WINDOW: Final = ("window_start", "window_end")
INEXACT: Final = ("AVG",)


def typed_matches(rows: pa.RecordBatch, output: Output) -> pa.RecordBatch:
    """Rows of match files, all of one query, with its own columns."""
    bound = rows.column("events")
    arrays = [
        _listed(bound, name) if is_list else pc.list_element(_listed(bound, name), 0)
        for name, is_list in zip(output.variables, output.kleene, strict=True)
    ]
    kinds = dict(returned_columns(output.returns))
    returned = _objects(rows.column("returned"), kinds) if kinds else {}
    arrays += [*(rows.column(name) for name in TIMES), *returned.values()]
    if output.family:
        arrays.insert(0, rows.column("member"))
    return pa.RecordBatch.from_arrays(
        [array.cast(f.type) for array, f in zip(arrays, output.schema, strict=True)], schema=output.schema
    )


def _listed(bound: Any, name: str) -> Any:
    """The ids of a variable by match; null where it is unbound."""
    return pc.map_lookup(bound, name, "first")


def _objects(texts: Any, kinds: Mapping[str, pa.DataType]) -> dict[str, Any]:
    """The values of JSON objects, by name; each distinct text is read once."""
    encoded = texts.dictionary_encode()
    shape = pa.schema([(name, _as_json(kind)) for name, kind in kinds.items()])
    lines = "\n".join(encoded.dictionary.to_pylist()).encode() + b"\n"
    if not len(encoded.dictionary):
        return {name: pa.nulls(len(texts), kind) for name, kind in kinds.items()}
    table = pa_json.read_json(
        pa.BufferReader(lines),
        read_options=pa_json.ReadOptions(block_size=len(lines) + 1),
        parse_options=pa_json.ParseOptions(explicit_schema=shape, unexpected_field_behavior="ignore"),
    ).combine_chunks()
    return {
        name: _from_json(table.column(name).chunk(0), kind).take(encoded.indices)
        for name, kind in kinds.items()
    }


def _as_json(kind: pa.DataType) -> pa.DataType:
    """How a value of a type stands in JSON."""
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _as_json(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(_as_json(kind.value_type))
    if pa.types.is_timestamp(kind):
        return pa.string()
    return pa.int64() if pa.types.is_duration(kind) else kind


def _from_json(values: Any, kind: pa.DataType) -> Any:
    if values.type == kind:
        return values
    mask = values.is_null() if values.null_count else None
    if pa.types.is_struct(kind):
        fields = [_from_json(one, field.type) for one, field in zip(values.flatten(), kind, strict=True)]
        return pa.StructArray.from_arrays(fields, fields=list(kind), mask=mask)
    if pa.types.is_list(kind):
        return pa.ListArray.from_arrays(values.offsets, _from_json(values.values, kind.value_type), mask=mask)
    return values.cast(kind)


def trend_schema(query: TrendQuery, kinds: Mapping[str, Kind]) -> pa.Schema:
    """The columns of a trend query's own table; counts and sums of integers are integers, null from 2^63 on."""
    return pa.schema(
        [
            *((name, pa.timestamp("us")) for name in WINDOW),
            *((name, kinds[name].arrow) for name in query.groups),
            *((one.name, _is_integer(one.function, one.kind)) for one in query.aggregates),
        ]
    )


def _is_integer(function: str, kind: Kind) -> pa.DataType:
    exact = function == "COUNT" or (kind is Kind.INT and function not in INEXACT)
    return pa.int64() if exact else pa.float64()


def typed_totals(
    batches: Iterable[pa.RecordBatch], queries: Sequence[TrendQuery], kinds: Mapping[str, Kind]
) -> dict[str, pa.Table]:
    """Totals by query, a row per window and group; the rows of a window and a group have come together."""
    found = list(batches)
    if not found:
        return {}
    rows = pa.Table.from_batches(found)
    tables = {}
    for query in queries:
        mine = rows.filter(pc.equal(rows.column("query"), query.name))
        if not mine.num_rows:
            continue
        schema = trend_schema(query, kinds)
        parts = [
            mine.filter(pc.equal(mine.column("name"), one.name)).sort_by(
                [("window_start", "ascending"), ("group", "ascending")]
            )
            for one in query.aggregates
        ]
        first = parts[0]
        labels = _objects(
            first.column("group").combine_chunks(), {name: kinds[name].arrow for name in query.groups}
        )
        columns = [first.column(name) for name in WINDOW] + [pa.chunked_array([v]) for v in labels.values()]
        columns += [
            part.column("exact" if f.type == pa.int64() else "value").cast(f.type)
            for part, f in zip(parts, list(schema)[len(columns) :], strict=True)
        ]
        tables[query.name] = pa.Table.from_arrays(columns, schema=schema)
    return tables
