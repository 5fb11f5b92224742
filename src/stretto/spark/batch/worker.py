"""What a worker does with the events of one target: run the plan over them, and hand on what the target reports."""

import gc
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import field
from functools import cache, partial
from typing import Final, Self

import numpy as np
import pyarrow as pa

from stretto.engine.results.match_limit import check_counts
from stretto.engine.results.matches import Matches
from stretto.engine.results.undecided import Undecided
from stretto.engine.run import Engine
from stretto.plan.dag import Plan
from stretto.plan.placement.cells import ByCell
from stretto.plan.spread.spreads import ALWAYS, times_of
from stretto.plan.spread.stream_slices import Slices
from stretto.plan.spread.unseen import BatchTargets
from stretto.records import dataclass
from stretto.schema import Special
from stretto.spark.packed import (
    LATE,
    MATCHES,
    METRICS,
    REJECTED,
    TRENDS,
    OwnTypes,
    Packed,
    as_schema,
    packed_rows,
    result_arrow,
    to_payload,
)
from stretto.spark.task_memory import TaskMemory
from stretto.spark.user_functions import know_functions
from stretto.stats.sampling import in_order
from stretto.values.rows import I64, Bool
from stretto.values.times import END_OF_TIME

STEP: Final = 1 << 17
"""Events that are run at a time: what they find is handed on before the memory for it grows."""
FAR: Final = 1 << 40
"""Ids beyond are no numbers of rows."""


@dataclass(frozen=True, slots=True)
class Work:
    """A plan, and how events are read for it.

    `lateness_us`: how far behind the greatest time an event may come; None: any, events are put in order first. Events
    after `latest_us` are rejected. `max_matches`: so many matches of a query may a target report. `undecided`: whether
    matches that wait for a time after the last event are reported.
    """

    plan: Plan
    special: Special
    memory: TaskMemory = TaskMemory()
    lateness_us: int | None = None
    latest_us: int = END_OF_TIME - 1
    max_matches: int | None = None
    undecided: Undecided = "keep"


@dataclass(slots=True)
class Aside:
    """Events that a target sets apart, and the numbers of all that are counted there and of ids that come again.

    `undecided`: the number of matches by query that wait for a time after the last event, reported or not.
    """

    events: int = 0
    repeated: int = 0
    rejected: list[pa.RecordBatch] = field(default_factory=list)
    late: list[pa.RecordBatch] = field(default_factory=list)
    undecided: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Share:
    """What a target reports of all that it finds: what begins in [low, high), and is its cell's or in its slices."""

    low: int
    high: int
    shared: ByCell | Slices | None = None
    target: int = 0

    @classmethod
    def of(cls, spread: BatchTargets, target: int) -> Self:
        if isinstance(spread, Slices):
            return cls(*ALWAYS, spread, target)
        return cls(*spread.owned(target), spread if isinstance(spread, ByCell) else None, target)

    def found(self, matches: Matches, plan: Plan) -> Matches:
        """Those of some matches."""
        match self.shared:
            case ByCell() as cells:
                matches = matches.under(cells.reports(plan, self.target))
            case Slices() as slices:
                return matches.beginning(partial(slices.begin_at, self.target))
        return matches.started(self.low, self.high)

    def repeats(self, ids: I64, ts: I64) -> Bool:
        """Which events with an id that came before are counted."""
        mine: Bool = (ts >= self.low) & (ts < self.high)
        return mine if self.shared is None else mine & self.shared.repeats(self.target, ids, ts)

    def counted(self, events: pa.RecordBatch, special: Special) -> Bool:
        """Which events are counted by a target, of all that it sees; those without a time come to one target alone."""
        if self.shared is not None:
            return self.shared.counted(self.target, events, special)
        ts, timeless = times_of(events, special)
        mine: Bool = (ts >= self.low) & (ts < self.high)
        return mine if timeless is None else mine | timeless


def matches_of(
    work: Work, runs: Iterable[pa.Table], share: Share, aside: Aside, last_us: int | None = None
) -> Iterator[Matches]:
    """The matches and totals of a target's events that the target reports, as they are found.

    A run holds events in order of arrival, and ends before the next one begins: only one of them is held at a time.
    What is set apart is set apart by one target alone. `last_us`: the time of the last event of the whole input; None:
    no other target has events.
    """
    _settle()
    know_functions(work.plan.functions)
    engine: Engine | None = None
    for run in runs:
        ordered = run.unify_dictionaries()
        if work.lateness_us is None:
            ordered = in_order(ordered, work.special.ts)
        engine = engine or _engine(work, ordered, share)
        start = 0
        while start < ordered.num_rows:
            piece = ordered.slice(start, STEP)
            start += piece.num_rows
            for batch in piece.to_batches():
                before = engine.until_us
                found = engine.push(batch, latest_us=work.latest_us)
                yield found if _inside(engine, before, share) else share.found(found, work.plan)
        aside.events += _count(ordered, work.special, share)
    if engine is None:
        return
    yield from _ended(engine, work, share, aside, last_us)
    aside.repeated = engine.repeats.found
    for apart, kept in ((engine.take_rejected(), aside.rejected), (engine.take_late(), aside.late)):
        mine = (batch.filter(pa.array(share.counted(batch, work.special))) for batch in apart)
        kept.extend(batch for batch in mine if batch.num_rows)


def _ended(engine: Engine, work: Work, share: Share, aside: Aside, last_us: int | None) -> Iterator[Matches]:
    """What the end of the input decides, and the undecided matches unless they are dropped."""
    if last_us is None:
        found = engine.flush()
        aside.undecided += found.undecided
        yield share.found(found, work.plan)
        return
    yield share.found(engine.settle(last_us), work.plan)
    waited = share.found(engine.release(), work.plan)
    aside.undecided += Counter(waited.counts())
    if work.undecided == "keep":
        yield waited


def _engine(work: Work, first: pa.Table, share: Share) -> Engine:
    engine = Engine(
        work.plan,
        lateness_us=work.lateness_us or 0,
        special=work.special,
        memory_bytes=work.memory.bytes_here,
        base=_first_id(first, work.special),
        undecided=work.undecided,
    )
    engine.repeats.counts = share.repeats
    return engine


def _count(events: pa.Table, special: Special, share: Share) -> int:
    """How many of the events are counted here."""
    read = special.id if isinstance(share.shared, ByCell) else special.ts
    batches = events.select([read]).to_batches()
    return sum(int(np.count_nonzero(share.counted(batch, special))) for batch in batches)


def _inside(engine: Engine, before: int, share: Share) -> bool:
    """Whether all that was found since all events before this time had been run is surely reported here."""
    plan = engine.plan
    if share.shared is not None:
        return False
    reach = END_OF_TIME if plan.horizon_events else plan.horizon_us
    return before - reach >= share.low and engine.until_us <= share.high


@cache
def _settle() -> None:
    """Once in a process: what has been loaded stays, so that nobody needs to look for garbage in it again and again."""
    gc.collect()
    gc.freeze()


def _first_id(events: pa.Table, special: Special) -> int:
    """Where the ids begin, if they may count on from there."""
    if special.id not in events.column_names or not events.num_rows:
        return 0
    first = events.column(special.id)[0].as_py()
    return first if isinstance(first, int) and 0 <= first < FAR else 0


def rows_of(
    work: Work, runs: Iterable[pa.Table], share: Share, kind: str, own: OwnTypes, last_us: int | None = None
) -> Iterator[pa.RecordBatch]:
    """The same in the format of files of matches, or of totals, with the events' own types."""
    schema = result_arrow(kind, own)
    for matches in matches_of(work, runs, share, Aside(), last_us):
        for batch in matches.batches() if kind == MATCHES else matches.total_batches():
            yield as_schema(batch, schema)


def chunks_of(
    work: Work, runs: Iterable[pa.Table], share: Share, keep: int | None, last_us: int | None = None
) -> Iterator[pa.RecordBatch]:
    """The same as packed rows: matches and totals, or `keep` of each query and aggregate; events set apart; counts."""
    aside = Aside()
    found: Counter[str] = Counter(dict.fromkeys(work.plan.names, 0))
    kept: Counter[str] = Counter()
    kept_totals: Counter[tuple[str, str]] = Counter()
    totals = 0
    for matches in matches_of(work, runs, share, aside, last_us):
        found.update(matches.counts())
        check_counts(found, work.max_matches)
        totals += matches.totals().num_rows
        for batch in first_matches(matches, kept, keep):
            yield _packed(MATCHES, batch)
        for batch in _first_totals(matches, kept_totals, keep):
            yield _packed(TRENDS, batch)
    for kind, apart in ((REJECTED, aside.rejected), (LATE, aside.late)):
        for batch in apart:
            yield _packed(kind, batch)
    counts = {
        "events": aside.events,
        "rejected": sum(batch.num_rows for batch in aside.rejected),
        "late": sum(batch.num_rows for batch in aside.late),
        "repeated": aside.repeated,
        "matches": dict(found),
        "totals": totals,
        "undecided": dict(aside.undecided),
    }
    yield packed_rows([Packed(0, METRICS, json.dumps(counts).encode(), 1)])


def first_matches(matches: Matches, kept: Counter[str], keep: int | None) -> Iterator[pa.RecordBatch]:
    """The matches that are handed on; no more of them are formatted."""
    if keep is None:
        yield from matches.batches()
        return
    for query, count in matches.counts().items():
        if count and kept[query] < keep:
            part = next(matches.only((query,)).batches(keep)).slice(0, keep - kept[query])
            kept[query] += part.num_rows
            yield part


def _first_totals(
    matches: Matches, kept: Counter[tuple[str, str]], keep: int | None
) -> Iterator[pa.RecordBatch]:
    """The totals that are handed on; a batch holds those of one aggregate."""
    for batch in matches.total_batches():
        which = batch.column("query")[0].as_py(), batch.column("name")[0].as_py()
        part = batch if keep is None else batch.slice(0, keep - kept[which])
        kept[which] += part.num_rows
        if part.num_rows:
            yield part


def _packed(kind: str, batch: pa.RecordBatch) -> pa.RecordBatch:
    return packed_rows([Packed(0, kind, to_payload(batch), batch.num_rows)])
