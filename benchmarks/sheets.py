"""How experiments show and keep what they measured: columns of text, JSON, and plots side by side on one sheet."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan
from pathlib import Path
from typing import Any

from stretto.memo.prices import Prices, load


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
