"""What named optimizers did, point by point: tables of gains, a summary, JSON and plots."""

import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from benchmarks.contestants.answers import WrongAnswerError
from benchmarks.sheets import Plot, aligned, draw, keep, machine

from stretto.errors import EngineError

NONE = "none"
AUTO = "auto"
CLOSE = 1.05
"""A contestant within 5% of the fastest counts as the fastest."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What one contestant did at one point; `missing` says why there is nothing.

    `seconds` of one core for all events; `gain`: those of `none` by them. `planning`: seconds that the optimizer took.
    `output`: those of `seconds` in which matches became columns and nothing else was done. `alike`: same plan.
    `incomplete`: the time for planning was over before the initial plan was complete.
    """

    label: str
    optimizer: str
    events: int = 0
    matches: int = 0
    seconds: float = 0.0
    gain: float = 0.0
    planning: float = 0.0
    operators: int = 0
    estimate: float = 0.0
    gap: float | None = None
    output: float = 0.0
    switches: int = 0
    alike: str = ""
    missing: str = ""
    incomplete: bool = False
    gains: tuple[float, ...] = ()
    """Those of several seeds, in ascending order, where `gain` is their median."""

    @property
    def each(self) -> float:
        """Seconds per event."""
        return self.seconds / max(self.events, 1)


@dataclass(frozen=True, slots=True)
class Point:
    """All cells of one workload; `at` is its place on the axis, `key` the same for the same workload and budgets."""

    at: str
    cells: tuple[Cell, ...]
    key: str = ""

    def cell(self, label: str) -> Cell | None:
        return next((cell for cell in self.cells if cell.label == label), None)

    @property
    def timed(self) -> list[Cell]:
        return [cell for cell in self.cells if cell.seconds]


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a paper: its points, and which contestants it shows."""

    name: str
    title: str
    axis: str
    points: tuple[Point, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Everything that an experiment measured; `runs`: the same of each seed, where there are several."""

    name: str
    seed: int
    figures: tuple[Figure, ...]
    default: Mapping[str, Point] = field(default_factory=dict)
    seconds: float = 0.0
    budget: float = 0.0
    """Seconds that every optimizer may plan, where a figure does not vary them; 0: not stated."""
    runs: tuple["Outcome", ...] = ()

    @property
    def points(self) -> dict[str, Point]:
        """Every point once, with all its contestants, by the first figure that shows it so; of every seed."""
        found: dict[str, tuple[str, Point]] = {}
        for run in self.runs or (self,):
            for figure in run.figures:
                for point in figure.points:
                    seed = f", seed {run.seed}" if self.runs else ""
                    name = f"{figure.name} ({figure.title}) at {point.at}{seed}"
                    if point.key not in found or len(found[point.key][1].cells) < len(point.cells):
                        found[point.key] = name, point
        return dict(found.values())


def over_seeds(seeds: Sequence[int], make: Callable[[int], Outcome]) -> Outcome:
    """An experiment with each of some seeds: the figures of the first, every gain the median of all."""
    return of_all([make(seed) for seed in seeds])


def of_all(outcomes: Sequence[Outcome]) -> Outcome:
    """Parts of an experiment as one: what has the same seed stands together, seeds become medians."""
    runs: dict[int, Outcome] = {}
    for run in (one for outcome in outcomes for one in outcome.runs or (outcome,)):
        runs[run.seed] = _together(runs[run.seed], run) if run.seed in runs else run
    if len(runs) == 1:
        return next(iter(runs.values()))
    seeds = tuple(runs[seed] for seed in sorted(runs))
    alike: dict[tuple[str, str], list[Figure]] = {}
    for figure in (figure for run in seeds for figure in run.figures):
        alike.setdefault((figure.name, figure.title), []).append(figure)
    figures = tuple(_median_figure(some, len(seeds)) for some in alike.values())
    return replace(seeds[0], figures=figures, seconds=sum(run.seconds for run in seeds), runs=seeds)


def _together(one: Outcome, other: Outcome) -> Outcome:
    figures = sorted((*one.figures, *other.figures), key=lambda figure: figure.name)
    default = {**one.default, **other.default}
    return replace(one, figures=tuple(figures), default=default, seconds=one.seconds + other.seconds)


def _median_figure(figures: Sequence[Figure], seeds: int) -> Figure:
    points = zip(*(figure.points for figure in figures), strict=True)
    fewer = "" if len(figures) == seeds else f" (seeds: {len(figures)})"
    title = f"{figures[0].title}{fewer}"
    return replace(figures[0], title=title, points=tuple(map(_median_point, points)))


def _median_point(points: Sequence[Point]) -> Point:
    return replace(points[0], cells=tuple(map(_median_cell, zip(*(p.cells for p in points), strict=True))))


def _median_cell(cells: Sequence[Cell]) -> Cell:
    """The first seed's cell, with the median of what all gain and of the time that they plan."""
    gains = tuple(sorted(cell.gain for cell in cells))
    planning = statistics.median(cell.planning for cell in cells)
    incomplete = any(cell.incomplete for cell in cells)
    return replace(
        cells[0], gain=statistics.median(gains), gains=gains, planning=planning, incomplete=incomplete
    )


def table(outcome: Outcome) -> str:
    """Plain text: a table of gains per figure, and a summary."""
    limit = f"; planning limit {outcome.budget:g} s for every optimizer" if outcome.budget else ""
    lines = [
        f"{outcome.name}: {_seeds(outcome)}; {machine()}; one core; {outcome.seconds:.0f} s in all{limit}",
        "the first word of a column is its `--optimizer`; gain: time per event of `none` by that of the contestant;",
        "(s): seconds that planning took; all times are those of the processor;",
        "(s!): the limit of planning was reached before the initial plan was complete: not a fair result;",
        "output: the share of the fastest one's time in which its matches become columns; it is on everyone's clock",
    ]
    for figure in outcome.figures:
        lines += ["", f"Figure {figure.name}. {figure.title}", *aligned(_rows(figure))]
    return "\n".join([*lines, "", *summary(outcome)])


def _seeds(outcome: Outcome) -> str:
    if not outcome.runs:
        return f"seed {outcome.seed}"
    seeds = ", ".join(str(run.seed) for run in outcome.runs)
    return f"seeds {seeds}, medians and [least-greatest] of their gains, the rest of the first"


def _rows(figure: Figure) -> list[list[str]]:
    rows = [[figure.axis, "events", "none", "matches/s", "output", *figure.labels]]
    for point in figure.points:
        shown = [cell for label in figure.labels if (cell := point.cell(label)) is not None]
        base = point.cells[0]
        fastest = max((cell for cell in shown if cell.seconds), key=lambda cell: cell.gain, default=base)
        share = min(fastest.output / fastest.seconds, 1.0) if fastest.seconds else 0.0
        per_second = base.matches / base.seconds if base.seconds else 0.0
        head = [point.at, _short(base.events), f"{base.seconds:.2f}s", _short(per_second), f"{share:.0%}"]
        rows.append([*head, *(_gain(point.cell(label), fastest) for label in figure.labels)])
    return rows


def _gain(cell: Cell | None, fastest: Cell) -> str:
    if cell is None:
        return ""
    if cell.missing:
        return "n/a"
    mark = "*" if CLOSE * cell.gain >= fastest.gain else " "
    spread = f"[{cell.gains[0]:.2f}-{cell.gains[-1]:.2f}] " if cell.gains else ""
    cut_off = "!" if cell.incomplete else ""
    return f"{cell.gain:.2f}{mark} {spread}({cell.planning:.1f}{cut_off})"


def summary(outcome: Outcome) -> list[str]:
    """How `auto` stands: near the fastest, to the best of the papers' optimizers, and to `none` at the default."""
    near, behind, ratios = 0, [], []
    points = {name: p for name, p in outcome.points.items() if _each(p, AUTO)}
    for name, point in points.items():
        own = _each(point, AUTO)
        best = min(point.timed, key=lambda cell: cell.each)
        if own <= CLOSE * best.each:
            near += 1
        else:
            behind.append(f"{name} ({best.label} is {own / best.each:.2f} times as fast)")
        papers = [cell.each for cell in point.timed if cell.optimizer not in (NONE, AUTO)]
        if papers:
            ratios.append(min(papers) / own)
    lines = [f"auto is the fastest or within 5% of it on {near} of {len(points)} points"]
    lines += [f"  behind at {text}" for text in behind]
    if ratios:
        middle = statistics.median(ratios)
        lines.append(f"auto by the best optimizer of the papers, median over the points: {middle:.2f}")
    for name, point in outcome.default.items():
        auto, base = point.cell(AUTO), point.cells[0]
        if auto is not None and auto.seconds:
            share = min(auto.output / auto.seconds, 1.0)
            lines.append(
                f"{name}: auto gains {auto.gain:.1f} over none ({base.seconds:.1f} s for {base.events:,} events, "
                f"{auto.seconds:.2f} s for {auto.events:,} with {auto.matches:,} matches; "
                f"output is {share:.0%} of auto's time)"
            )
    missing = sorted({cell.label for p in outcome.points.values() for cell in p.cells if cell.missing})
    return [*lines, f"n/a, no such optimizer: {', '.join(missing)}"] if missing else lines


def _each(point: Point, label: str) -> float:
    cell = point.cell(label)
    return cell.each if cell is not None else 0.0


def _short(number: float) -> str:
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.1f}{letter}"
    return f"{number:.0f}"


def write(outcome: Outcome, folder: Path) -> None:
    """NAME.json, NAME.txt and a picture per figure."""
    record = asdict(outcome) | {"machine": machine(), "summary": summary(outcome)}
    keep(folder, outcome.name, table(outcome), record)
    plots = [Plot.of(figure, _gain_of) for figure in outcome.figures]
    draw(folder / f"{outcome.name}.png", plots, "throughput by that of none", columns=4)


def _gain_of(point: Point, label: str) -> float | None:
    cell = point.cell(label)
    return cell.gain if cell is not None else None


def measured(name: str, out: Path, make: Callable[[], Outcome]) -> int:
    """Run an experiment, print and write what it found; 1 where a contestant found other matches."""
    start = time.perf_counter()
    try:
        outcome = make()
    except (WrongAnswerError, EngineError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    outcome = replace(outcome, seconds=outcome.seconds or time.perf_counter() - start)
    write(outcome, out)
    print(table(outcome))
    return 0


def say(text: str) -> None:
    """Where the experiment is, for who watches."""
    print(text, file=sys.stderr, flush=True)
