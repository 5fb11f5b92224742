"""`auto` against every named optimizer on random workloads over real events, and how well its estimates hold.

`stretto bench real --data DIR [options]` or `python -m benchmarks.real --data DIR [options]`. The folder holds the
files that benchmarks/real_workloads.py names. All plans of a workload must find the same matches; a wrong answer ends
the experiment with exit code 1, and so does an `auto` slower than the best one by more than `--limit`. Times are those
of one core, in process, without planning; output is on the clock.
"""

import argparse
import gc
import hashlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from time import perf_counter, process_time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # so that the folder's modules are found however this one was loaded

from benchmarks.parts import add_join, named, read  # noqa: E402
from benchmarks.real_workloads import SETS, events_of, workload_over  # noqa: E402
from benchmarks.sheets import (  # noqa: E402
    keep,
    machine,
    priced,
)

from stretto.engine.kernels import when_to_compile  # noqa: E402
from stretto.engine.planning import optimize  # noqa: E402
from stretto.engine.run import Engine  # noqa: E402
from stretto.pattern.workload import Workload  # noqa: E402
from stretto.plan.dag import Plan  # noqa: E402
from stretto.plan.ops import Forbid, Join, Repeat  # noqa: E402
from stretto.plan.trials.trying import computations  # noqa: E402
from stretto.stats.profile import Stats  # noqa: E402

OPTIMIZERS = ("none", "share", "reorder", "motto", "mcep", "auto")
BATCH = 1 << 17
SLOW = 1.3
"""`auto` is called slow where it takes so many times the time of the best."""
TWICE = 2.0
NO_WORSE = 1.1
SEEMS_SLOW = 1.05
MORE_ROUNDS = 4
"""Where `auto` takes so many times the time of the best, there are up to so many times the rounds."""
ENOUGH = 3.0
"""And more, until all plans together were timed for so many seconds: short runs scatter most."""
EXAMPLES = {"flights": "flights.cep", "ticks": "stocks.cep", "security": "security.cep"}
SEEDS = 1_000
"""Workloads of a seed have numbers of their own."""
FEW = 10
"""Rows below which an estimate is as good as any."""


class WrongAnswerError(Exception):
    """A plan found other matches than the others."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one optimizer's plan did: CPU seconds, candidates examined, seconds of planning, predicted CPU seconds."""

    seconds: float
    candidates: int
    planning: float
    predicted: float
    q_errors: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Trial:
    """One workload over a part of one set."""

    data: str
    seed: int
    queries: int
    text: str
    matches: int
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    @property
    def best(self) -> float:
        return min(one.seconds for one in self.outcomes.values())

    @property
    def ratio(self) -> float:
        """`auto` by the best of all."""
        return self.outcomes["auto"].seconds / self.best


@dataclass(frozen=True, slots=True)
class Trials:
    """What a run wrote, as far as another one reads it."""

    trials: tuple[Trial, ...]


def run(out: Path, data: Path | None, options: Sequence[str]) -> int:
    """Compare, measure, print a table, and write real.json and real.txt into `out`."""
    given = _parse(options)
    if given.join:
        trials = [trial for part in read(Trials, given.join) for trial in part.trials]
    elif data is None or not data.is_dir():
        print("real: --data names the folder of real events", file=sys.stderr)
        return 2
    else:
        when_to_compile.always = True
        try:
            trials = list(_examples(data, given) if given.examples else _random(data, given))
        except WrongAnswerError as error:
            print(f"real: {error}", file=sys.stderr)
            return 1
        finally:
            when_to_compile.always = None
    lines = table_of(trials, given)
    print("\n".join(lines))
    record = {"seed": given.seed, "events": given.events, "machine": machine()}
    record["trials"] = [{**asdict(trial), "ratio": trial.ratio} for trial in trials]
    keep(out, "real", "\n".join(lines), record)
    return int(given.limit is not None and any(trial.ratio > given.limit for trial in trials))


def _parse(options: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="real", description=__doc__)
    parser.add_argument("--sets", type=named(SETS), default=list(SETS), help="such as flights,ticks")
    parser.add_argument("--optimizers", type=named(OPTIMIZERS), default=list(OPTIMIZERS))
    parser.add_argument("--workloads", type=int, default=4, help="of each set")
    parser.add_argument("--queries", type=int, nargs=2, default=(5, 20), metavar=("LEAST", "MOST"))
    parser.add_argument("--events", type=int, default=60_000, help="of each workload, that follow each other")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--examples", action="store_true", help="the workloads of examples/, each over its whole set"
    )
    parser.add_argument("--repeat", type=int, default=3, help="the best of so many runs counts")
    parser.add_argument("--budget", type=float, default=2.0, help="seconds of planning")
    parser.add_argument(
        "--limit", type=float, help="exit 1 where `auto` takes so many times the best one's time"
    )
    add_join(parser)
    found = parser.parse_args(options)
    if "auto" not in found.optimizers:
        parser.error("--optimizers: auto must be among them")
    return found


def _examples(data: Path, given: argparse.Namespace) -> Iterator[Trial]:
    """The workloads of the examples, each over all events of its set."""
    for name in given.sets:
        if name in EXAMPLES:
            text = (ROOT / "examples" / EXAMPLES[name]).read_text(encoding="utf-8")
            yield _trial(name, 0, text, pq.read_table(data / SETS[name]).combine_chunks(), given)


def _random(data: Path, given: argparse.Namespace) -> Iterator[Trial]:
    for name in given.sets:
        yield from _trials(data, name, given)


def _trials(data: Path, name: str, given: argparse.Namespace) -> Iterator[Trial]:
    for number in range(given.workloads):
        seed = given.seed * SEEDS + number
        random = Random(f"{name} {seed}")
        table = events_of(data, name, given.events, random)
        stats = Stats.of(table)
        queries = random.randint(*given.queries)
        text = workload_over(table, stats, random, queries)
        if text:
            yield _trial(name, seed, text, table, given)


def _trial(name: str, seed: int, text: str, table: pa.Table, given: argparse.Namespace) -> Trial:
    workload = Workload.parse(text)
    stats = Stats.of(table, workload=workload)
    plans, planning = {}, {}
    for optimizer in given.optimizers:
        began = perf_counter()
        plans[optimizer] = optimize(workload, stats, optimizer, given.budget, once=True)
        planning[optimizer] = perf_counter() - began
    different = {computations(plan): plan for plan in plans.values()}
    found_by = {key: _answer(plan, table) for key, plan in different.items()}
    answers = {optimizer: found_by[computations(plan)] for optimizer, plan in plans.items()}
    for optimizer, found in answers.items():
        if found != answers["auto"]:
            raise WrongAnswerError(f"wrong answer: {optimizer} and auto differ on {name}, seed {seed}")
    measured = _rounds(plans, table, given.repeat)
    outcomes = {}
    for optimizer, plan in plans.items():
        seconds, engine = measured[optimizer]
        predicted = plan.estimate.cost * stats.seconds / 1e9 if plan.estimate else 0.0
        errors = tuple(q_errors(plan, engine, stats)) if optimizer == "auto" else ()
        candidates = sum(engine.counters.candidates)
        outcomes[optimizer] = Outcome(seconds, candidates, planning[optimizer], predicted, errors)
    trial = Trial(name, seed, len(workload.queries), text, answers["auto"][0], outcomes)
    if sys.stderr.isatty() or given.repeat > 1:
        print(_line(trial), file=sys.stderr, flush=True)
    return trial


def _rounds(plans: dict[str, Plan], table: pa.Table, repeat: int) -> dict[str, tuple[float, Engine]]:
    """The least CPU seconds of every plan, and an engine that ran it.

    Plans that compute the same are one plan: what their times differ by is noise. All are timed in rounds, so that
    they share what else the machine does; where `auto` seems slow there are more rounds, for all alike.
    """
    same = {optimizer: computations(plan) for optimizer, plan in plans.items()}
    different = {same[optimizer]: plan for optimizer, plan in plans.items()}
    best: dict[frozenset[int], tuple[float, Engine]] = {}
    spent = 0.0
    for number in count():
        if number >= repeat and best[same["auto"]][0] <= SEEMS_SLOW * min(s for s, _ in best.values()):
            break
        if number >= MORE_ROUNDS * repeat and spent >= ENOUGH:
            break
        for key, plan in different.items():
            found = _measured(plan, table)
            spent += found[0]
            if key not in best or found[0] < best[key][0]:
                best[key] = found
    return {optimizer: best[key] for optimizer, key in same.items()}


def _measured(plan: Plan, table: pa.Table) -> tuple[float, Engine]:
    engine = Engine(plan)
    batches = table.to_batches(max_chunksize=BATCH)
    gc.collect()
    began = process_time()
    for batch in batches:
        for _ in engine.pushing(batch):
            pass  # matches are made, and not kept
    engine.flush()
    return process_time() - began, engine


def _answer(plan: Plan, table: pa.Table) -> tuple[int, str]:
    """How many matches there are, and a digest of which query found which."""
    engine, parts = Engine(plan), []
    for batch in table.to_batches(max_chunksize=BATCH):
        parts.append(engine.push(batch).to_arrow().select(["query", "match_id"]))
    parts.append(engine.flush().to_arrow().select(["query", "match_id"]))
    rows = pa.concat_tables(parts).sort_by([("query", "ascending"), ("match_id", "ascending")])
    digest = hashlib.sha256()
    for column in rows.columns:
        joined = pa.concat_arrays(column.cast(pa.string()).chunks) if len(rows) else pa.array([], pa.string())
        for buffer in joined.buffers()[1:]:
            digest.update(buffer or b"")
    return rows.num_rows, digest.hexdigest()


def q_errors(plan: Plan, engine: Engine, stats: Stats) -> Iterator[float]:
    """By what factor the rows of joins, negations and repetitions were misjudged."""
    for op, record, rows in zip(plan.ops, plan.records, engine.counters.rows, strict=True):
        if isinstance(op, Join | Forbid | Repeat) and record.rows is not None:
            expected, seen = max(record.rows * stats.seconds, FEW), max(rows, FEW)
            yield max(expected / seen, seen / expected)


def _line(trial: Trial) -> str:
    figures = "  ".join(f"{name} {one.seconds:.3f}" for name, one in trial.outcomes.items())
    mine = trial.outcomes["auto"]
    return (
        f"{trial.data:8} {trial.seed:6} {trial.queries:3} queries {trial.matches:8,} matches  {figures}  "
        f"auto/best {trial.ratio:.2f}  measured/predicted {mine.seconds / max(mine.predicted, 1e-9):.2f}  "
        f"q {np.median(mine.q_errors or (1.0,)):.1f}"
    )


def table_of(trials: Sequence[Trial], given: argparse.Namespace) -> list[str]:
    """One line for each set."""
    queries = [trial.queries for trial in trials] or [0]
    seeds = ", ".join(map(str, sorted({trial.seed // SEEDS for trial in trials})))
    lines = [
        (
            f"real: {len(trials)} workloads of {min(queries)} to {max(queries)} queries, "
            f"{'all' if given.examples else f'{given.events:,}'} events each, "
            f"{'of examples/' if given.examples else f'seeds {seeds}'}; {machine()}; {priced()}"
        ),
        (
            f"{'set':9} {'trials':>6} {'auto/best':>9} {'worst':>6} {f'over {SLOW}':>8} {'auto/none':>9} "
            f"{'measured/predicted':>22} {'q-error':>8} {'worst':>8} {'planning':>9}"
        ),
    ]
    for name in dict.fromkeys(trial.data for trial in trials):
        here = [trial for trial in trials if trial.data == name]
        ratios = [trial.ratio for trial in here]
        against = [
            trial.outcomes["auto"].seconds / trial.outcomes["none"].seconds
            for trial in here
            if "none" in trial.outcomes
        ]
        held = [one.seconds / max(one.predicted, 1e-9) for one in (trial.outcomes["auto"] for trial in here)]
        errors = [error for trial in here for error in trial.outcomes["auto"].q_errors]
        planning = np.median([trial.outcomes["auto"].planning for trial in here])
        low, middle, high = np.quantile(held, [0.025, 0.5, 0.975])
        lines.append(
            f"{name:9} {len(here):6} {np.median(ratios):9.2f} {max(ratios):6.2f} "
            f"{sum(ratio > SLOW for ratio in ratios):8} {max(against, default=1.0):9.2f} "
            f"{f'{middle:.2f} ({low:.2f}..{high:.2f})':>22} {np.median(errors or [1.0]):8.2f} "
            f"{max(errors, default=1.0):8.1f} {planning:8.2f}s"
        )
    return [*lines, _summary(trials)] if trials else lines


def _summary(trials: Sequence[Trial]) -> str:
    """All sets together, against what `auto` is held to."""
    ratios = [trial.ratio for trial in trials]
    mine = [trial.outcomes["auto"] for trial in trials]
    slower = sum(
        one.seconds > NO_WORSE * trial.outcomes["none"].seconds
        for trial, one in zip(trials, mine, strict=True)
        if "none" in trial.outcomes
    )
    held = sum(0.2 <= one.seconds / max(one.predicted, 1e-9) <= 5 for one in mine)
    return (
        f"of {len(trials)}: {sum(r > SLOW for r in ratios)} over {SLOW}, "
        f"{sum(r > TWICE for r in ratios)} over {TWICE:g}, "
        f"{slower} slower than none by more than {NO_WORSE - 1:.0%}; measured/predicted within 0.2 and 5 for {held}"
    )


if __name__ == "__main__":
    folder = sys.argv[sys.argv.index("--data") + 1] if "--data" in sys.argv[:-1] else None
    rest = [one for one in sys.argv[1:] if one not in ("--data", folder)]
    sys.exit(run(ROOT / "benchmarks" / "results", Path(folder) if folder else None, rest))
