"""How a run's results are laid out in files: rows of all queries, or a table of its own for each."""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from stretto.data.sinks import Sink
from stretto.data.typed import match_columns, trend_columns, typed_matches, typed_totals
from stretto.engine.results.python_values import reader_of
from stretto.errors import StrettoError
from stretto.plan.dag import Plan
from stretto.records import dataclass

Tables = Mapping[str, pa.Table]


def typed_path(out: str, query: str) -> str:
    """The file of a query: `NAME.QUERY.EXT`, with a sign in place of what file names do not take."""
    path, name = Path(out), re.sub(r"[^-.\w]", "_", query)
    return str(path.with_name(f"{path.stem}.{name}{path.suffix}"))


@dataclass(frozen=True, slots=True)
class ResultLayout:
    """The layout of a plan's results; `typed`: a table for each query."""

    plan: Plan
    typed: bool = False

    def schemas(self) -> dict[str, pa.Schema]:
        """The columns of each query's own table."""
        found = {query: one.schema for query, one in match_columns(self.plan).items()}
        found |= {trend.query: trend.schema for trend in trend_columns(self.plan)}
        files = [typed_path("m.x", query) for query in found]
        if len(set(files)) < len(files):
            raise StrettoError("--layout typed: two queries would have one file; rename one of them")
        return found

    def readers(self) -> dict[str, Callable[[str | None], dict[str, Any]]]:
        """What reads the JSON of what each query returned."""
        return {query: reader_of(one.returns) for query, one in match_columns(self.plan).items()}

    def matches(self, batches: Iterable[pa.RecordBatch]) -> Tables:
        """Rows of match files by query; a batch may hold several queries."""
        outputs, found = match_columns(self.plan), dict[str, list[pa.RecordBatch]]()
        for batch in batches:
            for query in batch.column("query").unique().to_pylist():
                mine = batch.filter(pa.compute.equal(batch.column("query"), query))
                found.setdefault(query, []).append(typed_matches(mine, outputs[query]))
        return {query: pa.Table.from_batches(parts) for query, parts in found.items()}

    def totals(self, batches: Iterable[pa.RecordBatch]) -> Tables:
        """Rows of totals by query; those of a window and a group come together."""
        return typed_totals(batches, trend_columns(self.plan))


@dataclass(frozen=True, slots=True)
class TypedSink:
    """Takes rows of all queries and writes each query's own."""

    split: Callable[[Iterable[pa.RecordBatch]], Tables]
    sinks: Mapping[str, Sink]

    def write(self, batch: pa.RecordBatch) -> None:
        self.write_all([batch])

    def write_all(self, batches: Iterable[pa.RecordBatch]) -> None:
        for query, table in self.split(batches).items():
            for part in table.to_batches():
                self.sinks[query].write(part)
