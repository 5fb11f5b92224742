"""The record, the table and the files of `detect`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.contestants.workloads import WORKLOADS
from benchmarks.sheets import aligned, goal_lines, goal_of, heading, keep, ratio_text, ratios

GOALS = {"W1": 2.5, "W2": 3.5, "W3": 3.0, "W5": 2.0, "W6": 2.0}
"""By workload: wall-clock time of the better of Polars and DuckDB divided by Stretto's, everybody on one core."""
DATABASES = ("polars", "duckdb")
ABOUT = """\
From a table of events in memory to Arrow columns (ids, times) of all matches in memory, each run in a fresh process.
Seconds are medians of the turns. A ratio is the time divided by Stretto's of the same turn: median [least-most].
Included: planning, conversion of the input, columns. Not included: imports, compiling loops (a warm-up on few events),
choosing a database's fastest formulation. Input: types of events are an Arrow dictionary, so nobody encodes strings.
planning: parse, statistics and plan before the run; databases plan inside of their run, loops by hand have no plan.
stretto is `optimizer="auto"`, stretto-none `optimizer="none"` with the schema alone. Stretto uses one core: it has no
threads yet. `all` gives every contestant all cores. loops: by hand, in Numba, as many bytes per match as Stretto."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The turns of one contestant on one workload, as the worker reports them; `missing` says why there are none."""

    contestant: str
    workload: str
    mode: str
    turns: Sequence[Mapping[str, Any]] = ()
    missing: str = ""

    def each(self, key: str) -> list[float]:
        return [turn[key] for turn in self.turns]


def workloads_of(measured: Iterable[Measured], events: int) -> dict[str, Any]:
    """The part of the record about workloads: times by contestant and mode, and ratios to Stretto's."""
    found: dict[str, Any] = {}
    by_workload: dict[str, dict[tuple[str, str], Measured]] = {}
    for one in measured:
        by_workload.setdefault(one.workload, {})[one.contestant, one.mode] = one
    for name, cells in by_workload.items():
        matches = next((sum(cell.turns[0]["matches"].values()) for cell in cells.values() if cell.turns), 0)
        contestants: dict[str, dict[str, Any]] = {}
        for (contestant, mode), cell in cells.items():
            contestants.setdefault(contestant, {})[mode] = _cell(cell, cells.get(("stretto", mode)))
        about = WORKLOADS[name]
        found[name] = {
            "title": about.title,
            "queries": len(about.queries),
            "events": events,
            "matches": matches,
        }
        found[name]["contestants"] = contestants
    return found


def _cell(cell: Measured, stretto: Measured | None) -> dict[str, Any]:
    if not cell.turns:
        return {"missing": cell.missing}
    keys = ("wall", "cpu", "planning", "planning_cpu", "peak_mb", "bytes_per_match")
    found: dict[str, Any] = {key: median(cell.each(key)) for key in keys}
    if stretto is not None and stretto.turns:
        found["ratio"] = {key: ratios(cell.each(key), stretto.each(key)) for key in ("wall", "cpu")}
    return found


def goals_of(workloads: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each goal beside the ratio of the better database, where both sides ran."""
    goals = []
    for name, goal in GOALS.items():
        contestants = workloads.get(name, {}).get("contestants", {})
        cells = {database: contestants.get(database, {}).get("one", {}) for database in DATABASES}
        reached = {
            database: cell["ratio"]["wall"]["median"] for database, cell in cells.items() if "ratio" in cell
        }
        if reached:
            better = min(reached, key=lambda database: reached[database])
            goals.append(goal_of(f"{name}, wall-clock, one core, {better} / stretto", reached[better], goal))
    return goals


def table(record: Mapping[str, Any]) -> str:
    """Plain text: goals, a row per workload and contestant, files of growing length, start-up times."""
    rows = [
        [
            "",
            "contestant",
            "wall s",
            "CPU s",
            "planning s",
            "B/match",
            "wall ratio",
            "CPU ratio",
            "all: wall s",
            "ratio",
        ]
    ]
    notes: list[str] = []
    for name, workload in record["workloads"].items():
        about = (
            f"{workload['queries']} queries, {workload['events']:,} events, {workload['matches']:,} matches"
        )
        notes.append(f"{name}: {workload['title']}; {about}")
        for contestant, modes in workload["contestants"].items():
            if reasons := sorted({mode["missing"] for mode in modes.values() if "missing" in mode}):
                notes.append(f"{name} {contestant}: {'; '.join(reasons)}")
            planned = contestant.startswith("stretto")
            rows.append([name, contestant, *_texts(modes.get("one", {}), planned=planned)])
            rows[-1] += _texts_all(modes.get("all", {}))
    head = [heading("detect", record), f"{record['turns']} turns", ABOUT, *goal_lines(record["goals"])]
    return "\n".join([*head, "", *aligned(rows), "", *notes, *_scale_lines(record), *_start_lines(record)])


def _texts(cell: Mapping[str, Any], *, planned: bool) -> list[str]:
    if "wall" not in cell:
        return ["n/a" if "missing" in cell else "", *[""] * 5]
    planning = f"{cell['planning']:.3f}" if planned else "-"
    texts = [f"{cell['wall']:.3f}", f"{cell['cpu']:.3f}", planning, f"{cell['bytes_per_match']:.0f}"]
    ratio = cell.get("ratio")
    return [*texts, *(ratio_text(ratio[key]) if ratio else "" for key in ("wall", "cpu"))]


def _texts_all(cell: Mapping[str, Any]) -> list[str]:
    if "wall" not in cell:
        return ["n/a" if "missing" in cell else "", ""]
    return [f"{cell['wall']:.3f}", ratio_text(cell["ratio"]["wall"]) if "ratio" in cell else ""]


def _scale_lines(record: Mapping[str, Any]) -> list[str]:
    if not record["scale"]:
        return []
    rows = [["W1 from Parquet, a batch at a time", "matches", "wall s", "events/s", "peak MB"]]
    for run in record["scale"]:
        rate = run["events"] / run["seconds"]
        numbers = [f"{run['matches']:,}", f"{run['seconds']:.2f}", f"{rate:,.0f}", f"{run['peak_mb']:,.0f}"]
        rows.append([f"{run['events']:,}", *numbers])
    return ["", *aligned(rows)]


def _start_lines(record: Mapping[str, Any]) -> list[str]:
    if not record["start"]:
        return []
    cold, warm, many = (record["start"][key] for key in ("cold", "warm", "many"))
    parts = f"plan {many['plan']:.2f}, engine {many['engine']:.2f}, event {many['first_event']:.2f}"
    first = f"{cold:.2f} s with no compiled loops on disk, {warm:.2f} s with them"
    return [
        "",
        f"cold start, `stretto run` of W1 over {record['start']['events']:,} events, imports included: {first}",
        f"{record['start']['queries']:,} queries, parse to first event: {many['seconds']:.2f} s ({parts})",
    ]


def write(record: Mapping[str, Any], folder: Path) -> None:
    """detect.json and detect.txt."""
    keep(folder, "detect", table(record), record)
