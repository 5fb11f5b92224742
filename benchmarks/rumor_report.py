"""What `rumor` measured: tables figure by figure, each goal beside its figure, JSON and a plot."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from benchmarks.rumor_measure import Cell
from benchmarks.sheets import machine

SHARING = ("rumor", "auto")
"""Optimizers that a goal is about, the better of them counts; goals about channels take the first that is there."""
FITTED = ", matches "
"""In the names of figures through whose runs a line is laid, before the share of events that can match."""
FEWEST_FITTED = 3


@dataclass(frozen=True, slots=True)
class Point:
    """All contestants at one place of the axis."""

    at: str
    queries: int
    cells: tuple[Cell, ...]

    def cell(self, *labels: str) -> Cell | None:
        """The fastest of these contestants that has a time."""
        timed = [cell for cell in self.cells if cell.label in labels and cell.run]
        return min(timed, key=lambda cell: cell.run, default=None)


@dataclass(frozen=True, slots=True)
class Figure:
    name: str
    title: str
    axis: str
    points: tuple[Point, ...]

    @property
    def labels(self) -> list[str]:
        return list(dict.fromkeys(cell.label for point in self.points for cell in point.cells))


@dataclass(frozen=True, slots=True)
class Outcome:
    seed: int
    figures: tuple[Figure, ...]
    wanted: tuple[str, ...] = ()

    def figure(self, name: str) -> Figure | None:
        return next((figure for figure in self.figures if figure.name == name), None)

    @property
    def disagreements(self) -> list[str]:
        return [
            f"{figure.name}, {figure.axis} {point.at}: {cell.label}"
            for figure in self.figures
            for point in figure.points
            for cell in point.cells
            if cell.missing == "OTHER ANSWERS"
        ]


def table(outcome: Outcome, *, goals: bool = True) -> str:
    load = f"; load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    lines = [
        f"rumor: seed {outcome.seed}; {machine()}; one core{load}",
        "thousand events per second of running, by CPU time; [parse + plan seconds, MB]",
    ]
    for figure in outcome.figures:
        lines += ["", f"Figure {figure.name}. {figure.title}", *_aligned(_rows(figure)), *_reasons(figure)]
    if goals:
        lines += ["", *_aligned([["goal", "wanted", "measured", ""], *_goal_rows(outcome)])]
    return "\n".join(lines)


def _rows(figure: Figure) -> list[list[str]]:
    rows = [[figure.axis, "matches", *figure.labels]]
    for point in figure.points:
        cells = {cell.label: cell for cell in point.cells}
        matches = max(cell.outputs for cell in point.cells)
        rows.append([point.at, f"{matches:,}", *(_text(cells.get(label)) for label in figure.labels)])
    return rows


def _text(cell: Cell | None) -> str:
    if cell is None or not cell.run:
        return "n/a"
    memory = f", {cell.peak_mb:.0f}" if cell.peak_mb else ""
    more = f" [{cell.parse + cell.plan:.1f}{memory}]" if cell.parse or cell.plan else ""
    return f"{cell.rate / 1000:,.1f}{more}"


def _reasons(figure: Figure) -> list[str]:
    found: dict[tuple[str, str], list[str]] = {}
    for point in figure.points:
        for cell in point.cells:
            if cell.missing:
                found.setdefault((cell.label, cell.missing), []).append(point.at)
    return [f"  n/a: {label} at {', '.join(at)}: {why}" for (label, why), at in found.items()]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


# ---- goals -----------------------------------------------------------------------------------------------------


def _goal_rows(outcome: Outcome) -> Iterator[list[str]]:
    for what, wanted, limit, at_most, measure in GOALS:
        value = measure(outcome)
        if value is None:
            yield [what, wanted, "not measured", ""]
        else:
            reached = value <= limit if at_most else value >= limit
            yield [
                what,
                wanted,
                f"{value:,.2f}" if value < 1_000 else f"{value:,.0f}",
                "" if reached else "MISSED",
            ]


def _ends(figure: Figure | None) -> tuple[Cell, Cell] | None:
    """The sharing contestants at the first and the last point."""
    if figure is None or len(figure.points) < 2:
        return None
    first, last = (point.cell(*SHARING) for point in (figure.points[0], figure.points[-1]))
    return (first, last) if first and last else None


def _fixed(name: str) -> Callable[[Outcome], float | None]:
    """The last point's time by the first's, each without what matches cost: a of time = a + b * matches."""

    def measure(outcome: Outcome) -> float | None:
        ends = [_ends(figure) for figure in outcome.figures if figure.name.startswith(name + FITTED)]
        runs = [pair for pair in ends if pair is not None]
        if len(runs) < FEWEST_FITTED:
            return None
        first, last = (_without_matches(cells) for cells in zip(*runs, strict=True))
        return last / first if first > 0 else None

    return measure


def _without_matches(cells: Sequence[Cell]) -> float:
    """Where the line nearest to all runs begins; runs count by the parts of their times that they are off."""
    matches, times = (
        np.array(column, np.float64) for column in zip(*((c.outputs, c.run) for c in cells), strict=True)
    )
    each, begin = np.polyfit(matches, times, 1, w=1 / times)
    return float(begin if each > 0 else times.min())


def _last(name: str, of: Callable[[Cell], float]) -> Callable[[Outcome], float | None]:
    def measure(outcome: Outcome) -> float | None:
        figure = outcome.figure(name)
        cell = figure.points[-1].cell(*SHARING) if figure else None
        return of(cell) if cell else None

    return measure


def _growth(name: str) -> Callable[[Outcome], float | None]:
    """Time per event of the last point by that of the first."""

    def measure(outcome: Outcome) -> float | None:
        ends = _ends(outcome.figure(name))
        return ends[0].rate / ends[1].rate if ends else None

    return measure


def _gain(name: str, at: str, over: str, *labels: str) -> Callable[[Outcome], float | None]:
    def measure(outcome: Outcome) -> float | None:
        figure = outcome.figure(name)
        point = next((point for point in figure.points if point.at == at), None) if figure else None
        mine, other = (point.cell(*labels), point.cell(over)) if point else (None, None)
        return mine.rate / other.rate if mine and other else None

    return measure


def _spread(name: str) -> Callable[[Outcome], float | None]:
    """The slowest by the fastest from sel 0.2 on."""

    def measure(outcome: Outcome) -> float | None:
        figure = outcome.figure(name)
        label = next((one for one in SHARING if figure and one in figure.labels), "")
        times = [cell.run for point in (figure.points[1:] if figure else ()) if (cell := point.cell(label))]
        return max(times) / min(times) if len(times) > 1 else None

    return measure


def _preparing(cell: Cell) -> float:
    return cell.parse + cell.plan


Goal = tuple[str, str, float, bool, Callable[[Outcome], float | None]]
AT_MOST, AT_LEAST = True, False
CHANNEL = ("no channel", *SHARING)
GOALS: tuple[Goal, ...] = (
    ("W1, without matches: most queries / fewest", "at most 2", 2.0, AT_MOST, _fixed("9a")),
    ("W1 at most queries, events/s", "at least 100,000", 1e5, AT_LEAST, _last("9a", lambda cell: cell.rate)),
    ("W1, members of a table, events/s", "at least 30,000", 3e4, AT_LEAST, _last("9a, table", lambda cell: cell.rate)),
    ("W1, all constants different: time per event / one query", "at most 3", 3.0, AT_MOST, _growth("9a, distinct")),
    ("W2, without matches: most queries / fewest", "at most 1.3", 1.3, AT_MOST, _fixed("10a")),
    ("W2 as mu, without matches: most queries / fewest", "at most 2", 2.0, AT_MOST, _fixed("10b")),
    ("W3, capacity 10: channel / no channel", "at least 8", 8.0, AT_LEAST, _gain("10d", "10", *CHANNEL)),
    ("W3, capacity 100: channel / no channel", "at least 50", 50.0, AT_LEAST, _gain("10d", "100", *CHANNEL)),
    ("hybrid, 10 queries: sel 0.2 to 1, slowest / fastest", "at most 1.1", 1.1, AT_MOST, _spread("11b, 10 queries")),
    ("hybrid, 1,000 queries: the same", "at most 1.1", 1.1, AT_MOST, _spread("11b, 1000 queries")),
    ("parse and plan, queries as text, s", "at most 10", 10.0, AT_MOST, _last("9a", _preparing)),
    ("parse and plan, members of a table, s", "at most 20", 20.0, AT_MOST, _last("9a, table", _preparing)),
    ("memory, members of a table, GB", "under 4", 4.0, AT_MOST, _last("9a, table", lambda cell: cell.peak_mb / 1024)),
    *(
        (f"streams that differ in {kind}: shared / one by one", "at least 10", 10.0, AT_LEAST,
         _gain("streams", kind, "one by one", *SHARING))
        for kind in ("group-bys", "windows", "filters")
    ),
    *(
        (f"one AVG by key, {keys}: DuckDB's time / ours", "at least 1", 1.0, AT_LEAST,
         _gain("average", keys, "duckdb", "stretto"))
        for keys in ("1,000 keys, 60 events of a key", "all keys are different")
    ),
)  # fmt: skip


def write(out: Path, outcome: Outcome) -> None:
    """Text and JSON."""
    (out / "rumor.txt").write_text(table(outcome) + "\n", encoding="utf-8")
    (out / "rumor.json").write_text(json.dumps(asdict(outcome), indent=1) + "\n", encoding="utf-8")


def draw(out: Path, outcome: Outcome) -> None:
    """A plot, if there is a library for it."""
    try:
        import matplotlib as mpl

        mpl.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        return
    columns = 3
    lines = -(-len(outcome.figures) // columns)
    drawing, axes = plt.subplots(lines, columns, figsize=(5 * columns, 3.6 * lines), squeeze=False)
    for place, figure in zip(axes.ravel(), outcome.figures, strict=False):
        for label in figure.labels:
            timed = [(point.at, cell.rate / 1000) for point in figure.points if (cell := point.cell(label))]
            if timed:
                place.plot([at for at, _ in timed], [rate for _, rate in timed], marker="o", label=label)
        place.set_title(f"{figure.name}: {figure.title}", fontsize=8)
        place.set_xlabel(figure.axis)
        place.set_ylabel("thousand events/s")
        place.set_yscale("log")
        if place.lines:
            place.legend(fontsize=7)
    for place in axes.ravel()[len(outcome.figures) :]:
        place.axis("off")
    drawing.tight_layout()
    drawing.savefig(out / "rumor.png", dpi=110)
    plt.close(drawing)
