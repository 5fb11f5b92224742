"""`auto` against every named optimizer on random workloads over real events, and how well its estimates hold.

`stretto bench real --data DIR [options]` or `python -m benchmarks.real --data DIR [options]`. The folder holds the
files that benchmarks/real_workloads.py names. All plans of a workload must find the same matches; a wrong answer ends
the experiment with exit code 1, and so does an `auto` slower than the best one by more than `--limit`. The time of a
plan begins with a table of events in memory and ends with Arrow columns of all matches; planning (text, statistics,
plan) is measured apart and added for the time from text to columns. One process; compiling is not included.
"""

import argparse
import gc
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # so that the folder's modules are found however this one was loaded

from benchmarks.contestants.answers import (  # noqa: E402
    Digest,
    WrongAnswerError,
    answer_of,
    check_finished,
    digests,
)
from benchmarks.parts import add_join, named, read  # noqa: E402
from benchmarks.real_workloads import SETS, events_of, workload_over  # noqa: E402
from benchmarks.sheets import (  # noqa: E402
    aligned,
    circumstances,
    heading,
    keep,
    priced,
    ratio_text,
    spread,
)

import stretto  # noqa: E402
from stretto.engine.counters import Counters  # noqa: E402
from stretto.engine.kernels import when_to_compile  # noqa: E402
from stretto.pattern.workload import Workload  # noqa: E402
from stretto.plan.dag import Plan  # noqa: E402
from stretto.plan.ops import Forbid, Join, Repeat  # noqa: E402
from stretto.plan.trials.trying import computations  # noqa: E402
from stretto.stats.profile import Stats  # noqa: E402

OPTIMIZERS = ("none", "share", "reorder", "motto", "mcep", "auto")
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
TOTALS = ("text_to_columns", "planning", "wall")
"""The sums over all workloads that are shown."""
FEW = 10
"""Rows below which an estimate is as good as any."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one optimizer's plan did.

    `seconds`: of the processor, from events to columns; `run`: the part of these before any column is built, which the
    prediction is about; `wall`: by the clock. `planning`: by the clock, from the text and the events to a plan.
    """

    seconds: float
    candidates: int
    planning: float
    predicted: float
    q_errors: tuple[float, ...] = ()
    run: float = 0.0
    wall: float = 0.0

    @property
    def text_to_columns(self) -> float:
        """Seconds by the clock from the text and the events to the columns of all matches."""
        return self.planning + self.wall


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
    def text_to_columns(self) -> dict[str, float]:
        """Seconds from the text to columns, by optimizer."""
        return {name: one.text_to_columns for name, one in self.outcomes.items()}

    @property
    def ratio(self) -> float:
        """The time of `auto` by that of the fastest optimizer, both without planning."""
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
    record = circumstances(given.seed, "numba", "numpy", "pyarrow") | {"events": given.events}
    record |= {"summary": summary_of(trials), "sets": sets_of(trials)}
    lines = table_of(trials, record, given)
    print("\n".join(lines))
    record["trials"] = [
        {**asdict(trial), "ratio": trial.ratio, "text_to_columns": trial.text_to_columns} for trial in trials
    ]
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
        plans[optimizer], planning[optimizer] = _planned(text, table, optimizer, given)
    different = {computations(plan): plan for plan in plans.values()}
    found_by = {key: _answer(plan, table) for key, plan in different.items()}
    answers = {optimizer: found_by[computations(plan)] for optimizer, plan in plans.items()}
    for optimizer, found in answers.items():
        if found != answers["auto"]:
            raise WrongAnswerError(f"wrong answer: {optimizer} and auto differ on {name}, seed {seed}")
    measured = _rounds(plans, table, given.repeat)
    outcomes = {}
    for optimizer, plan in plans.items():
        outcome, counters = measured[optimizer]
        predicted = plan.estimate.cost * stats.seconds / 1e9 if plan.estimate else 0.0
        errors = tuple(q_errors(plan, counters, stats)) if optimizer == "auto" else ()
        outcomes[optimizer] = replace(
            outcome, planning=planning[optimizer], predicted=predicted, q_errors=errors
        )
    matches = sum(digest.matches for digest in answers["auto"].values())
    trial = Trial(name, seed, len(workload.queries), text, matches, outcomes)
    if sys.stderr.isatty() or given.repeat > 1:
        print(_line(trial), file=sys.stderr, flush=True)
    return trial


def _planned(text: str, table: pa.Table, optimizer: str, given: argparse.Namespace) -> tuple[Plan, float]:
    """The plan as a user gets it for these events, and the least seconds by the clock that it took."""
    seconds = []
    for _ in range(given.repeat):
        began = perf_counter()
        plan = stretto.optimize(text, table, optimizer, given.budget)
        seconds.append(perf_counter() - began)
    return plan, min(seconds)


def _rounds(plans: dict[str, Plan], table: pa.Table, repeat: int) -> dict[str, tuple[Outcome, Counters]]:
    """The round of every plan with the least CPU seconds, and what its operators counted.

    Plans that compute the same are one plan: what their times differ by is noise. All are timed in rounds, so that
    they share what else the machine does; where `auto` seems slow there are more rounds, for all alike.
    """
    same = {optimizer: computations(plan) for optimizer, plan in plans.items()}
    different = {same[optimizer]: plan for optimizer, plan in plans.items()}
    best: dict[frozenset[int], tuple[Outcome, Counters]] = {}
    spent = 0.0
    for number in count():
        if number >= repeat and best[same["auto"]][0].seconds <= SEEMS_SLOW * min(
            one.seconds for one, _ in best.values()
        ):
            break
        if number >= MORE_ROUNDS * repeat and spent >= ENOUGH:
            break
        for key, plan in different.items():
            found = _measured(plan, table)
            spent += found[0].seconds
            if key not in best or found[0].seconds < best[key][0].seconds:
                best[key] = found
    return {optimizer: best[key] for optimizer, key in same.items()}


def _measured(plan: Plan, table: pa.Table) -> tuple[Outcome, Counters]:
    """A run from a table of events to the columns of every query's matches."""
    gc.collect()
    began, began_cpu = perf_counter(), process_time()
    matches = stretto.run(plan, table)
    found = process_time() - began_cpu
    columns = {query: matches[query] for query in matches.counts()}
    seconds, wall = process_time() - began_cpu, perf_counter() - began
    check_finished(columns, plan.queries)
    counters = matches.counters
    assert counters is not None, "a whole run counts what its operators did"
    return Outcome(seconds, sum(counters.candidates), 0.0, 0.0, run=found, wall=wall), counters


def _answer(plan: Plan, table: pa.Table) -> dict[str, Digest]:
    """How many matches each query has, and a checksum of their ids and times in which their order does not matter."""
    matches = stretto.run(plan, table)
    return digests(answer_of({query: matches[query] for query in matches.counts()}))


def q_errors(plan: Plan, counters: Counters, stats: Stats) -> Iterator[float]:
    """By what factor the rows of joins, negations and repetitions were misjudged."""
    for op, record, rows in zip(plan.ops, plan.records, counters.rows, strict=True):
        if isinstance(op, Join | Forbid | Repeat) and record.rows is not None:
            expected, seen = max(record.rows * stats.seconds, FEW), max(rows, FEW)
            yield max(expected / seen, seen / expected)


def _line(trial: Trial) -> str:
    figures = "  ".join(f"{name} {one.seconds:.3f}" for name, one in trial.outcomes.items())
    mine = trial.outcomes["auto"]
    return (
        f"{trial.data:8} {trial.seed:6} {trial.queries:3} queries {trial.matches:8,} matches  {figures}  "
        f"auto/best {trial.ratio:.2f}  measured/predicted {_held(mine):.2f}  "
        f"q {np.median(mine.q_errors or (1.0,)):.1f}"
    )


def _held(outcome: Outcome) -> float:
    """Measured by predicted seconds of the run, without columns."""
    return (outcome.run or outcome.seconds) / max(outcome.predicted, 1e-9)


def summary_of(trials: Sequence[Trial]) -> dict[str, Any]:
    """All workloads together. Times without planning and from text to columns are apart, and so are their baselines."""
    if not trials:
        return {"workloads": 0}
    names = [name for name in OPTIMIZERS if all(name in trial.outcomes for trial in trials)]
    ratios = [trial.ratio for trial in trials]
    found: dict[str, Any] = {
        "workloads": len(trials),
        "auto_by_fastest": spread(ratios),
        "auto_slow": sum(ratio > SLOW for ratio in ratios),
        "auto_twice_as_slow": sum(ratio > TWICE for ratio in ratios),
        "predicted_within_five_times": sum(0.2 <= _held(trial.outcomes["auto"]) <= 5 for trial in trials),
        "text_to_columns": {
            name: {key: sum(getattr(trial.outcomes[name], key) for trial in trials) for key in TOTALS}
            | {"median": median(trial.outcomes[name].text_to_columns for trial in trials)}
            for name in names
        },
    }
    if "none" in names:
        pairs = [(trial.outcomes["none"], trial.outcomes["auto"]) for trial in trials]
        found["speedup_over_none"] = {
            name: spread([trial.outcomes["none"].seconds / trial.outcomes[name].seconds for trial in trials])
            for name in names
            if name != "none"
        }
        found["auto_slower_than_none"] = sum(auto.seconds > NO_WORSE * none.seconds for none, auto in pairs)
        found["none_finishes_first"] = sum(
            none.text_to_columns < auto.text_to_columns for none, auto in pairs
        )
        found["none_finishes_before_auto_is_planned"] = sum(
            none.text_to_columns < auto.planning for none, auto in pairs
        )
    return found


def sets_of(trials: Sequence[Trial]) -> dict[str, Any]:
    """The same of each set of events, with how well the estimates hold."""
    found = {}
    for name in dict.fromkeys(trial.data for trial in trials):
        here = [trial for trial in trials if trial.data == name]
        errors = [error for trial in here for error in trial.outcomes["auto"].q_errors] or [1.0]
        low, middle, high = np.quantile(
            [_held(trial.outcomes["auto"]) for trial in here], [0.025, 0.5, 0.975]
        )
        found[name] = summary_of(here) | {
            "measured_by_predicted": {"median": float(middle), "low": float(low), "high": float(high)},
            "q_error": {"median": float(np.median(errors)), "most": max(errors)},
            "planning": median(trial.outcomes["auto"].planning for trial in here),
        }
    return found


def table_of(trials: Sequence[Trial], record: Mapping[str, Any], given: argparse.Namespace) -> list[str]:
    """One line for each set, then all of them together: without planning, and from text to columns."""
    queries = [trial.queries for trial in trials] or [0]
    seeds = ", ".join(map(str, sorted({trial.seed // SEEDS for trial in trials})))
    lines = [
        heading("real", record),
        (
            f"{len(trials)} workloads of {min(queries)} to {max(queries)} queries, "
            f"{'all' if given.examples else f'{given.events:,}'} events each, "
            f"{'of examples/' if given.examples else f'seeds {seeds}'}; {priced()}"
        ),
        "CPU seconds of one core, from a table of events to Arrow columns of all matches; planning is apart",
        "",
    ]
    if not trials:
        return lines
    head = ["set", "workloads", "auto / fastest", f"over {SLOW:g}", "none / auto", "none first", "planning s"]
    rows = [[*head, "measured/predicted", "q-error", "worst"]]
    for name, one in record["sets"].items():
        faster = one.get("speedup_over_none", {}).get("auto")
        held, error = one["measured_by_predicted"], one["q_error"]
        rows.append(
            [
                name,
                str(one["workloads"]),
                ratio_text(one["auto_by_fastest"]),
                str(one["auto_slow"]),
                ratio_text(faster) if faster else "",
                str(one.get("none_finishes_first", "")),
                f"{one['planning']:.3f}",
                f"{held['median']:.2f} ({held['low']:.2f}-{held['high']:.2f})",
                f"{error['median']:.2f}",
                f"{error['most']:.1f}",
            ]
        )
    return [*lines, *aligned(rows), "", *_summary_lines(record["summary"])]


def _summary_lines(summary: Mapping[str, Any]) -> list[str]:
    count = summary["workloads"]
    many = f"{summary['auto_slow']} of {count} over {SLOW:g}, {summary['auto_twice_as_slow']} over {TWICE:g}"
    lines = [
        f"`auto` by the fastest of all optimizers, without planning: {ratio_text(summary['auto_by_fastest'])}; {many}",
        f"measured/predicted within 0.2 and 5 for {summary['predicted_within_five_times']} of {count}",
    ]
    if "speedup_over_none" in summary:
        first, before = summary["none_finishes_first"], summary["none_finishes_before_auto_is_planned"]
        slower = summary["auto_slower_than_none"]
        lines.append(
            f"from text to columns `none` finishes first in {first} of {count}, before `auto` has a plan in {before}"
        )
        lines.append(
            f"without planning `auto` is slower than `none` by more than {NO_WORSE - 1:.0%} in {slower} of {count}"
        )
    rows = [
        ["all workloads", "from text to columns s", "planning s", "run and columns s", "speed-up over none"]
    ]
    for name, total in summary["text_to_columns"].items():
        faster = summary.get("speedup_over_none", {}).get(name)
        times = [f"{total[key]:.2f}" for key in TOTALS]
        rows.append([name, *times, f"{ratio_text(faster)} without planning" if faster else ""])
    return [*lines, "", *aligned(rows)]


if __name__ == "__main__":
    folder = sys.argv[sys.argv.index("--data") + 1] if "--data" in sys.argv[:-1] else None
    rest = [one for one in sys.argv[1:] if one not in ("--data", folder)]
    sys.exit(run(ROOT / "benchmarks" / "results", Path(folder) if folder else None, rest))
