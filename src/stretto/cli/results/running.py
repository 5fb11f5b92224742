"""A run from the events of a file to the files and tables of what was found."""

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Literal

import pyarrow as pa

from stretto.cli.console import is_terminal, repeated_ids, say
from stretto.cli.garbage import among_new_objects
from stretto.cli.results.layout import ResultLayout, TypedSink, typed_path
from stretto.cli.results.tables import show_counts, show_matches, show_totals
from stretto.data.files import EventFile
from stretto.data.sinks import STDOUT, Sink, ending_of, open_sink
from stretto.engine.adapt import Adaptation, AdaptOptions
from stretto.engine.results.match_rows import match_schema
from stretto.engine.results.matches import Matches
from stretto.engine.results.totals import TOTALS
from stretto.engine.results.undecided import Undecided
from stretto.engine.run import Engine
from stretto.engine.snapshot import Counts
from stretto.errors import StrettoError
from stretto.plan.dag import Plan, attributes_of
from stretto.records import dataclass
from stretto.screen import counted, visible
from stretto.values.texts import value_texts
from stretto.values.times import END_OF_TIME

SHOWN_MATCHES = 20
SHOWN_PER_QUERY = 5
SHOWN_REASONS = 3
SHOWN_TOTALS = 40
SHOWN_UNDECIDED = 20
SHOWN_PER_TOTAL = 2

Trends = Literal["none", "only", "beside"]
"""Whether a workload has trend queries: none, nothing else, or beside queries that detect."""


@dataclass(slots=True)
class FirstRows:
    """The first rows of a result, to be shown: `most` in all, and `each` of a kind."""

    most: int
    each: int
    parts: list[pa.RecordBatch] = field(default_factory=list)
    shown: Counter[str] = field(default_factory=Counter)

    @property
    def is_full(self) -> bool:
        return self.shown.total() >= self.most

    def wants(self, kind: str) -> bool:
        return not self.is_full and self.shown[kind] < self.each

    def offer(self, kind: str, batch: pa.RecordBatch) -> None:
        """Keep what is wanted of a batch whose rows are all of one kind."""
        if self.wants(kind) and batch.num_rows:
            part = batch.slice(0, min(self.most - self.shown.total(), self.each - self.shown[kind]))
            self.shown[kind] += part.num_rows
            self.parts.append(part)


class Outputs:
    """Where a run's results go: files that appear when all is done, and what is kept to be shown."""

    def __init__(
        self,
        out: str | None,
        late: str | None = None,
        rejected: str | None = None,
        trends: Trends = "none",
        layout: ResultLayout | None = None,
    ) -> None:
        self._opened: list[Sink] = []
        self.written: list[tuple[str, int]] = []
        self._out = out
        self.trends = trends
        self._layout = layout
        self._typed: dict[str, Sink] = {}
        self._held: list[pa.RecordBatch] = []
        self.matches: Sink | TypedSink | None = None
        self.totals: Sink | TypedSink | None = None
        if out is not None:
            ending_of(out)  # before names are made of it
        try:
            if layout is not None and layout.typed and out is not None:
                self._open_typed(layout, out)
            else:
                schema = match_schema(text_ids=layout is not None and layout.plan.text_ids)
                if trends != "only":
                    self.matches = self._open(_named(out, "matches", trends), schema, ("returned",))
                if trends != "none":
                    self.totals = self._open(_named(out, "trends", trends), TOTALS, ("group",))
            self.late = self._open(late)
            self.rejected = self._open(rejected)
        except BaseException:
            self.close()
            raise
        self.first = FirstRows(SHOWN_MATCHES, SHOWN_PER_QUERY)
        self.first_totals = FirstRows(SHOWN_TOTALS, SHOWN_PER_TOTAL)
        self.total_rows = 0
        self.found: Counter[str] = Counter()
        self.counts = Counts()
        self.repeated = 0
        self.undecided: Counter[str] = Counter()
        self._dropped = False
        self.reasons: list[str] = []
        self.adaptations: list[Adaptation] | None = None

    def _open_typed(self, layout: ResultLayout, out: str) -> None:
        """A file for each query, in the order of the plan."""
        for query, schema in layout.schemas().items():
            sink = self._open(typed_path(out, query), schema)
            assert sink is not None
            self._typed[query] = sink
        self.matches = TypedSink(layout.matches, self._typed)
        self.totals = TypedSink(layout.totals, self._typed)

    def _open(
        self, path: str | None, schema: pa.Schema | None = None, raw: Collection[str] = ()
    ) -> Sink | None:
        if path is None:
            return None
        sink = open_sink(path, schema, raw)
        self._opened.append(sink)
        return sink

    def begin(self, plan: Plan, events: EventFile, undecided: Undecided = "keep") -> None:
        """Take note of the queries, and tell the files of late and rejected events their columns.

        So all are there where nothing is found. `undecided`: whether undecided matches are reported.
        """
        self.found.update(dict.fromkeys(plan.names, 0))
        self._dropped = undecided == "drop"
        if self.late is not None:
            self.late.expect(events.batch_schema)
        if self.rejected is not None:
            self.rejected.expect(events.rejected_schema)

    def add(self, matches: Matches) -> None:
        """Write matches, or keep the first of them."""
        self.found.update(matches.counts())
        self.add_totals(matches.total_batches())
        if self.matches is not None:
            for batch in matches.batches():
                self.matches.write(batch)
        elif self._out is None:
            self._keep(matches)

    def add_totals(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Write totals of trends, or keep the first of them."""
        if isinstance(self.totals, TypedSink):
            found = list(batches)
            self.total_rows += sum(batch.num_rows for batch in found)
            self._held += found  # the aggregates of a window may come one by one
            return
        for batch in batches:
            self.total_rows += batch.num_rows
            if self.totals is not None:
                self.totals.write(batch)
            elif batch.num_rows:  # of one aggregate
                self.first_totals.offer(f"{batch.column('query')[0]} {batch.column('name')[0]}", batch)

    def _keep(self, matches: Matches) -> None:
        """Keep the first matches, a few of every query."""
        if not any(self.first.wants(query) for query, count in matches.counts().items() if count):
            return
        for batch in matches.batches():
            self.keep(batch)
            if self.first.is_full:
                return

    def keep(self, batch: pa.RecordBatch) -> None:
        """Keep the first of some matches of one query."""
        self.first.offer(batch.column("query")[0].as_py(), batch)

    def add_counts(
        self,
        events: int,
        rejected: int,
        late: int = 0,
        matches: Mapping[str, int] | None = None,
        repeated: int = 0,
        undecided: Mapping[str, int] | None = None,
    ) -> None:
        """Take numbers of what was found elsewhere."""
        found = matches or {}
        self.undecided.update(undecided or {})
        self.found.update(found)
        self.counts = self.counts.plus(
            events=events, late=late, rejected=rejected, matches=sum(found.values())
        )
        self.repeated += repeated

    def add_late(self, batches: list[pa.RecordBatch]) -> None:
        for batch in batches:
            if self.late is not None:
                self.late.write(batch)

    def add_rejected(self, table: pa.Table) -> None:
        """Write bad events, and keep the first reasons."""
        missing = SHOWN_REASONS - len(self.reasons)
        self.reasons += table["reason"].slice(0, max(0, missing)).to_pylist()
        if self.rejected is not None:
            for batch in table.to_batches():
                self.rejected.write(batch)

    def show(self) -> None:
        """The table of the first matches and the counts, and one line that sums up."""
        on_stdout = self._out != STDOUT
        if self._out is None:
            if self.trends != "only":
                readers = {} if self._layout is None else self._layout.readers()
                show_matches(self.first.parts, self.found.total(), readers)
                show_counts(self.found, +self.undecided)
            if self.trends != "none":
                show_totals(self.first_totals.parts, self.total_rows)
        if self.reasons and self.rejected is None:
            more = self.counts.rejected - len(self.reasons)
            for reason in self.reasons:
                say(f"rejected: {visible(reason)}")
            if more > 0:
                say(f"rejected: and {more:,} more (--rejected PATH keeps them)")
        if self.repeated:
            say(repeated_ids(self.repeated))
        for line in undecided_lines(+self.undecided, dropped=self._dropped):
            say(line)
        if self.adaptations is not None:
            others = sum(adaptation.switched for adaptation in self.adaptations)
            say(
                f"planned again {counted(len(self.adaptations), 'time')}, {counted(others, 'time')} to another plan"
            )
        counts = self.counts
        found = [] if self.trends == "only" else [counted(counts.matches, "match")]
        found += [] if self.trends == "none" else [counted(self.total_rows, "total")]
        line = (
            f"{counted(counts.events, 'event')}, {', '.join(found)}, {counts.late:,} late,"
            f" {counts.rejected:,} rejected"
        )
        print(line, file=sys.stdout if on_stdout else sys.stderr)
        for path, rows in self.written:
            say(f"wrote {visible(path)}: {counted(rows, 'row')}")

    def finish(self) -> None:
        """Finish all files and give them their names."""
        if isinstance(self.totals, TypedSink):
            self.totals.write_all(self._held)
        for sink in self._opened:
            sink.close()
        self.written += [(sink.path, sink.rows) for sink in self._opened if sink.path != STDOUT]
        self._opened = []

    def close(self) -> None:
        """Drop the files that are not finished."""
        for sink in self._opened:
            sink.abort()
        self._opened = []


def undecided_lines(undecided: Mapping[str, int], *, dropped: bool) -> Iterator[str]:
    """Yield what is said of matches that wait for a time after the last event: why, and how many each query has."""
    if not undecided:
        return
    total = counted(sum(undecided.values()), "match")
    done = "left out" if dropped else "reported all the same; --undecided drop leaves them out"
    yield f"undecided: {total} would be certain only at a time after the last event: {done}"
    commonest = sorted(undecided.items(), key=lambda one: -one[1])
    for query, count in commonest[:SHOWN_UNDECIDED]:
        yield f"undecided: {visible(query)} {count:,}"
    if len(commonest) > SHOWN_UNDECIDED:
        yield f"undecided: and {counted(len(commonest) - SHOWN_UNDECIDED, 'more query')}"


def trends_of(plan: Plan) -> Trends:
    if plan.trends is None:
        return "none"
    return "beside" if plan.queries else "only"


def _named(out: str | None, kind: str, trends: Trends) -> str | None:
    """The file of matches or of totals: of both `NAME.matches.EXT` and `NAME.trends.EXT`."""
    if out is None or trends != "beside":
        return out
    if out == STDOUT:
        raise StrettoError(
            "the workload has matches and totals of trends: write them to files; standard output takes only one kind"
        )
    path = Path(out)
    return str(path.with_name(f"{path.stem}.{kind}{path.suffix}"))


@dataclass(frozen=True, slots=True)
class RunLimits:
    """The most memory, how late an event may come (None: any), the latest time it may have, and the most matches of a
    query (None: any).

    `undecided`: whether matches that wait for a time after the last event are reported.
    """

    memory_bytes: int | None = None
    lateness_us: int | None = None
    latest_us: int = END_OF_TIME - 1
    max_matches: int | None = None
    undecided: Undecided = "keep"


def find(
    plan: Plan,
    source: EventFile,
    outputs: Outputs,
    limits: RunLimits,
    *,
    batch: int,
    quiet: bool,
    adapt: AdaptOptions | bool = False,
) -> None:
    """Run a plan over all events of a file."""
    events = source.select(attributes_of(plan))
    engine = Engine(
        plan,
        lateness_us=limits.lateness_us or 0,
        memory_bytes=limits.memory_bytes,
        special=source.special,
        adapt=adapt,
        undecided=limits.undecided,
        max_matches=limits.max_matches,
    )
    outputs.begin(plan, events, limits.undecided)
    among_new_objects()

    def finish(found: Iterable[Matches]) -> None:
        for matches in found:
            outputs.add(matches)
            del matches
        outputs.add_late(engine.take_late())
        bad = [as_texts(part, events) for part in engine.take_rejected()]
        outputs.add_rejected(pa.concat_tables([events.take_rejected(), *bad]))
        read, counts = events.rejected, engine.counts
        outputs.counts = counts.plus(events=read, rejected=read)

    with progress(source.rows, quiet=quiet) as advance:
        for piece in events.batches(batch):
            finish(engine.pushing(piece, latest_us=limits.latest_us))
            advance(outputs.counts)
        finish(engine.flushing())
        advance(outputs.counts)
    outputs.repeated = engine.repeats.found
    outputs.undecided = engine.undecided
    outputs.adaptations = engine.adaptations if adapt else None


def as_texts(batch: pa.RecordBatch, events: EventFile) -> pa.Table:
    """Bad events of the engine in the shape of those that could not be read."""
    shape = events.rejected_schema
    have = dict(zip(batch.schema.names, batch.columns, strict=True))
    none = pa.nulls(batch.num_rows, pa.string())
    columns = [value_texts(have[name]) if name in have else none for name in shape.names]
    return pa.Table.from_arrays(columns, schema=shape)


@contextmanager
def progress(total: int | None, *, quiet: bool) -> Iterator[Callable[[Counts], None]]:
    """A bar on standard error, if that is a terminal; yields what moves it on."""
    if quiet or not is_terminal(sys.stderr):
        yield lambda _: None
        return
    from stretto.cli.results.terminal import bar_of

    with bar_of(total) as moved:
        yield moved
