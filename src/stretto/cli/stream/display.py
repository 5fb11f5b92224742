"""How a running stream is shown: a live table in a terminal, elsewhere a line for each busy micro-batch."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from datetime import timedelta
from typing import Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from stretto.cli.console import repeated_ids, say
from stretto.cli.garbage import among_new_objects
from stretto.records import dataclass
from stretto.screen import LINES, bytes_text, counted, shortened, visible
from stretto.spark.stream.job import RunningStream
from stretto.spark.stream.metrics import StreamMetrics
from stretto.spark.stream.versions import WorkloadWatch
from stretto.values.times import time_text

LOOK_EVERY_S = 0.5
SUMMED = ("events", "matches", "totals", "late", "rejected", "repeated", "replaced")
SHOWN_QUERIES = 20
SHOWN_MESSAGES = 3
LONGEST = 80
"""The most characters of a query's name that are shown."""


@dataclass(slots=True)
class Board:
    """The sums over the micro-batches so far, and the last of them."""

    events: int = 0
    matches: int = 0
    totals: int = 0
    late: int = 0
    rejected: int = 0
    repeated: int = 0
    replaced: int = 0
    batches: int = 0
    found: dict[str, int] = field(default_factory=dict)
    last: StreamMetrics | None = None
    refused: str = ""

    def take(self, metrics: StreamMetrics) -> None:
        """Add a micro-batch."""
        for name in SUMMED:
            setattr(self, name, getattr(self, name) + getattr(metrics, name))
        self.batches += 1
        for query, count in metrics.per_query.items():
            self.found[query] = self.found.get(query, 0) + count
        self.last = metrics

    def summary(self) -> str:
        """One line that sums up the stream."""
        return (
            f"{counted(self.events, 'event')}, {results(self.matches, self.totals)}, {self.late:,} late,"
            f" {self.rejected:,} rejected{_replaced(self.replaced)} in {counted(self.batches, 'batch')}"
        )

    def table(self) -> Table:
        """Everything at a glance: sums, the last micro-batch, and the queries that found most."""
        table = Table.grid(padding=(0, 2))
        table.add_row("events", f"{self.events:,}", "matches", f"{self.matches:,}")
        if self.totals:
            table.add_row("", "", "totals", f"{self.totals:,}")
        table.add_row("late", f"{self.late:,}", "rejected", f"{self.rejected:,}")
        if self.repeated:
            table.add_row("", "", "repeated ids", f"{self.repeated:,}")
        if self.replaced:
            table.add_row("", "", "replaced", f"{self.replaced:,}")
        last = self.last
        if last is not None:
            table.add_row("batch", f"{last.batch:,}", "took", f"{last.seconds:.1f} s")
            table.add_row("events/s", f"{last.events_per_second:,.0f}", "workload", _versions(last))
            table.add_row("watermark", when(last.watermark_us), "lag", how_long(last.lag_us))
            table.add_row("state", counted(last.state_rows, "row"), "size", bytes_text(last.state_bytes))
        return table

    def queries(self) -> Table:
        table = Table(box=None, pad_edge=False)
        table.add_column("query")
        table.add_column("matches", justify="right")
        table.add_column("last batch", justify="right")
        most = sorted(self.found.items(), key=lambda item: -item[1])
        fresh = {} if self.last is None else self.last.per_query
        for query, count in most[:SHOWN_QUERIES]:
            table.add_row(Text(_name(query)), f"{count:,}", f"{fresh.get(query, 0):,}")
        if len(most) > SHOWN_QUERIES:
            table.add_row(f"and {len(most) - SHOWN_QUERIES} more", "", "")
        return table


def line(metrics: StreamMetrics) -> str:
    """A micro-batch in one line."""
    found = ", ".join(f"{_name(query)} {count:,}" for query, count in sorted(metrics.per_query.items()))
    parts = [
        f"batch {metrics.batch}: {counted(metrics.events, 'event')}, {results(metrics.matches, metrics.totals)}"
        + (f" ({found})" if found else ""),
        f"{metrics.late:,} late, {metrics.rejected:,} rejected"
        + (f", {metrics.repeated:,} with a repeated id" if metrics.repeated else "")
        + _replaced(metrics.replaced),
        f"watermark {when(metrics.watermark_us)}",
        f"state {counted(metrics.state_rows, 'row')}, {bytes_text(metrics.state_bytes)}",
        f"workload {_versions(metrics)}",
        f"{metrics.seconds:.1f} s",
    ]
    return "; ".join(parts)


def _replaced(rows: int) -> str:
    """The number of rows with something that the sink cannot hold, if there are any."""
    return f", {rows:,} replaced" if rows else ""


def _name(query: str) -> str:
    return shortened(visible(query), LONGEST)


def results(matches: int, totals: int) -> str:
    """Matches, and totals of trends if there are any."""
    return counted(matches, "match") + (f", {counted(totals, 'total')}" if totals else "")


def when(us: int | None) -> str:
    """A time in UTC, down to the millisecond."""
    return "-" if us is None else time_text(us)[:-3]


def how_long(us: int | None) -> str:
    return "-" if us is None else str(timedelta(seconds=us // 1_000_000))


def _versions(metrics: StreamMetrics) -> str:
    return ", ".join(f"version {number}" for number in metrics.versions) or "-"


class Show(Protocol):
    """Where news of a stream goes."""

    def tell(self, message: str) -> None:
        """A message about the workload."""

    def batch(self, metrics: StreamMetrics) -> None:
        """A micro-batch that is done; the board knows it already."""


@dataclass(frozen=True, slots=True)
class Lines:
    """A line on standard error for each micro-batch with something in it."""

    quiet: bool

    def tell(self, message: str) -> None:
        say(message)

    def batch(self, metrics: StreamMetrics) -> None:
        found = metrics.events or metrics.matches or metrics.totals or metrics.late or metrics.rejected
        if not self.quiet and found:
            say(line(metrics))


@dataclass(slots=True)
class LiveTable:
    """A table that is redrawn after each micro-batch, with the last messages under it."""

    board: Board
    live: Live
    messages: list[str] = field(default_factory=list)

    def tell(self, message: str) -> None:
        self.messages = [*self.messages, message][-SHOWN_MESSAGES:]
        self._draw()

    def batch(self, metrics: StreamMetrics) -> None:  # noqa: ARG002 - the board has it
        self._draw()

    def _draw(self) -> None:
        self.live.update(
            Group(
                self.board.table(),
                self.board.queries(),
                *(Text(visible(message, LINES)) for message in self.messages),
            ),
            refresh=True,
        )


@contextmanager
def display(board: Board, *, quiet: bool) -> Iterator[Show]:
    """Shows a stream: as a live table if standard error is a terminal, else as lines."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield Lines(quiet)
        return
    with Live(console=console, auto_refresh=False) as live:
        table = LiveTable(board, live)
        table.tell("waiting for events; Ctrl-C stops the stream, the same call continues it")
        yield table


def follow(stream: RunningStream, workload: str, board: Board, *, quiet: bool) -> bool:
    """Show how a stream goes until it ends, and watch its workload file. An interrupt stops the stream.

    `board`: the sums so far, if the stream was started before.
    Returns whether the stream ended with the workload of the file, and not with a version before it.
    """
    among_new_objects()
    with display(board, quiet=quiet) as show:
        watch = WorkloadWatch(workload, stream.publisher, show.tell)
        watch.start()
        try:
            while stream.active:
                _news(stream, board, show)
                time.sleep(LOOK_EVERY_S)
            _news(stream, board, show)
        except KeyboardInterrupt:
            # Before the stream is stopped: that may take longer than an interrupt may.
            _news(stream, board, show)
            _sum_up(board)
            raise
        finally:
            watch.end()
            stream.stop()
    error = stream.failure()
    if error is not None:
        raise error
    _sum_up(board)
    return not (stream.publisher.refused or board.refused)


def _sum_up(board: Board) -> None:
    if board.repeated:
        say(repeated_ids(board.repeated))
    say(board.summary())


def _news(stream: RunningStream, board: Board, show: Show) -> None:
    """Show the micro-batches since the last look."""
    for metrics in stream.reports(-1 if board.last is None else board.last.batch):
        board.take(metrics)
        show.batch(metrics)
        if metrics.refused and metrics.refused != board.refused:
            board.refused = metrics.refused
            show.tell(
                f"the workload does not fit the stream: {metrics.refused}; the stream keeps the version before"
            )
