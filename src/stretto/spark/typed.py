"""Tables of single queries on Spark, with a column for each variable, RETURN column, label and aggregate.

What the results of each query look like stands in the schema of the DataFrame, as metadata of its column `query`. There
it lasts through filters, caches and Parquet files. It is data, and nothing of it is executed.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from stretto.data.typed import TrendColumns, match_columns, trend_columns, typed_matches, typed_totals
from stretto.engine.results.match_chunks import Output
from stretto.errors import near
from stretto.pattern.nodes import TIMES, EventField, Return
from stretto.pattern.predicates import Const
from stretto.plan.dag import Plan
from stretto.schema import Kind
from stretto.spark.errors import StrettoSparkError, at_work
from stretto.spark.packed import MATCHES, TRENDS, as_schema

KEY: Final = "stretto"
QUERY: Final = "query"
MATCH_ID: Final = "match_id"
MOST_QUERIES: Final = 2_000
"""A schema that describes more queries would be larger than is good for Spark's plans."""


def described(found: DataFrame, plan: Plan) -> DataFrame:
    """The results of a plan, with what they look like in their schema."""
    if len(plan.queries) > MOST_QUERIES:
        return found
    matches = {name: _of_output(one) for name, one in match_columns(plan).items()}
    totals = {one.query: _of_trend(one) for one in trend_columns(plan)}
    if len(matches) + len(totals) > MOST_QUERIES:
        return found
    return found.withMetadata(QUERY, {KEY: json.dumps({MATCHES: matches, TRENDS: totals})})


def _of_output(output: Output) -> dict[str, Any]:
    return {
        "variables": dict(zip(output.variables, output.kleene, strict=True)),
        "returns": [_of_return(item) for item in output.returns],
        "family": output.family,
        "text_ids": output.text_ids,
    }


def _of_return(item: Return) -> list[Any]:
    """The name and the kind of a column; of an attribute of a whole event also where it belongs."""
    part = item.part
    place = [] if part is None else [part.record, part.field, part.kind.value, part.many]
    return [item.name, item.kind.value, *place]


def _return_of(name: str, kind: str, *place: Any) -> Return:
    """What `_of_return` told."""
    part = None
    if place:
        record, field, own, many = place
        part = EventField(record, field, Kind(own), many)
    return Return(name, Const(None, Kind(kind)), Kind(kind), part=part)


def _of_trend(trend: TrendColumns) -> dict[str, Any]:
    groups = {name: kind.value for name, kind in trend.groups.items()}
    return {"groups": groups, "aggregates": dict(trend.aggregates)}


def typed_matches_of(found: DataFrame, query: str) -> DataFrame:
    """The matches of one query: match_id, its member, variables, times and RETURN columns, each with its type."""
    told = _told(found, MATCHES, query)
    variables: dict[str, bool] = told["variables"]
    returns = tuple(_return_of(*item) for item in told["returns"])
    lists = tuple(variables.values())
    output = Output(query, tuple(variables), lists, returns, told["family"], None, told["text_ids"])
    names = [MATCH_ID, *TIMES, "events", "member", "returned"]

    def typed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in batches:
            if rows.num_rows:
                yield typed_matches(rows, output).add_column(0, MATCH_ID, rows.column(MATCH_ID))

    shape = pa.schema([(MATCH_ID, pa.string()), *output.schema])
    return _mapped(found.where(F.col(QUERY) == query).select(*names), typed, shape, TIMES)


def typed_trends_of(found: DataFrame, query: str) -> DataFrame:
    """The totals of one query, a row per window and group."""
    told = _told(found, TRENDS, query)
    groups = {name: Kind(kind) for name, kind in told["groups"].items()}
    columns = TrendColumns(query, groups, told["aggregates"])
    names = [QUERY, "window_start", "window_end", "group", "name", "value", "exact"]

    def typed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in typed_totals(batches, [columns]).values():
            yield from table.to_batches()

    mine = found.where(F.col(QUERY) == query).select(*names)
    # The aggregates of a window and a group are rows of one micro-batch, and have to come to one task.
    return _mapped(
        mine.repartition("window_start", "group"), typed, columns.schema, ("window_start", "window_end")
    )


def _mapped(
    rows: DataFrame,
    typed: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]],
    shape: pa.Schema,
    times: tuple[str, ...],
) -> DataFrame:
    """The rows as a table of this shape, whose times are of the type that they have in the rows."""
    own = to_arrow_schema(rows.schema, timezone="UTC").field(times[0]).type
    zoned = own if pa.types.is_timestamp(own) else pa.timestamp("us")

    wanted = pa.schema(
        [pa.field(field.name, own if field.name in times else _zoned(field.type, zoned)) for field in shape]
    )
    plain = pa.timestamp("us")

    def mapped(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with at_work("typing the columns of results", ()):
            for batch in typed(map(_plain, batches)):
                yield as_schema(batch, wanted)

    def _plain(batch: pa.RecordBatch) -> pa.RecordBatch:
        fields = [
            pa.field(f.name, plain if f.name in times or pa.types.is_timestamp(f.type) else f.type)
            for f in batch.schema
        ]
        return as_schema(batch, pa.schema(fields))

    return rows.mapInArrow(mapped, from_arrow_schema(wanted, prefer_timestamp_ntz=True))


def _zoned(kind: pa.DataType, zoned: pa.DataType) -> pa.DataType:
    """A type in which times are of this one, those of whole events too."""
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _zoned(field.type, zoned)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(_zoned(kind.value_type, zoned))
    return zoned if pa.types.is_timestamp(kind) else kind


def _told(found: DataFrame, kind: str, query: str) -> dict[str, Any]:
    """What stands in the schema about a query; StrettoSparkError where nothing does."""
    fields = {field.name: field for field in found.schema.fields}
    text = fields[QUERY].metadata.get(KEY) if QUERY in fields else None
    if text is None:
        raise StrettoSparkError(
            "the DataFrame does not say what its queries look like: give what stretto.spark.detect or aggregate gave"
            f" (for at most {MOST_QUERIES:,} queries), or rows of it"
        )
    known: dict[str, dict[str, Any]] = json.loads(text)[kind]
    if query not in known:
        hint = near(query, known)
        there = f", {hint}" if hint else f" (there are: {', '.join(list(known)[:20]) or 'none'})"
        word = "finds matches" if kind == MATCHES else "gives totals"
        raise StrettoSparkError(f"no query `{query}` {word} here{there}")
    return known[query]
