"""Trend queries for Spark: random workloads with a key, and what the oracle says to them."""

import re
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
from tests.support.strategies import Sample
from tests.support.trend_comparison import assert_same_totals, rows_of

from stretto.engine.results.totals import TOTALS
from stretto.oracle.trends import Total, totals
from stretto.oracle.values import Event
from stretto.pattern.workload import Workload


def grouped(sample: Sample) -> Sample:
    """The same queries, each with `k` in its GROUP BY."""
    statements = []
    for statement in sample.text.split(";"):
        text = statement
        if "QUERY" in text and "GROUP BY" not in text:
            text = text.replace("\n  WITHIN", "\n  GROUP BY k\n  WITHIN")
        elif "QUERY" in text and not re.search(r"GROUP BY [^\n]*\bk\b", text):
            text = text.replace("GROUP BY ", "GROUP BY k, ")
        statements.append(text)
    return replace(sample, text=";".join(statements))


def expected_totals(sample: Sample, events: Sequence[Event] | None = None) -> list[Total]:
    queries = Workload.parse(sample.text).bind(sample.schema).trends
    return [total for query in queries for total in totals(query, events or sample.events)]


def assert_totals(found: pa.Table, sample: Sample, expected: Sequence[Total], about: str) -> None:
    """Fails unless a table of totals, with or without a time zone, holds what is expected."""
    queries = Workload.parse(sample.text).bind(sample.schema).trends
    times = {name: found.column(name).cast(pa.int64()).cast(pa.timestamp("us")) for name in TIMES}
    assert found.column_names == TOTALS.names
    columns = [times.get(name, found.column(name)) for name in TOTALS.names]
    plain = pa.Table.from_arrays(
        [column.cast(field.type) for column, field in zip(columns, TOTALS, strict=True)], schema=TOTALS
    )
    groups = {query.name: query.groups for query in queries}
    assert_same_totals(rows_of(plain), expected, groups, f"{about}\n{sample.text}")


TIMES = ("window_start", "window_end")
