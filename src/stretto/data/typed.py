"""The typed layout of results: a table per query, a column for each variable, RETURN column, label and aggregate."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pa_json

from stretto.engine.live_plan import outputs_of
from stretto.engine.results.match_chunks import Output
from stretto.engine.results.returned_events import returned_columns
from stretto.pattern.nodes import TIMES, TrendQuery
from stretto.plan.dag import Plan
from stretto.records import dataclass
from stretto.schema import Kind

WINDOW: Final = ("window_start", "window_end")
INEXACT: Final = ("AVG",)


def match_columns(plan: Plan) -> dict[str, Output]:
    """What the matches of a plan look like, by the query that they are shown under."""
    found: dict[str, Output] = {}
    for one in outputs_of(plan):
        names = None if one.members is None else one.members.names
        if names is None:
            found[one.shown] = one
        else:  # queries that are alike up to constants: each has its own name, and none a member
            for name in names.to_pylist():
                found[name] = replace(one, query=name, family=False, members=None)
    return found


def trend_columns(plan: Plan) -> "list[TrendColumns]":
    """What the totals of a plan look like."""
    found = () if plan.trends is None else plan.trends.queries
    return [TrendColumns.of(query, plan.columns) for query in found]


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


@dataclass(frozen=True, slots=True)
class TrendColumns:
    """The columns of a trend query's own table: the kinds of its GROUP BY, and of each aggregate whether it is an
    integer. Counts and sums of integers are; they are null from 2^63 on.
    """

    query: str
    groups: Mapping[str, Kind]
    aggregates: Mapping[str, bool]

    @classmethod
    def of(cls, query: TrendQuery, kinds: Mapping[str, Kind]) -> Self:
        exact = {
            one.name: one.function == "COUNT" or (one.kind is Kind.INT and one.function not in INEXACT)
            for one in query.aggregates
        }
        return cls(query.name, {name: kinds[name] for name in query.groups}, exact)

    @property
    def schema(self) -> pa.Schema:
        return pa.schema(
            [
                *((name, pa.timestamp("us")) for name in WINDOW),
                *((name, kind.arrow) for name, kind in self.groups.items()),
                *((name, pa.int64() if exact else pa.float64()) for name, exact in self.aggregates.items()),
            ]
        )


def typed_totals(batches: Iterable[pa.RecordBatch], queries: Sequence[TrendColumns]) -> dict[str, pa.Table]:
    """Totals by query, a row per window and group; the rows of a window and a group have come together."""
    found = list(batches)
    if not found:
        return {}
    rows = pa.Table.from_batches(found)
    tables = {}
    for query in queries:
        mine = rows.filter(pc.equal(rows.column("query"), query.query))
        if not mine.num_rows:
            continue
        parts = {
            name: mine.filter(pc.equal(mine.column("name"), name)).sort_by(
                [("window_start", "ascending"), ("group", "ascending")]
            )
            for name in query.aggregates
        }
        first = next(iter(parts.values()))
        labels = _objects(
            first.column("group").combine_chunks(), {name: kind.arrow for name, kind in query.groups.items()}
        )
        columns = [first.column(name) for name in WINDOW] + [pa.chunked_array([v]) for v in labels.values()]
        columns += [
            part.column("exact" if query.aggregates[name] else "value") for name, part in parts.items()
        ]
        schema = query.schema
        tables[query.query] = pa.Table.from_arrays(
            [column.cast(f.type) for column, f in zip(columns, schema, strict=True)], schema=schema
        )
    return tables
