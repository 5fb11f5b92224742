"""One measurement of `rumor`: a workload over events by one optimizer, in a process of its own that is watched.

Parsing, planning and running are timed apart, by CPU time; running is repeated and the best counts. What is compared
with one another to a tenth runs in turns in one process: a machine that others use, too, is faster at one time than at
another.
"""

import hashlib
import multiprocessing as mp
import os
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import numpy as np
import pyarrow as pa

from stretto import run
from stretto.engine.planning import optimize
from stretto.engine.results.matches import Matches
from stretto.errors import StrettoError
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.optimizers import about
from stretto.stats.profile import Stats

Answer = TypeVar("Answer")

SAMPLE = 1 << 15
MOST_COMPARED = 3_000_000
"""With more matches than these only their number is compared: each as text would take gigabytes."""
WATCHED_EVERY_S = 0.2
ENOUGH, MOST_RUNS = 0.5, 40
"""Short runs are repeated for so many seconds, or so many times; the best counts. Loops are compiled once they have had
enough work, so the first runs of milliseconds are slower than those that follow.
"""


@dataclass(frozen=True, slots=True)
class Case:
    """A workload over events; `file` is where its relative paths begin. `budget`: seconds that planning may take.

    `told_by`: what tells matches apart when answers are compared.
    """

    text: str
    events: pa.Table
    file: str = ""
    budget: float = 2.0
    told_by: tuple[str, ...] = ("match_id",)


@dataclass(frozen=True, slots=True)
class Contestant:
    """Who runs some cases, one after the other."""

    label: str
    optimizer: str
    cases: Sequence[Case]


@dataclass(frozen=True, slots=True)
class Cell:
    """One contestant at one point, in CPU seconds; `missing`: why there is no time. `digest`: one for equal matches."""

    label: str
    events: int = 0
    outputs: int = 0
    parse: float = 0.0
    plan: float = 0.0
    run: float = 0.0
    peak_mb: float = 0.0
    digest: str = ""
    missing: str = ""

    @property
    def rate(self) -> float:
        """Events per second of running."""
        return self.events / self.run if self.run else 0.0


def with_stretto(case: Case, optimizer: str, repeat: int, limit: float | None) -> Cell:
    """What an optimizer's plan needs; a cell that says so where the optimizer is not there."""
    if optimizer not in about():
        return Cell(optimizer, missing="no such optimizer here")
    return apart(optimizer, lambda: _measured(case, optimizer, repeat), limit)


def _measured(case: Case, optimizer: str, repeat: int) -> Cell:
    ready = _Ready.of(Contestant(optimizer, optimizer, [case]))
    times: list[float] = []
    # Runs of milliseconds scatter more than long ones: as many as it takes to see a good one.
    while len(times) < repeat or (sum(times) < ENOUGH and len(times) < MOST_RUNS):
        times.append(ready.timed_run())
    return ready.cell(min(times))


def in_turns(
    contestants: Sequence[Contestant], rounds: int, turn_s: float, limit: float | None
) -> list[Cell]:
    """What each of some needs for all of its cases.

    Each has as many seconds in every round, or one run, and its best round counts.
    """
    over = [Cell(one.label, missing=_given_up(limit or 0.0)) for one in contestants]
    return _answered(lambda: _in_turns(contestants, rounds, turn_s), limit, over)


def _in_turns(contestants: Sequence[Contestant], rounds: int, turn_s: float) -> list[Cell]:
    ready = [_tried(one.label, partial(_Ready.of, one)) for one in contestants]
    best = [float("inf")] * len(ready)
    for _ in range(rounds):
        for i, one in enumerate(ready):
            if isinstance(one, _Ready):
                turn = _tried(one.contestant.label, partial(one.turn, turn_s))
                if isinstance(turn, Cell):
                    ready[i] = turn
                else:
                    best[i] = min(best[i], turn)
    each = zip(ready, best, strict=True)
    return [one.cell(seconds) if isinstance(one, _Ready) else one for one, seconds in each]


@dataclass(slots=True)
class _Ready:
    """A contestant whose plans are made, with the seconds of that, and what the last run found."""

    contestant: Contestant
    plans: list[Plan]
    parse: float
    plan: float
    found: list[Matches]

    @classmethod
    def of(cls, contestant: Contestant) -> "_Ready":
        ready = cls(contestant, [], 0.0, 0.0, [])
        for case in contestant.cases:
            workload, parse = _timed(partial(Workload.parse, case.text, case.file))
            stats = Stats.of(case.events, sample=SAMPLE)
            plan, planning = _timed(partial(optimize, workload, stats, contestant.optimizer, case.budget))
            # What a plan prepares once, such as constants in order, is part of planning; a run finds it.
            _, preparing = _timed(partial(run, plan, case.events.slice(0, 64)))
            ready.plans.append(plan)
            ready.parse += parse
            ready.plan += planning + preparing
        return ready

    def turn(self, seconds: float) -> float:
        """Seconds of a run, on average of as many as a turn has room for."""
        times: list[float] = []
        while not times or sum(times) < seconds:
            times.append(self.timed_run())
        return sum(times) / len(times)

    def timed_run(self) -> float:
        """The seconds of one run of each case."""
        given = zip(self.plans, self.contestant.cases, strict=True)
        self.found, seconds = _timed(lambda: [run(plan, case.events) for plan, case in given])
        return seconds

    def cell(self, seconds: float) -> Cell:
        case, outputs = self.contestant.cases[0], sum(map(len, self.found))
        told = ""
        if len(self.plans) == 1 and outputs <= MOST_COMPARED:
            told = digest(self.found[0].to_arrow(), case.told_by)
        return Cell(
            self.contestant.label, case.events.num_rows, outputs, self.parse, self.plan, seconds, digest=told
        )


def digest(matches: pa.Table, told_by: Sequence[str]) -> str:
    """One text for equal multisets of matches, whatever their order."""
    rows = matches.select(list(told_by)).sort_by([(name, "ascending") for name in told_by])
    columns = [column.to_numpy() for column in rows.columns]
    parts = [column.astype("U") if column.dtype == np.object_ else column for column in columns]
    return hashlib.blake2b(b"".join(part.tobytes() for part in parts), digest_size=8).hexdigest()


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    started = time.process_time()
    done = work()
    return done, time.process_time() - started


def apart(label: str, work: Callable[[], Cell], limit: float | None) -> Cell:
    """What a piece of work gives in a process of its own, with the most memory it had."""
    over = Cell(label, missing=_given_up(limit or 0.0))
    return _answered(lambda: _with_memory(_tried(label, work), limit), limit, over)


def _given_up(limit: float) -> str:
    return f"over {limit:.0f} s, or out of memory"


def _with_memory(cell: Cell, limit: float | None) -> Cell:
    if limit is None:  # of a process that has done other things, too
        return cell
    return replace(cell, peak_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def _answered(work: Callable[[], Answer], limit: float | None, over: Answer) -> Answer:
    """What a piece of work gives in a process of its own.

    It is given up past the limit, in seconds of CPU, or ten times as much on the clock. Without one it is done here.
    """
    if limit is None:
        return work()
    context = mp.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(work, sender))
    process.start()
    sender.close()
    try:
        answer: Answer = receiver.recv() if _waited(receiver, process.pid, limit) else over
    except EOFError:  # it was ended from outside
        answer = over
    finally:
        process.kill()
        process.join()
        receiver.close()
    return answer


def _waited(receiver: Any, pid: int | None, limit: float) -> bool:
    """Whether an answer came in time.

    The process is watched from here: under a limit of its own (RLIMIT_CPU) a process has a clock of CPU time that goes
    by the ticks of the system, and the best of several runs of milliseconds would be next to nothing.
    """
    until = time.monotonic() + 10 * limit
    while not receiver.poll(WATCHED_EVERY_S):
        if time.monotonic() > until or _cpu_seconds(pid) > limit:
            return False
    return True


def _cpu_seconds(pid: int | None) -> float:
    """What a process has used so far; 0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _send(work: Callable[[], Any], sender: Any) -> None:
    sender.send(work())
    sender.close()


def _tried(label: str, work: Callable[[], Any]) -> Any:
    """What the work gives, or a cell that says what was wrong."""
    try:
        return work()
    except (StrettoError, MemoryError, duckdb.Error) as error:
        return Cell(label, missing=f"{type(error).__name__}: {error}".splitlines()[0][:160])
