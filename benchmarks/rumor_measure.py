"""One measurement of `rumor`: a workload over events by one optimizer, in a process of its own that is watched.

Parsing, planning and running are timed apart, by CPU time; running is repeated and the best counts.
"""

import hashlib
import multiprocessing as mp
import os
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from stretto import run
from stretto.engine.planning import optimize
from stretto.errors import StrettoError
from stretto.pattern.workload import Workload
from stretto.plan.optimizers import about
from stretto.stats.profile import Stats

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
    workload, parse = _timed(lambda: Workload.parse(case.text, case.file))
    stats = Stats.of(case.events, sample=SAMPLE)
    plan, planning = _timed(lambda: optimize(workload, stats, optimizer, case.budget))
    # What a plan prepares once, such as constants in order, is part of planning; a run finds it.
    _, preparing = _timed(lambda: run(plan, case.events.slice(0, 64)))
    times: list[float] = []
    # Runs of milliseconds scatter more than long ones: as many as it takes to see a good one.
    while len(times) < repeat or (sum(times) < ENOUGH and len(times) < MOST_RUNS):
        found, seconds = _timed(lambda: run(plan, case.events))
        times.append(seconds)
    cell = Cell(optimizer, case.events.num_rows, len(found), parse, planning + preparing, min(times))
    return (
        cell if len(found) > MOST_COMPARED else replace(cell, digest=digest(found.to_arrow(), case.told_by))
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
    """What a piece of work gives in a process of its own, with the most memory it had.

    It is given up past the limit, in seconds of CPU, or ten times as much on the clock. Without one it is done here.
    """
    if limit is None:
        return _tried(label, work)
    context = mp.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(label, work, sender))
    process.start()
    sender.close()
    try:
        over = Cell(label, missing=f"over {limit:.0f} s, or out of memory")
        cell: Cell = receiver.recv() if _waited(receiver, process.pid, limit) else over
    except EOFError:  # it was ended from outside
        cell = over
    finally:
        process.kill()
        process.join()
        receiver.close()
    return cell


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


def _send(label: str, work: Callable[[], Cell], sender: Any) -> None:
    cell = _tried(label, work)
    sender.send(replace(cell, peak_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))
    sender.close()


def _tried(label: str, work: Callable[[], Cell]) -> Cell:
    try:
        return work()
    except (StrettoError, MemoryError, duckdb.Error) as error:
        return Cell(label, missing=f"{type(error).__name__}: {error}".splitlines()[0][:160])
