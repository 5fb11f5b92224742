"""How fast matches are found: Stretto, Polars, DuckDB and loops by hand, on the same events and with the same answers.

`stretto bench detect [options]`, `python -m benchmarks.detect [options]` or `python benchmarks/detect.py [options]`.
A wrong answer ends the experiment with exit code 1; it never becomes a line of the table.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # so that the folder's modules are found however this one was loaded

from benchmarks.contestants import events, launch, report  # noqa: E402  (after the path is set)
from benchmarks.contestants.answers import WrongAnswerError  # noqa: E402
from benchmarks.contestants.worker import MODULES, Job  # noqa: E402
from benchmarks.contestants.workloads import WORKLOADS  # noqa: E402
from benchmarks.parts import named  # noqa: E402

CHECKED = 20_000
"""Events on which all matches are compared one by one, before anything is timed."""
FEWEST = 2_000
SCALE = (200_000, 2_000_000, 20_000_000)
QUERIES = 1_000
GIB = 1 << 30


def run(out: Path, data: Path | None, options: Sequence[str]) -> int:
    """Compare, measure, print the table, and write detect.json, detect.txt and detect.png into `out`."""
    del data  # the stream is generated
    given = _parse(options)
    try:
        _check(given)
        cells = _measure(given)
        skip = given.skip_scale
        outcome = report.Outcome(
            given.seed, cells, () if skip else _scale(given), {} if skip else _start(given)
        )
    except (WrongAnswerError, launch.FailedError, launch.TooMuchError) as error:
        print(f"detect: {error}", file=sys.stderr)
        return 1
    report.write(outcome, out)
    print(report.table(outcome))
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
        "--repeat", type=int, default=3, help="the best of so many runs counts, each in a fresh process"
    )
    parser.add_argument("--limit", type=float, default=120.0, help="seconds that one run may take")
    parser.add_argument(
        "--memory", type=float, default=min(16.0, 0.7 * free), help="GiB that one process may hold"
    )
    parser.add_argument("--skip-scale", action="store_true", help="no Parquet runs and no start-up times")
    return parser.parse_args(options)


def _job(
    given: argparse.Namespace, contestant: str, workload: str, count: int, rows: str | None = None
) -> Any:
    """The outcome of one job in a process of its own."""
    _progress(f"{workload} {contestant}, {count:,} events{', every match compared' if rows else ''}")
    job = Job(contestant, workload, count, given.seed, given.limit, rows)
    return launch.module("worker", job.to_json(), memory=int(given.memory * GIB)).json()


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(text, file=sys.stderr)


def _check(given: argparse.Namespace) -> None:
    """Every match of every contestant against the yardstick's, on the first events."""
    count = min(CHECKED, given.events)
    with tempfile.TemporaryDirectory() as folder:
        for workload in given.only:
            expected = str(Path(folder, f"{workload}.npz"))
            _job(given, "yardstick", workload, count, expected)
            for contestant in given.contestants:
                found = str(Path(folder, f"{workload}.{contestant}.npz"))
                if contestant != "yardstick" and "found" in _job(given, contestant, workload, count, found):
                    _compare(f"{contestant} on {workload}", found, expected)


def _compare(name: str, found: str, expected: str) -> None:
    with np.load(found) as ours, np.load(expected) as theirs:
        for query in sorted(set(ours.files) | set(theirs.files)):
            same = (
                query in ours.files and query in theirs.files and np.array_equal(ours[query], theirs[query])
            )
            if not same:
                raise WrongAnswerError(
                    f"wrong answer: {name}: the matches of {query} are not the yardstick's"
                )


def _measure(given: argparse.Namespace) -> list[report.Cell]:
    cells = []
    for workload in given.only:
        expected: dict[int, Any] = {}
        for contestant in given.contestants:
            cell, found = _timed(given, contestant, workload)
            if found is not None:
                if cell.events not in expected:
                    expected[cell.events] = _job(given, "yardstick", workload, cell.events)["found"]
                if found != expected[cell.events]:
                    raise WrongAnswerError(
                        f"wrong answer: {contestant} on {workload}, {cell.events:,} events: "
                        f"found {found}, the yardstick {expected[cell.events]}"
                    )
            cells.append(cell)
    return cells


def _timed(given: argparse.Namespace, contestant: str, workload: str) -> tuple[report.Cell, Any]:
    """The times on as many events as the limits allow, and the digests of the answer."""
    count, note = given.events, ""
    while True:
        try:
            runs = [_job(given, contestant, workload, count)]
            if "missing" in runs[0]:
                return report.Cell(contestant, workload, count, missing=runs[0]["missing"]), None
            runs += [_job(given, contestant, workload, count) for _ in range(given.repeat - 1)]
        except launch.TooMuchError as error:
            note = str(error)
            if count // 10 < FEWEST:
                return report.Cell(contestant, workload, count, missing=f"n/a: {note}"), None
            count //= 10
            continue
        found = runs[0]["found"]
        if any(again["found"] != found for again in runs):
            raise WrongAnswerError(f"wrong answer: {contestant} on {workload} differs from run to run")
        best = {key: min(done[key] for done in runs) for key in ("seconds", "cpu", "peak_mb")}
        matches = sum(digest["matches"] for digest in found.values())
        return report.Cell(contestant, workload, count, matches, **best, note=note), found


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
    """Seconds of a fresh process: to its first result, with and without compiled kernels; with many queries."""
    memory = int(given.memory * GIB)
    with tempfile.TemporaryDirectory() as folder:
        path, query, cache = Path(folder, "events.parquet"), Path(folder, "w1.cep"), Path(folder, "kernels")
        events.write(path, 1_000, given.seed)
        query.write_text(WORKLOADS["W1"].text, encoding="utf-8")
        program = "import sys; from stretto.cli.main import main; sys.exit(main())"
        call = ["run", str(query), "--events", str(path), "--on", "local", "--quiet"]
        command = [sys.executable, "-c", program, *call]
        env = {"NUMBA_CACHE_DIR": str(cache)}
        _progress("start-up")
        cold = launch.launch(command, memory=memory, env=env).seconds
        warm = min(launch.launch(command, memory=memory, env=env).seconds for _ in range(given.repeat))
    many = launch.module("starting", str(QUERIES), memory=memory).json()
    return {"cold": cold, "warm": warm, "queries": QUERIES, "many": many}


if __name__ == "__main__":
    sys.exit(run(ROOT / "benchmarks" / "results", None, sys.argv[1:]))
