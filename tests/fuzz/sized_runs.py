"""One run of a workload in one way: an engine, or several in turn, over a stream, and what was found of each query."""

import pickle
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from tests.fuzz.exact_rows import Row, difference, rows_of, table_of
from tests.fuzz.sized_streams import Sized
from tests.fuzz.ways import LATENESS, Way
from tests.support.random_events import to_table
from tests.support.strategies import Event

from stretto.engine.adapt import AdaptOptions
from stretto.engine.results.matches import Matches
from stretto.engine.run import Engine
from stretto.engine.snapshot import Snapshot
from stretto.engine.stream.reorder import END_OF_TIME, START_OF_TIME
from stretto.pattern.nodes import Query
from stretto.plan.dag import Plan
from stretto.plan.optimizers import RECIPES

BUDGET_S = 0.05
CHANGES = 3  # of the plan, the queries or the engine in one run, about
LONGEST = 50  # events of a batch or a step
FEW = 12  # events of a stream that come in small batches, or one by one
OTHER_PLANS = ("none", "auto", "some", "some")
COPIED = 0.1  # the part of results that are copied as they come


class Planned(Protocol):
    """What a run needs to know of its workload: queries by name, events in time order, and plans."""

    sized: Sized
    queries: dict[str, Query]
    table: pa.Table

    def plan(self, name: str, names: tuple[str, ...], rng: Random) -> Plan: ...


@dataclass(slots=True)
class Life:
    """A query from when it came, when the events from position `base` on were kept, until it went."""

    query: Query
    way: Way
    base: int = 0
    since: int = START_OF_TIME
    until: int = END_OF_TIME
    parts: list[Matches] = field(default_factory=list)
    tables: list[pa.Table] = field(default_factory=list)
    copies: list[tuple[Matches, pa.Table, list[Row]]] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        """Whether it saw the stream from its first event to its last."""
        return (self.base, self.since, self.until) == (0, START_OF_TIME, END_OF_TIME)

    def take(self, part: Matches, rng: Random) -> None:
        self.parts.append(part)
        if self.way.read == "early" and part.counts()[self.query.name]:
            self.tables.append(table_of(part, self.query))
        if self.way.read == "copied" and rng.random() < COPIED:
            table = table_of(part, self.query)
            self.copies.append((part, table, rows_of(table, self.query)))

    def read(self) -> list[Row]:
        """All rows, read now from what was kept."""
        if self.way.read == "early":
            return [row for table in self.tables for row in rows_of(table, self.query)]
        found = self.parts[0].only([self.query.name])
        for part in self.parts[1:]:
            found.extend(part.only([self.query.name]))
        return rows_of(table_of(found, self.query), self.query)

    def changed(self) -> str:
        """How a result or a table now differs from its copy, if it does."""
        for part, table, copy in self.copies:
            for now in (table, table_of(part, self.query)):
                wrong = difference(rows_of(now, self.query), Counter(copy), self.query)
                if wrong:
                    return f"changed after it was returned\n{wrong}"
        return ""


class Run:
    """Runs at once; what was found is in `lives`."""

    def __init__(self, of: Planned, way: Way) -> None:
        self._of, self._way, self._rng = of, way, Random(way.seed)
        self.lives: list[Life] = []
        self._lateness = self._rng.choice(LATENESS) if way.feed in ("disordered", "given") else 0
        self._options = self._engine_options()
        names = self._some_names() if way.change == "update" else tuple(of.queries)
        self.engine = Engine(of.plan(way.plan, names, self._rng), **self._options)
        self._begin(names)
        self._feed()

    def _engine_options(self) -> dict[str, Any]:
        way, rng = self._way, self._rng
        options: dict[str, Any] = {"lateness_us": self._lateness}
        if way.feed == "given":
            options["watermark"] = "given"
        if way.feed == "steps":
            options["step"] = rng.choice((9, 20, 30, 40, LONGEST))
        if way.change == "update":
            options |= {"updatable": True, "history_us": rng.choice((0, 5, 100))}
        if way.change == "adapt":
            chosen, every = rng.choice(sorted(RECIPES)), rng.choice((100, 400))
            options["adapt"] = AdaptOptions(
                chosen, BUDGET_S, every=every, threshold=0.2, sample=300, background=False
            )
        return options

    # ---- events --------------------------------------------------------------------------------------------

    def _feed(self) -> None:
        batches = list(self._batches())
        for batch in batches:
            self._take(self.engine.push(batch))
            if self._way.feed == "given":
                latest = pc.max(batch.column("ts").cast(pa.int64())).as_py()
                self._take(self.engine.advance(latest - self._lateness))
            if self._rng.random() < CHANGES / len(batches):
                self._change()
        self._take(self.engine.flush())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        table = to_table(self._disordered(self._of.sized.events)) if self._lateness else self._of.table
        at = 0
        for size in self._sizes(table.num_rows):
            yield from table.slice(at, size).to_batches()
            at += size

    def _disordered(self, events: Sequence[Event]) -> list[Event]:
        """An order of arrival in which none is late, and events of one time come in any order."""
        delays = [self._rng.randint(0, self._lateness) for _ in events]
        arrivals = sorted(zip(events, delays, strict=True), key=lambda pair: pair[0].ts + pair[1])
        return [event for event, _ in arrivals]

    def _sizes(self, size: int) -> Iterator[int]:
        """How many events come at a time: somewhere few, elsewhere more."""
        rng, feed = self._rng, self._way.feed
        least, most = (200, 700) if feed == "steps" else (1, LONGEST)
        few, begin, done = (1 if feed == "single" else 5), rng.randrange(size), 0
        while done < size:
            if begin <= done < begin + FEW and feed != "steps":
                count = rng.randint(1, few)
            else:
                count = max(rng.randint(least, most) for _ in range(3))
            yield count
            done += count

    # ---- changes -------------------------------------------------------------------------------------------

    def _change(self) -> None:
        change, rng = self._way.change, self._rng
        if change == "restore":
            self.engine = Engine.restore(self.engine.plan, self._stored(), **self._options)
        elif change == "switch":
            self.engine.switch(self._of.plan(rng.choice(OTHER_PLANS), tuple(self._of.queries), rng))
        elif change == "update":
            names = self._some_names()
            self._begin(names)
            if rng.random() < 0.3:
                self.engine.update(self._of.sized.workload(names), rng.choice(sorted(RECIPES)), BUDGET_S)
            else:
                self.engine.switch(self._of.plan(rng.choice(OTHER_PLANS), names, rng))

    def _stored(self) -> Snapshot:
        snapshot = self.engine.snapshot()
        if self._rng.random() < 0.5:
            return Snapshot.from_bytes(snapshot.to_bytes())
        return pickle.loads(pickle.dumps(snapshot))

    def _some_names(self) -> tuple[str, ...]:
        """All queries but every third; there are three such sets, so that their plans serve again."""
        left_out = self._rng.randrange(3)
        return tuple(name for number, name in enumerate(self._of.queries) if number % 3 != left_out)

    def _begin(self, names: Sequence[str]) -> None:
        """From now on these queries run; those that do so already go on."""
        running = {life.query.name: life for life in self._running()}
        first, now = not self.lives, self.engine.until_us
        for name, life in running.items():
            if name not in names:
                life.until = now
        base, since = (0, START_OF_TIME) if first else (self.engine._live.arena.base, now)
        added = [self._of.queries[name] for name in names if name not in running]
        self.lives += [Life(query, self._way, base, since) for query in added]

    def _running(self) -> list[Life]:
        return [life for life in self.lives if life.until == END_OF_TIME]

    def _take(self, part: Matches) -> None:
        running = self._running()
        assert set(part.counts()) == {life.query.name for life in running}
        for life in running:
            life.take(part, self._rng)
