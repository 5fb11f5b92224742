"""MOTTO's figure 14b on Spark: plans of one workload on one core and on two, by the clock.

The paper's engine runs operators on cores of their own; ours gives slices of time, or keys, to tasks. So this is how
the gain of a plan holds when Spark has more cores, not the paper's scheduling.
`python -m benchmarks.motto_cores FOLDER CORES` runs the plans of a folder and prints seconds and counts as JSON: each
number of cores has a session, and so a process, of its own.
"""

import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.contestants.answers import WrongAnswerError
from benchmarks.optimizers_report import Cell, Point, say

from stretto.plan.dag import Plan

ROOT = Path(__file__).resolve().parents[1]
ROW_GROUP = 1 << 16
TIMES = 3
"""Runs of each plan, of which the fastest counts."""
CORES = (1, 2)


def points(plans: Mapping[str, tuple[Cell, Plan]], table: pa.Table) -> tuple[Point, ...]:
    """A point for each number of cores; all plans count the same matches."""
    found = []
    with tempfile.TemporaryDirectory(prefix="stretto-cores-") as folder:
        _write(Path(folder), plans, table)
        for cores in CORES:
            say(f"Spark, local[{cores}]: {', '.join(plans)}")
            found.append(_measured(Path(folder), cores))
    expected = next(iter(found[0].values()))["counts"]
    for cores, outcome in zip(CORES, found, strict=True):
        for label, one in outcome.items():
            if one["counts"] != expected:
                raise WrongAnswerError(f"wrong answer: {label} on {cores} cores counts other matches")
    matches = sum(expected.values())
    return tuple(
        Point(f"local[{cores}]", _cells(plans, outcome, table.num_rows, matches), key=f"cores {cores}")
        for cores, outcome in zip(CORES, found, strict=True)
    )


def _cells(
    plans: Mapping[str, tuple[Cell, Plan]], outcome: Mapping[str, Any], events: int, matches: int
) -> tuple[Cell, ...]:
    first = next(iter(outcome.values()))["seconds"]
    return tuple(
        replace(cell, events=events, matches=matches, seconds=seconds, gain=first / seconds)
        for label, (cell, _) in plans.items()
        for seconds in (outcome[label]["seconds"],)
    )


def _write(folder: Path, plans: Mapping[str, tuple[Cell, Plan]], table: pa.Table) -> None:
    (folder / "plans").write_bytes(pickle.dumps({label: plan for label, (_, plan) in plans.items()}))
    if "id" not in table.column_names:
        table = table.append_column("id", pa.array(range(table.num_rows), pa.int64()))
    types = table.column("type").cast(pa.string())
    table = table.set_column(table.column_names.index("type"), "type", types)
    pq.write_table(table, folder / "events.parquet", row_group_size=ROW_GROUP)


def _measured(folder: Path, cores: int) -> dict[str, Any]:
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "benchmarks.motto_cores", str(folder), str(cores)]
    done = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": paths}, cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise WrongAnswerError(f"Spark on {cores} cores: {done.stderr[-2000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main(arguments: Sequence[str]) -> None:
    """Time every plan of the folder on so many cores."""
    from benchmarks.spark_events import counted

    from stretto.spark import detect_files, session

    folder, cores = Path(arguments[0]), int(arguments[1])
    plans: dict[str, Plan] = pickle.loads((folder / "plans").read_bytes())
    spark = session(f"local[{cores}]", "stretto bench motto")
    files = str(folder / "events.parquet")
    outcome: dict[str, Any] = {}
    for label, plan in plans.items():
        runs = [
            counted(detect_files(plan, files, spark=spark)) for _ in range(1 + TIMES)
        ]  # the first one warms up
        outcome[label] = {"seconds": min(seconds for seconds, _ in runs[1:]), "counts": runs[0][1]}
    print(json.dumps(outcome))


if __name__ == "__main__":
    main(sys.argv[1:])
