"""What the contestants of `muse` did, figure by figure: tables of throughput, a summary, JSON and plots."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from benchmarks.sheets import Plot, aligned, draw, keep, machine

MUSE, AUTO, GRETA = "muse", "auto", "greta"
"""Optimizers, by their names."""
TWO_STEP, FLAT, SHARON = "two-step", "flat", "sharon"
SHARING = (MUSE, AUTO)
SLOW = (TWO_STEP, FLAT, SHARON)


@dataclass(frozen=True, slots=True)
class Cell:
    """One contestant at one point: `seconds` of one core for so many events; `missing` says why there are none.

    `rows`: of the result. `planning`: seconds. `shared`: units of the plan with a shared part. `peak_mb`: of memory,
    where it was watched.
    """

    label: str
    events: int = 0
    rows: int = 0
    seconds: float = 0.0
    planning: float = 0.0
    shared: int = 0
    peak_mb: float = 0.0
    missing: str = ""

    @property
    def rate(self) -> float:
        """Events per second."""
        return self.events / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class Point:
    """All contestants at one place of the axis; `matstates`: the share of events that one is made at."""

    at: str
    cells: tuple[Cell, ...]
    queries: int = 0
    events_per_window: int = 0
    matstates: float = 0.0

    def cell(self, label: str) -> Cell | None:
        return next((cell for cell in self.cells if cell.label == label and cell.seconds), None)

    def gain(self, label: str, over: str = GRETA) -> float | None:
        """Throughput of a contestant by that of another."""
        own, other = self.cell(label), self.cell(over)
        return own.rate / other.rate if own and other else None


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
    compared: Mapping[str, int] = field(default_factory=dict)
    """Rows of the result that all contestants agreed on, by workload."""
    seconds: float = 0.0


def of_all(parts: Sequence[Outcome]) -> Outcome:
    """Runs of some figures each, of one seed, as one."""
    figures = sorted((figure for part in parts for figure in part.figures), key=lambda figure: figure.name)
    return replace(parts[0], figures=tuple(figures), seconds=sum(part.seconds for part in parts))


def table(outcome: Outcome) -> str:
    lines = [
        f"muse: seed {outcome.seed}; {machine()}; one core; {outcome.seconds:.0f} s in all",
        "events per second, of all queries together; (x): by that of greta; best of several runs, without planning",
        "muse, auto and greta are `--optimizer` of that name; sharon: flat sequences, shared by `muse`",
    ]
    lines += [f"all contestants agree on {name}: {rows:,} rows" for name, rows in outcome.compared.items()]
    for figure in outcome.figures:
        lines += ["", f"Figure {figure.name}. {figure.title}", *aligned(_rows(figure)), *_reasons(figure)]
    return "\n".join([*lines, "", *summary(outcome)])


def _rows(figure: Figure) -> list[list[str]]:
    rows = [[figure.axis, "queries", "MatStates", *figure.labels]]
    for point in figure.points:
        cells = {cell.label: cell for cell in point.cells}
        texts = [_text(point, cells[label]) if label in cells else "" for label in figure.labels]
        rows.append([point.at, str(point.queries), f"{point.matstates:.2%}", *texts])
    return rows


def _text(point: Point, cell: Cell) -> str:
    if not cell.seconds:
        return "n/a"
    gain = point.gain(cell.label) if cell.label != GRETA else None
    peak = f" {cell.peak_mb:.0f} MB" if cell.peak_mb else ""
    return short(cell.rate) + (f" ({_times(gain)})" if gain else "") + peak


def _reasons(figure: Figure) -> list[str]:
    found = {}
    for point in figure.points:
        for cell in point.cells:
            if cell.missing:
                found.setdefault((cell.label, cell.missing), []).append(point.at)
    return [f"  n/a: {label} at {', '.join(at)}: {why}" for (label, why), at in found.items()]


def summary(outcome: Outcome) -> list[str]:
    """How those that share stand to the others, in the terms of the paper."""
    return [line for figure in outcome.figures for line in _summary(figure)]


def _summary(figure: Figure) -> Iterator[str]:
    for other in SLOW:
        ended = [point for point in figure.points if point.cell(other)]
        if ended:
            last = max(ended, key=lambda point: point.events_per_window)
            gains = ((label, last.gain(label, other)) for label in SHARING)
            shown = ", ".join(f"{label} is {_times(gain)} times as fast" for label, gain in gains if gain)
            yield f"{figure.name}: largest window that {other} finished: {last.at} events; {shown}"
    for label in SHARING:
        gains = [(point, gain) for point in figure.points if (gain := point.gain(label))]
        if gains:
            shown = ", ".join(f"{_times(gain)} at {point.at}" for point, gain in gains)
            yield f"{figure.name}: {label} over greta by {figure.axis}: {shown}"


def _times(gain: float) -> str:
    return f"{gain:.2f}" if gain < 10 else f"{gain:,.0f}"


def short(number: float) -> str:
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}"


def write(outcome: Outcome, folder: Path) -> None:
    """muse.json, muse.txt and muse.png."""
    record = asdict(outcome) | {"machine": machine(), "summary": summary(outcome)}
    keep(folder, "muse", table(outcome), record)
    plots = [Plot.of(figure, _rate) for figure in outcome.figures]
    draw(folder / "muse.png", plots, "events per second", columns=2, log=True)


def _rate(point: Point, label: str) -> float | None:
    cell = point.cell(label)
    return cell.rate if cell is not None else None
