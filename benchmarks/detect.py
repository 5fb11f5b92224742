"""How fast matches are found: Stretto, Polars, DuckDB and loops by hand, on the same events and with the same answers.

`stretto bench detect [options]`, `python -m benchmarks.detect [options]` or `python benchmarks/detect.py [options]`.
All answers are compared before anything is timed. A wrong answer ends the experiment with exit code 1; it never
becomes a line of the table.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # so that the folder's modules are found however this one was loaded

from benchmarks.contestants import events, launch, report  # noqa: E402  (after the path is set)
from benchmarks.contestants.answers import WrongAnswerError  # noqa: E402
from benchmarks.contestants.worker import MODULES, Job  # noqa: E402
from benchmarks.contestants.workloads import WORKLOADS  # noqa: E402
from benchmarks.parts import named  # noqa: E402
from benchmarks.sheets import circumstances  # noqa: E402

SCALE = (200_000, 2_000_000, 20_000_000)
QUERIES = 1_000
STARTED = 200_000
"""Events of the cold start: enough that loops are compiled."""
GIB = 1 << 30
MODES = {"one": 1, "all": os.cpu_count() or 1}
"""Threads by mode."""
ONE_CORE_ONLY = ("stretto-none",)
"""Contestants that would do the same on all cores as on one; Stretto itself is the measure of the others there."""
PACKAGES = ("polars", "duckdb", "numba", "numpy", "pyarrow")
Plan = tuple[str, str, int | None]
"""A contestant, its mode, and the number of its fastest formulation."""


def run(out: Path, data: Path | None, options: Sequence[str]) -> int:
    """Compare, measure, print the table, and write detect.json and detect.txt into `out`."""
    del data  # the stream is generated
    given = _parse(options)
    record = circumstances(given.seed, *PACKAGES) | {"events": given.events, "turns": given.turns}
    try:
        measured = [cell for workload in given.only for cell in _measure(given, workload)]
        record["workloads"] = report.workloads_of(measured, given.events)
        record["goals"] = report.goals_of(record["workloads"])
        record["scale"] = [] if given.skip_scale else _scale(given)
        record["start"] = {} if given.skip_scale else _start(given)
    except (WrongAnswerError, launch.FailedError, launch.TooMuchError) as error:
        print(f"detect: {error}", file=sys.stderr)
        return 1
    report.write(record, out)
    print(report.table(record))
    return 0


def _parse(options: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="detect", description=__doc__)
    free = psutil.virtual_memory().available / GIB
    parser.add_argument("--only", type=named(WORKLOADS), default=list(WORKLOADS), help="such as W1,W2")
    parser.add_argument(
        "--contestants", type=named(MODULES), default=list(MODULES), help="such as stretto,polars"
    )
    parser.add_argument("--events", type=int, default=2_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--turns", type=int, default=3, help="in each of which every contestant runs once, in a fresh process"
    )
    parser.add_argument("--limit", type=float, default=120.0, help="seconds that one run may take")
    parser.add_argument(
        "--memory", type=float, default=min(16.0, 0.7 * free), help="GiB that one process may hold"
    )
    parser.add_argument("--skip-scale", action="store_true", help="no Parquet runs and no start-up times")
    return parser.parse_args(options)


def _job(given: argparse.Namespace, workload: str, plan: Plan, *, judged: bool = False) -> Any:
    """The outcome of one job in a process of its own."""
    contestant, mode, variant = plan
    _progress(f"{workload} {contestant}, {mode}{', answers' if judged else ''}")
    job = Job(contestant, workload, given.events, given.seed, given.limit, MODES[mode], variant, judged)
    memory = int(given.memory * GIB)
    return launch.module("worker", job.to_json(), memory=memory, one_core=mode == "one").json()


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(text, file=sys.stderr)


def _measure(given: argparse.Namespace, workload: str) -> list[report.Measured]:
    """Compare the answers of all, which also chooses formulations, then time them in turns."""
    expected = _job(given, workload, ("loops", "one", None), judged=True)["digests"]
    plans: list[Plan] = []
    missing: list[report.Measured] = []
    for contestant in given.contestants:
        for mode in MODES:
            if mode == "all" and contestant in ONE_CORE_ONLY:
                continue
            try:
                outcome = _job(given, workload, (contestant, mode, None), judged=True)
            except launch.TooMuchError as error:
                outcome = {"missing": f"n/a: {error} with {given.events:,} events"}
            if "missing" in outcome:
                missing.append(report.Measured(contestant, workload, mode, missing=outcome["missing"]))
                continue
            _compare(f"{contestant} on {workload}", outcome["digests"], expected)
            plans.append((contestant, mode, outcome["variant"]))
    turns = [_turn(given, workload, plans, expected) for _ in range(given.turns)]
    timed = [
        report.Measured(contestant, workload, mode, [turn[contestant, mode] for turn in turns])
        for contestant, mode, _ in plans
    ]
    order = list(given.contestants)
    return sorted((*timed, *missing), key=lambda cell: (order.index(cell.contestant), cell.mode != "one"))


def _turn(
    given: argparse.Namespace, workload: str, plans: Sequence[Plan], expected: Mapping[str, Any]
) -> dict[tuple[str, str], Any]:
    """One run of every contestant, with as many matches as were compared."""
    counts = {name: digest["matches"] for name, digest in expected.items()}
    outcomes = {}
    for plan in plans:
        outcome = outcomes[plan[0], plan[1]] = _job(given, workload, plan)
        _compare(f"{plan[0]} on {workload}", outcome["matches"], counts)
    return outcomes


def _compare(name: str, found: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    if found != expected:
        raise WrongAnswerError(f"wrong answer: {name}: found {found}, loops by hand {expected}")


def _scale(given: argparse.Namespace) -> list[dict[str, Any]]:
    """W1 streamed from files of growing length."""
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for count in SCALE:
            _progress(f"W1 from Parquet, {count:,} events")
            path = Path(folder, "events.parquet")
            events.write(path, count, given.seed)
            found = launch.module("streaming", str(path), memory=int(given.memory * GIB)).json()
            runs.append({"events": count, **found})
    return runs


def _start(given: argparse.Namespace) -> dict[str, Any]:
    """Seconds of a fresh process: to its result, with and without compiled loops; with many queries."""
    memory = int(given.memory * GIB)
    with tempfile.TemporaryDirectory() as folder:
        path, query, cache = Path(folder, "events.parquet"), Path(folder, "w1.cep"), Path(folder, "kernels")
        events.write(path, STARTED, given.seed)
        query.write_text(WORKLOADS["W1"].text, encoding="utf-8")
        program = "import sys; from stretto.cli.main import main; sys.exit(main())"
        call = ["run", str(query), "--events", str(path), "--on", "local", "--quiet"]
        command = [sys.executable, "-c", program, *call]
        env = {"NUMBA_CACHE_DIR": str(cache)}
        _progress("start-up")
        cold = launch.launch(command, memory=memory, env=env).seconds
        warm = min(launch.launch(command, memory=memory, env=env).seconds for _ in range(given.turns))
    many = launch.module("starting", str(QUERIES), memory=memory).json()
    return {"cold": cold, "warm": warm, "events": STARTED, "queries": QUERIES, "many": many}


if __name__ == "__main__":
    sys.exit(run(ROOT / "benchmarks" / "results", None, sys.argv[1:]))
