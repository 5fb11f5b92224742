"""The table of ratios, the JSON file and the plot of what was measured."""

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.contestants.workloads import WORKLOADS
from benchmarks.sheets import aligned, keep

GOALS = {"W1": (2.5, 2.5), "W2": (3.0, 1.3), "W3": (3.0, 2.5), "W5": (2.0, 1.6)}
OWN = ("stretto", "stretto-auto")
"""Workload to: how many times the rate of the better of Polars and DuckDB, how many times the yardstick's time."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One contestant on one workload; `missing` says why there is no time."""

    contestant: str
    workload: str
    events: int
    matches: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    peak_mb: float = 0.0
    note: str = ""
    missing: str = ""

    @property
    def rate(self) -> float:
        """Events per second of one core: what else runs on the machine does not count."""
        return self.events / self.cpu if self.cpu else 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """Everything `detect` measured."""

    seed: int
    cells: Sequence[Cell] = ()
    scale: Sequence[Mapping[str, Any]] = ()
    start: Mapping[str, Any] = field(default_factory=dict)


def machine() -> str:
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = [
            line for line in info.read_text(encoding="utf-8").splitlines() if line.startswith("model name")
        ]
        model = lines[0].split(":", 1)[1].strip() if lines else model
    return f"{model}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def table(outcome: Outcome) -> str:
    """Plain text: a row per workload, and per contestant its time and that time per event relative to the first."""
    names = list(dict.fromkeys(cell.contestant for cell in outcome.cells))
    rows = [["workload", "queries", "events", "matches", *names]]
    for workload in dict.fromkeys(cell.workload for cell in outcome.cells):
        cells = {cell.contestant: cell for cell in outcome.cells if cell.workload == workload}
        largest = max(cells.values(), key=lambda cell: cell.events if cell.cpu else 0)
        first = next((cells[name].rate for name in names if name in cells and cells[name].rate), 0.0)
        texts = [_text(cells[name], first, largest.events) if name in cells else "" for name in names]
        about = WORKLOADS[workload]
        head = [f"{workload} {about.title}", str(len(about.queries)), _short(largest.events)]
        rows.append([*head, f"{largest.matches:,}", *texts])
    load = f"; load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    lines = [f"detect: seed {outcome.seed}; {machine()}; CPU seconds of one core each{load}", *aligned(rows)]
    return "\n".join([*lines, *_goals(outcome.cells), *_scale_lines(outcome), *_start_lines(outcome)])


def _text(cell: Cell, first: float, events: int) -> str:
    if cell.missing:
        return cell.missing
    fewer = f" ({_short(cell.events)} events: {cell.note})" if cell.events != events else ""
    return f"{cell.cpu:.3f}s {first / cell.rate:6.2f}{fewer}"


def _short(number: int) -> str:
    if number >= 1_000_000:
        return f"{number / 1e6:.1f}M"
    return f"{number / 1e3:g}k" if number >= 1_000 else str(number)


def _goals(cells: Sequence[Cell]) -> list[str]:
    """How Stretto stands to the others, where a goal is set and all have run."""
    rates = {(cell.workload, cell.contestant): cell.rate for cell in cells if cell.rate}
    lines = []
    for (workload, (times, allowed)), name in product(GOALS.items(), OWN):
        own = rates.get((workload, name))
        others = [rates[workload, other] for other in ("polars", "duckdb") if (workload, other) in rates]
        if not own:
            continue
        parts = []
        if others:
            parts.append(f"{own / max(others):.2f} times the rate of the better database (goal {times:g})")
        if (workload, "yardstick") in rates:
            ratio = rates[workload, "yardstick"] / own
            parts.append(f"{ratio:.2f} times the yardstick's time (goal at most {allowed:g})")
        if parts:
            lines.append(f"{workload} {name}: {', '.join(parts)}")
    return lines


def _scale_lines(outcome: Outcome) -> list[str]:
    if not outcome.scale:
        return []
    rows = [["W1 from Parquet", "matches", "seconds", "events/s", "ratio", "peak MB"]]
    first = outcome.scale[0]["events"] / outcome.scale[0]["seconds"]
    for run in outcome.scale:
        rate = run["events"] / run["seconds"]
        numbers = [f"{run['matches']:,}", f"{run['seconds']:.2f}", f"{rate:,.0f}"]
        rows.append([_short(run["events"]), *numbers, f"{first / rate:.2f}", f"{run['peak_mb']:,.0f}"])
    return ["", *aligned(rows)]


def _start_lines(outcome: Outcome) -> list[str]:
    if not outcome.start:
        return []
    cold, warm, many = outcome.start["cold"], outcome.start["warm"], outcome.start["many"]
    parts = f"plan {many['plan']:.2f}, engine {many['engine']:.2f}, event {many['first_event']:.2f}"
    first = f"{cold:.2f}s with no compiled kernels, {warm:.2f}s with them"
    return [
        "",
        f"first result of a fresh process, 1,000 events: {first}",
        f"{outcome.start['queries']:,} queries, parse to first event: {many['seconds']:.2f}s ({parts})",
    ]


def write(outcome: Outcome, folder: Path) -> None:
    """detect.json, detect.txt and, if anything was timed, detect.png."""
    cells = [asdict(cell) | {"events_per_second": cell.rate} for cell in outcome.cells]
    record = asdict(outcome) | {"cells": cells, "machine": machine()}
    keep(folder, "detect", table(outcome), record)
    if any(cell.rate for cell in outcome.cells):
        _plot(outcome, folder / "detect.png")


def _plot(outcome: Outcome, path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    names = list(dict.fromkeys(cell.contestant for cell in outcome.cells))
    workloads = list(dict.fromkeys(cell.workload for cell in outcome.cells))
    rates = {(cell.workload, cell.contestant): cell.rate for cell in outcome.cells}
    figure, axes = plt.subplots(figsize=(9, 4.5), layout="constrained")
    width = 0.8 / len(names)
    for i, name in enumerate(names):
        heights = [rates.get((workload, name), 0.0) for workload in workloads]
        axes.bar([at + i * width for at in range(len(workloads))], heights, width, label=name)
    axes.set_xticks([at + 0.4 - width / 2 for at in range(len(workloads))])
    axes.set_xticklabels([f"{w}\n{WORKLOADS[w].title}" for w in workloads], fontsize=8)
    axes.set_yscale("log")
    axes.set_ylabel("events per second, one core")
    axes.legend(ncols=len(names), fontsize=8)
    figure.savefig(path, dpi=130)
    plt.close(figure)
