"""MUSE's experiments (sec. 4) on our engine: figures 4 a-d, and what one query and many events cost.

`stretto bench muse [options]` or `python benchmarks/muse.py [options]`. Contestants: the optimizers `muse` (the paper's
benefit), `auto` (the engine's costs) and `greta` (each query alone); `two-step` detects all trends and aggregates them
(MCEP's way), `flat` counts sequences of every length, each alone, and `sharon` shares their parts. Answers are compared
before anything is timed, and again at every point.
"""

import argparse
import re
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Self

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # so that the folder's modules are found however this one was loaded

import numpy as np  # noqa: E402  (after the path is set)
import pyarrow as pa  # noqa: E402
from benchmarks.contestants.answers import WrongAnswerError  # noqa: E402
from benchmarks.muse_contestants import Prepared, Task, Timed, check_totals, prepare, statistics, timed  # noqa: E402
from benchmarks.muse_report import (  # noqa: E402
    AUTO,
    FLAT,
    GRETA,
    MUSE,
    SHARON,
    SLOW,
    TWO_STEP,
    Cell,
    Figure,
    Outcome,
    Point,
    of_all,
    table,
    write,
)
from benchmarks.optimizers_report import say  # noqa: E402
from benchmarks.parts import (  # noqa: E402
    add_join,
    named,
    read,
)

from stretto.engine.run import Engine  # noqa: E402
from stretto.errors import StrettoError  # noqa: E402
from stretto.generate.muse_workload import RIDES, STOCKS, MuseOptions, MuseSubject, stream_rates  # noqa: E402
from stretto.generate.streams import StreamOptions, generate, generate_batches  # noqa: E402
from stretto.generate.workloads import workload  # noqa: E402
from stretto.pattern.workload import Workload  # noqa: E402
from stretto.plan.optimize import optimize  # noqa: E402

KINDS = {RIDES.stream: "muse-rides", STOCKS.stream: "muse-stocks"}
SWEEPS = ("few", "many", "queries", "matstates", "rich", "single", "scale")
WINDOW_S = 60
WARM = 32
"""Events before anything is timed."""
KNOWN = 1 << 17
"""Events that the statistics are of."""
LONG = 10.0
"""Seconds; a run that took longer is not repeated."""
ALL = (MUSE, AUTO, GRETA, TWO_STEP, FLAT, SHARON)
ONLINE = (MUSE, AUTO, GRETA)
RICH = (("adjacent", 0.5), ("measures", 0.5), ("slide", f"{WINDOW_S // 2} SECONDS"))
"""Terms between neighbours in half of the queries, sums and extremes in half, windows that overlap."""


@dataclass(frozen=True, slots=True)
class Setting:
    """How large the experiment is. `limit`: seconds that a run of two-step and flat may take. `enough`: seconds of a
    contestant at a point, `most`: events of one run. `matstates`: the share of events that one is made at.
    """

    seed: int = 1
    queries: int = 100
    few: tuple[int, ...] = (100, 150, 200, 240, 260, 280, 300, 1_000, 5_000, 20_000)
    many: tuple[int, ...] = (50_000, 100_000, 200_000, 400_000)
    numbers: tuple[int, ...] = (50, 100, 200, 300)
    ratios: tuple[float, ...] = (0.0001, 0.001, 0.01, 0.05, 0.1, 0.2, 0.25)
    events: int = 200_000
    matstates: float = 0.001
    ordinary: float = 0.05
    """The share of MatStates where windows have few events."""
    rich: int = 50
    rich_events: int = 10_000
    single: tuple[int, ...] = (10_000, 100_000, 200_000, 1_000_000)
    scale: tuple[int, ...] = (2_500_000, 10_000_000)
    limit: float = 150.0
    enough: float = 1.5
    repeat: int = 5
    most: int = 600_000


QUICK = Setting(
    queries=6,
    few=(60, 5_000),
    many=(2_000,),
    numbers=(4,),
    ratios=(0.01, 0.25),
    events=2_000,
    matstates=0.02,
    ordinary=0.2,
    rich=6,
    rich_events=500,
    single=(2_000,),
    scale=(20_000,),
    limit=2.0,
    enough=0.0,
    repeat=1,
    most=10_000,
)


def run(out: Path, data: Path | None, options: Sequence[str]) -> int:
    """Compare, measure, print the tables, and write muse.json, muse.txt and muse.png into `out`."""
    del data  # streams are generated
    given = _parse(options)
    setting = QUICK if given.quick else Setting()
    for name in ("seed", "limit", "queries"):
        if getattr(given, name) is not None:
            setting = replace(setting, **{name: getattr(given, name)})
    start = time.perf_counter()
    try:
        outcome = of_all(read(Outcome, given.join)) if given.join else experiment(setting, given.only)
    except (WrongAnswerError, StrettoError) as error:
        print(f"muse: {error}", file=sys.stderr)
        return 1
    if not given.join:
        outcome = replace(outcome, seconds=time.perf_counter() - start)
    write(outcome, out)
    print(table(outcome))
    return 0


def _parse(options: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="muse", description=__doc__)
    parser.add_argument("--only", type=named(SWEEPS), default=list(SWEEPS), help="such as few,queries")
    parser.add_argument("--limit", type=float, help="seconds that a run of two-step or flat may take")
    parser.add_argument("--queries", type=int, help="of figures a, b and d")
    parser.add_argument("--seed", type=int)
    parser.add_argument(
        "--quick", action="store_true", help="a small run of everything, to see that it works"
    )
    add_join(parser)
    return parser.parse_args(options)


def experiment(setting: Setting, only: Sequence[str] = SWEEPS) -> Outcome:
    """The comparison, and all figures that are asked for."""
    sweeps = _Sweeps(setting)
    compared = dict(sweeps.compared())
    made = {
        "few": sweeps.few,
        "many": sweeps.many,
        "queries": sweeps.queries,
        "matstates": sweeps.matstates,
        "rich": sweeps.rich,
        "single": sweeps.single,
        "scale": sweeps.scale,
    }
    return Outcome(setting.seed, tuple(made[name]() for name in SWEEPS if name in only), compared)


@dataclass(frozen=True, slots=True)
class _Case:
    """A workload of so many queries on a stream with so many events in a window."""

    subject: MuseSubject
    queries: int
    events: int
    matstates: float
    seed: int
    options: tuple[tuple[str, object], ...] = ()

    @property
    def text(self) -> str:
        return workload(KINDS[self.subject.stream], self.queries, self.seed, **dict(self.options))

    def stream(self, windows: int) -> tuple[int, StreamOptions]:
        """So many windows of events."""
        about = MuseOptions(
            window=f"{WINDOW_S} SECONDS", events_per_window=self.events, matstates=self.matstates
        )
        rate, rates = stream_rates(self.subject, about)
        return self.events * windows, StreamOptions(seed=self.seed, rate=rate, rates=rates)

    def table(self, windows: int) -> pa.Table:
        count, options = self.stream(windows)
        return generate(self.subject.stream, count, options.seed, options.rate, rates=options.rates)

    def made(self, events: pa.Table) -> float:
        """The share of events that come right after those of other types in their group, or first in a window."""
        repeated = events["type"].combine_chunks()
        is_repeated = np.asarray(repeated.indices) == repeated.dictionary.to_pylist().index(
            self.subject.repeated
        )
        group = events[self.subject.groups[0]].to_numpy()
        window = events["ts"].cast(pa.int64()).to_numpy() // (WINDOW_S * 1_000_000)
        order = np.lexsort((group, window)) if len(group) else np.zeros(0, np.int64)
        mine, key = is_repeated[order], window[order] * (int(group.max()) + 1) + group[order]
        new = np.ones(len(mine), np.bool_)
        new[1:] = ~mine[:-1] | (key[1:] != key[:-1])
        return float((mine & new).sum() / max(len(mine), 1))


@dataclass(slots=True)
class _Sweeps:
    setting: Setting
    _given_up: dict[str, str] = field(default_factory=dict)
    """Contestants that could not finish a smaller window of the same figure, and why."""

    def compared(self) -> Iterator[tuple[str, int]]:
        """All contestants on small windows, with terms between neighbours and all aggregates; WrongAnswerError."""
        for subject in (RIDES, STOCKS):
            case = _Case(subject, min(self.setting.queries, 40), 100, 0.2, self.setting.seed, RICH)
            say(f"all contestants on {subject.stream}")
            parsed, events = Workload.parse(case.text), case.table(6)
            task = Task(parsed, statistics(events, parsed), 600.0)
            expected = prepare(GRETA, task, events).run(events)
            for label in ALL:
                check_totals(label, prepare(label, task, events).run(events), expected)
            yield f"{case.queries} queries over {subject.stream}", expected.num_rows

    def few(self) -> Figure:
        setting, points = self.setting, []
        self._given_up = {}
        for n in setting.few:
            case = _Case(RIDES, setting.queries, n, setting.ordinary, setting.seed)
            points.append(self._point(f"{n:,}", case, ALL))
        title = f"{setting.queries} queries over rides, few events per window"
        return Figure("4a", title, "events per window", tuple(points))

    def many(self) -> Figure:
        setting = self.setting
        cases = [_Case(RIDES, setting.queries, n, setting.matstates, setting.seed) for n in setting.many]
        points = tuple(self._point(f"{case.events:,}", case, ONLINE) for case in cases)
        title = f"{setting.queries} queries over rides, many events per window"
        return Figure("4b", title, "events per window", points)

    def queries(self) -> Figure:
        setting = self.setting
        cases = [_Case(STOCKS, n, setting.events, setting.matstates, setting.seed) for n in setting.numbers]
        points = tuple(self._point(str(case.queries), case, ONLINE) for case in cases)
        return Figure("4c", f"stocks, {setting.events:,} events per window", "queries", points)

    def matstates(self) -> Figure:
        setting = self.setting
        cases = [_Case(STOCKS, setting.queries, setting.events, r, setting.seed) for r in setting.ratios]
        points = tuple(self._point(f"{case.matstates:g}", case, ONLINE) for case in cases)
        title = f"{setting.queries} queries over stocks, {setting.events:,} events per window"
        return Figure("4d", title, "MatStates per event", points)

    def rich(self) -> Figure:
        """Figure 4c with one more thing at a time than the paper's patterns and counts, and with all of them."""
        setting, points = self.setting, []
        cases = {"plain": (), **{name: ((name, value),) for name, value in RICH}, "all": RICH}
        for at, options in cases.items():
            case = _Case(STOCKS, setting.rich, setting.rich_events, setting.ordinary, setting.seed, options)
            points.append(self._point(at, case, ONLINE))
        title = f"{setting.rich} queries over stocks, {setting.rich_events:,} events per window"
        return Figure("4+", f"{title}, with predicates, measures and slides", "queries with", tuple(points))

    def single(self) -> Figure:
        """One query without groups: plain, and with an order between neighbours."""
        points = []
        for n in self.setting.single:
            case = _Case(STOCKS, 1, n, 0.05, self.setting.seed)
            plain = "QUERY q PATTERN SEQ(Halt a, Trade b+){} WITHIN 60 SECONDS RETURN COUNT(*);"
            cells = []
            for label, where in (("plain", ""), ("rising", " WHERE b[i].price > b[i-1].price")):
                parsed, events = Workload.parse(plain.format(where)), case.table(self._windows(n))
                task = Task(parsed, statistics(events.slice(0, KNOWN), parsed))
                cells.append(replace(self._cell(AUTO, task, events, None)[0], label=label))
            points.append(Point(f"{n:,}", tuple(cells), 1, n, case.made(case.table(1))))
            _tell(points[-1])
        return Figure("one", "one query, SEQ(Halt, Trade+)", "events per window", tuple(points))

    def scale(self) -> Figure:
        """Many events in bounded memory."""
        setting, points = self.setting, []
        queries = max(setting.numbers)
        for n in setting.scale:
            case = _Case(STOCKS, queries, setting.events, setting.matstates, setting.seed)
            # In a process of its own, whose memory nothing else has made grow.
            with ProcessPoolExecutor(1, get_context("spawn")) as alone:
                cell = alone.submit(_streamed, case, n).result()
            points.append(Point(f"{n:,}", (cell,), queries, setting.events, setting.matstates))
            _tell(points[-1])
        return Figure("long", f"{queries} queries over many events", "events", tuple(points))

    # ---- points --------------------------------------------------------------------------------------------

    def _windows(self, events: int) -> int:
        """Windows of one run: at least two, where they are short as many as make some thousands of events."""
        return max(2, min(self.setting.most, max(20 * events, 20_000)) // events)

    def _point(self, at: str, case: _Case, labels: Sequence[str]) -> Point:
        say(f"{case.subject.stream}, {case.queries} queries at {at}: {', '.join(labels)}")
        parsed, events = Workload.parse(case.text), case.table(self._windows(case.events))
        task = Task(parsed, statistics(events.slice(0, KNOWN), parsed), self.setting.limit)
        measured = {GRETA: self._cell(GRETA, task, events, None)}
        for label in labels:
            if label != GRETA:
                # Slow ones are given one window.
                few = events.slice(0, case.events) if label in SLOW else events
                measured[label] = self._cell(label, task, few, measured[GRETA][1] if few is events else None)
        cells = tuple(measured[label][0] for label in labels)
        point = Point(at, cells, case.queries, case.events, case.made(events))
        _tell(point)
        return point

    def _cell(
        self, label: str, task: Task, events: pa.Table, expected: pa.Table | None
    ) -> tuple[Cell, pa.Table | None]:
        """A contestant's time and totals, compared with those of `greta`; none after a window it could not finish."""
        if label in self._given_up:
            return Cell(label, missing=self._given_up[label]), None
        try:
            start = time.process_time()
            prepared = prepare(label, task, events)
            planning = time.process_time() - start
            best = self._best(prepared, events)
        except StrettoError as error:
            if label not in SLOW:
                raise
            self._given_up[label] = re.split(r", and |[.;] ", str(error))[0]
            return Cell(label, missing=self._given_up[label]), None
        if label != GRETA:
            right = prepare(GRETA, task, events).run(events) if expected is None else expected
            check_totals(label, best.totals, right)
        if label in SLOW and best.seconds > self.setting.limit / 2:
            self._given_up[label] = f"a smaller window took {best.seconds:.0f} s"
        trends = prepared.plan.trends
        shared = sum(bool(unit.shared) for unit in trends.units) if trends is not None else 0
        cell = Cell(label, events.num_rows, best.totals.num_rows, best.seconds, planning, shared)
        return cell, best.totals

    def _best(self, prepared: Prepared, events: pa.Table) -> Timed:
        """The best of some runs; what they need is loaded before the first one."""
        prepared.run(events.slice(0, WARM))
        best = timed(prepared.run, events)
        spent, turns = 0.0, 0
        while turns < self.setting.repeat and (spent < self.setting.enough or not turns):
            if best.seconds > LONG:
                break
            again = timed(prepared.run, events)
            spent, turns = spent + again.seconds, turns + 1
            best = again if again.seconds < best.seconds or turns == 1 else best
        return best


def _tell(point: Point) -> None:
    for cell in point.cells:
        told = (
            cell.missing
            or f"{cell.rate:14,.0f} events/s, {cell.rows:,} rows, planned in {cell.planning:.1f} s"
        )
        say(f"  {cell.label:10} {told}")


def _streamed(case: _Case, count: int) -> Cell:
    """One pass over generated batches: the engine's time alone, and how much memory the process took for it."""
    parsed = Workload.parse(case.text)
    plan = optimize(parsed, statistics(case.table(1).slice(0, KNOWN), parsed), AUTO)
    _, options = case.stream(1)
    warm = Engine(plan)
    warm.push(case.table(1).slice(0, WARM))
    warm.flush()
    engine, seconds, rows = Engine(plan), 0.0, 0
    with _Memory() as memory:
        for batch in generate_batches(case.subject.stream, count, options, 1 << 16):
            start = time.process_time()
            rows += engine.push(batch).totals().num_rows
            seconds += time.process_time() - start
        rows += engine.flush().totals().num_rows
    return Cell(AUTO, count, rows, seconds, peak_mb=memory.peak_mb)


class _Memory:
    """Watches how much more memory the process holds than it did at first."""

    def __init__(self) -> None:
        import psutil

        self._process = psutil.Process()
        self.peak_mb = 0.0

    def __enter__(self) -> Self:
        self._before = self._process.memory_info().rss
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._stop.wait(0.05):
            held = (self._process.memory_info().rss - self._before) / 1e6
            self.peak_mb = max(self.peak_mb, held)

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


if __name__ == "__main__":
    sys.exit(run(ROOT / "benchmarks" / "results", None, sys.argv[1:]))
