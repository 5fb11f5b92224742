"""How experiments show and keep their results: circumstances, ratios, columns of text, JSON, and plots on one sheet."""

import json
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from math import isnan, nan
from pathlib import Path
from statistics import median
from typing import Any

import stretto
from stretto.memo.prices import Prices, load


def machine() -> str:
    """The processor, its cores, the system and the version of Python."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = [
            line for line in info.read_text(encoding="utf-8").splitlines() if line.startswith("model name")
        ]
        model = lines[0].split(":", 1)[1].strip() if lines else model
    return f"{model}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def circumstances(seed: int | None, *packages: str) -> dict[str, Any]:
    """The first keys of every result: seed, date, machine and its cores, versions, and how busy the machine is."""
    versions = {"stretto": stretto.__version__} | {name: _version(name) for name in packages}
    load_average = round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None
    return {
        "seed": seed,
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
        "cores": os.cpu_count(),
        "versions": versions,
        "load": load_average,
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def heading(name: str, record: Mapping[str, Any]) -> str:
    """The first line of every table, from the circumstances."""
    versions = ", ".join(f"{package} {number}" for package, number in record["versions"].items())
    return (
        f"{name}: seed {record['seed']}; {record['date']}; {record['machine']}; load {record['load']} at the start;"
        f" {versions}"
    )


def spread(values: Sequence[float]) -> dict[str, float]:
    """The median, the least and the greatest."""
    return {"median": median(values), "least": min(values), "most": max(values)}


def ratios(theirs: Sequence[float], ours: Sequence[float]) -> dict[str, float]:
    """The spread of the competitor's time divided by Stretto's, turn by turn."""
    return spread([their / own for their, own in zip(theirs, ours, strict=True)])


def ratio_text(ratio: Mapping[str, float]) -> str:
    """A ratio with its least and greatest turn."""
    return f"{ratio['median']:.2f} [{ratio['least']:.2f}-{ratio['most']:.2f}]"


def goal_lines(goals: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line per goal (`name`, `goal`, `value`, and `at_most` where less is better), missed ones first."""
    ordered = sorted(goals, key=lambda goal: bool(goal["reached"]))
    return [
        f"{'reached' if goal['reached'] else 'MISSED'}: {goal['name']}: {goal['value']:.2f}"
        f" (goal {'at most' if goal['at_most'] else 'at least'} {goal['goal']:g})"
        for goal in ordered
    ]


def goal_of(name: str, value: float, goal: float, *, at_most: bool = False) -> dict[str, Any]:
    """A goal beside the value that was measured."""
    reached = value <= goal if at_most else value >= goal
    return {"name": name, "value": value, "goal": goal, "at_most": at_most, "reached": reached}


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Names to the left, figures to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            text.rjust(width) if at else text.ljust(width)
            for at, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def keep(folder: Path, name: str, text: str, record: Mapping[str, Any]) -> None:
    """NAME.txt and NAME.json."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.txt").write_text(text + "\n", encoding="utf-8")
    (folder / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def priced() -> str:
    """What predictions go by: a machine's own prices say more of its seconds than the built-in ones."""
    return "built-in prices" if load() == Prices() else "prices by `stretto calibrate`"


@dataclass(frozen=True, slots=True)
class Plot:
    """What contestants reached along an axis: a line for each, None where one did not run."""

    title: str
    axis: str
    at: Sequence[str]
    reached: Mapping[str, Sequence[float | None]]

    @classmethod
    def of(cls, figure: Any, measure: Callable[[Any, str], float | None]) -> "Plot":
        """A figure with `name`, `title`, `axis`, `points` and `labels`; what a contestant reached at a point."""
        reached = {label: [measure(point, label) for point in figure.points] for label in figure.labels}
        return cls(
            f"{figure.name}: {figure.title}", figure.axis, [point.at for point in figure.points], reached
        )

    def lines(self) -> dict[str, list[float]]:
        """Those of contestants that ran anywhere, with gaps where they did not."""
        whole = {label: [y or nan for y in reached] for label, reached in self.reached.items()}
        return {label: reached for label, reached in whole.items() if not all(map(isnan, reached))}


def draw(path: Path, plots: Sequence[Plot], what: str, *, columns: int, log: bool = False) -> None:
    """A sheet of all plots that have a line; `what` was measured."""
    drawn = [plot for plot in plots if plot.lines()]
    if not drawn:
        return
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    columns = min(columns, len(drawn))
    rows = -(-len(drawn) // columns)
    sheet, axes = plt.subplots(
        rows, columns, figsize=(5.0 * columns, 3.7 * rows), layout="constrained", squeeze=False
    )
    for place in axes.flat[len(drawn) :]:
        place.set_visible(False)
    for plot, place in zip(drawn, axes.flat, strict=False):
        for label, reached in plot.lines().items():
            place.plot(plot.at, reached, marker="o", markersize=3, label=label)
        if log:
            place.set_yscale("log")
        place.set_title(plot.title, fontsize=8)
        place.set_xlabel(plot.axis, fontsize=8)
        place.set_ylabel(what, fontsize=8)
        place.tick_params(labelsize=7)
        place.legend(fontsize=7)
    sheet.savefig(path, dpi=120)
    plt.close(sheet)
