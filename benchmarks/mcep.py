"""MCEP's experiments (sec. 6.2 and appendix D) on our engine: figures 10 to 14, with `auto` among the contestants.

`stretto bench mcep [options]` or `python benchmarks/mcep.py [options]`. Gains are those over `none`, which shares and
reorders nothing. Windows are seconds where the paper has minutes, and searches get seconds where it gives minutes:
every optimizer the same limit, of at least five seconds. A result whose initial plan was incomplete when the time was
over is marked.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # so that the folder's modules are found however this one was loaded

from benchmarks.optimizers import Bench, Case, Contestant, Scale, Source  # noqa: E402  (after the path is set)
from benchmarks.optimizers_command import carry_out, parser_of  # noqa: E402
from benchmarks.optimizers_report import Figure, Outcome, Point, say  # noqa: E402
from benchmarks.parts import named  # noqa: E402

from stretto.engine.adapt import AdaptOptions  # noqa: E402
from stretto.generate.reshuffle import Reshuffle  # noqa: E402
from stretto.generate.workloads import workload  # noqa: E402

LEAST_BUDGET = 5.0
"""Seconds of planning for every optimizer: with less, MCEP's search may end before its initial plan is complete."""
PARTIAL = 1e4
"""Partial matches per second of a pattern whose types change places, before they do."""
NEIGHBOURHOODS = ("", "-vertex4", "-vertex8", "-prefix")
ANNEAL = tuple(f"mcep{name}" for name in NEIGHBOURHOODS)
TABU = tuple(f"mcep-tabu{name}" for name in NEIGHBOURHOODS)
LOCAL = ("mcep", "mcep-tabu", "auto")
ALL = ("share", "reorder", "spass", "motto", "mcep", "mcep-tabu", "auto")
EVERYONE = tuple(dict.fromkeys((*ALL, *ANNEAL, *TABU)))
SENSITIVE = ("share", "reorder", "mcep", "mcep-tabu", "auto")


@dataclass(frozen=True, slots=True)
class Dataset:
    """One of the paper's data sets: its stream and workload, the default window and those that are tried.

    `brief`: the window where types change places, and with them how many matches there are. `partial`: partial matches
    that a pattern makes per second in the order of its text, about.
    """

    name: str
    stream: str
    workload: str
    window: str
    brief: str
    partial: float
    windows: tuple[str, ...]
    counts: tuple[int, ...]
    letters: Mapping[str, str]


STOCKS = Dataset(
    "stocks",
    "mcep-stocks",
    "mcep-stocks",
    "2 SECONDS",
    "400 MILLISECONDS",
    5e4,
    ("500 MILLISECONDS", "2500 MILLISECONDS"),
    (2_000, 8_000),
    {"anneal": "10a", "tabu": "10b", "size": "12a", "length": "12b", "window": "12c", "count": "12d"}
    | {"adapt": "13a", "density": "14a", "rates": "14c"},
)
TRAFFIC = Dataset(
    "traffic",
    "traffic",
    "mcep-traffic",
    "3 SECONDS",
    "1 SECOND",
    1e5,
    ("1 SECOND", "3500 MILLISECONDS"),
    (5_000, 20_000),
    {"anneal": "10c", "tabu": "10d", "size": "12e", "length": "12f", "window": "12g", "count": "12h"}
    | {"adapt": "13b", "density": "14b", "rates": "14d"},
)


SCALE = Scale()
SMALL = Scale(batch=1 << 11, step=1 << 11, most=1 << 12, pilot=1 << 12, known=1 << 12, enough=0.0, repeat=1)


@dataclass(frozen=True, slots=True)
class Setting:
    """How large the experiment is. `limit`: seconds of `none` at a point, `long`: at the default point.

    `changing`: types of the stream whose types change places, five at a time every `reshuffles` events; `changes`:
    seconds of `none` there, of which planning anew should be a small part.
    """

    queries: int = 100
    length: int = 5
    types: int | None = None
    sizes: tuple[int, ...] = (25, 200)
    lengths: tuple[int, ...] = (3, 6)
    budgets: tuple[float, ...] = (0.25, 1.0, 4.0)
    densities: tuple[float, ...] = (0.1, 0.8)
    differences: tuple[float, ...] = (0.1, 1.0)
    reshuffles: tuple[int, ...] = (1_000, 100, 10)
    places: int = 3
    changing: int = 100
    follow: int = 1 << 15
    budget: float = LEAST_BUDGET
    limit: float = 1.2
    changes: float = 15.0
    long: float = 60.0
    seed: int = 1
    scale: Scale = SCALE


QUICK = Setting(
    queries=12,
    length=4,
    types=60,
    sizes=(4,),
    lengths=(3,),
    budgets=(0.05,),
    densities=(0.3,),
    differences=(0.5,),
    reshuffles=(500,),
    places=1,
    changing=40,
    follow=1 << 10,
    budget=0.05,
    limit=0.1,
    changes=0.1,
    long=0.1,
    scale=SMALL,
)
SWEEPS = ("default", "size", "length", "window", "count", "budget", "adapt", "density", "rates")
"""`default` is for many seeds: the one point that most sweeps have in common."""


def run(out: Path, data: Path | None, options: Sequence[str]) -> int:
    """Compare, measure, print the tables, and write mcep.json, mcep.txt and mcep.png into `out`."""
    del data  # streams are generated
    given = _parse(options)
    setting = QUICK if given.quick else Setting()
    for name in ("seed", "budget", "limit", "long", "changes"):
        if getattr(given, name) is not None:
            setting = replace(setting, **{name: getattr(given, name)})

    def made(seed: int) -> Outcome:
        return experiment(replace(setting, seed=seed), given.only, given.data_sets)

    return carry_out("mcep", out, given, setting.seed, made)


def _parse(given: Sequence[str]) -> argparse.Namespace:
    parser = parser_of("mcep", __doc__, SWEEPS, "size,window")
    known = [dataset.name for dataset in (STOCKS, TRAFFIC)]
    parser.add_argument("--data-sets", type=named(known), default=known, help="stocks, traffic")
    parser.add_argument("--long", type=float, help="as --limit, at the default point")
    parser.add_argument("--changes", type=float, help="the same where types change places")
    found = parser.parse_args(given)
    if found.budget is not None and found.budget < LEAST_BUDGET and not found.quick:
        parser.error(
            f"--budget {found.budget:g}: in less than {LEAST_BUDGET:g} s the initial plan of `mcep` may be incomplete;"
            f" give {LEAST_BUDGET:g} s or more, or use --quick"
        )
    return found


def experiment(
    setting: Setting, only: Sequence[str] = SWEEPS, datasets: Sequence[str] = ("stocks", "traffic")
) -> Outcome:
    """All figures that are asked for."""
    figures: list[Figure] = []
    default: dict[str, Point] = {}
    for dataset in (STOCKS, TRAFFIC):
        if dataset.name not in datasets:
            continue
        sweeps = Sweeps(dataset, setting, Bench(setting.scale))
        figures += [figure for name in SWEEPS if name in only for figure in sweeps.figures(name)]
        if {"size", "length", "window"} & set(only):
            labels = EVERYONE if "size" in only else ALL
            default[f"{dataset.name}, {setting.queries} patterns of {setting.length}"] = sweeps.default(
                labels
            )
    ordered = sorted(figures, key=lambda figure: (int(figure.name[:2]), figure.name))
    return Outcome("mcep", setting.seed, tuple(ordered), default, budget=setting.budget)


@dataclass(frozen=True, slots=True)
class Sweeps:
    """The experiments on one data set."""

    dataset: Dataset
    setting: Setting
    bench: Bench

    def figures(self, name: str) -> list[Figure]:
        """The figures that one sweep fills."""
        sweep: Callable[[], list[Figure]] = getattr(self, f"_{name}")
        return sweep()

    def default(self, labels: Sequence[str]) -> Point:
        """100 patterns of 5 types in the default window."""
        return self._point(str(self.setting.queries), self._case(), labels)

    def _default(self) -> list[Figure]:
        """One point, so that many seeds can be had."""
        title = f"{self.dataset.name}, {self.setting.length} types, window of {_brief(self.dataset.window)}"
        return [Figure("12", title, "patterns", (self.default(ALL),), ALL)]

    def _size(self) -> list[Figure]:
        sizes = sorted({*self.setting.sizes, self.setting.queries})
        points = tuple(self._point(str(n), self._case(queries=n), EVERYONE) for n in sizes)
        return [
            self._figure("anneal", "simulated annealing", "patterns", points, (*ANNEAL, "auto")),
            self._figure("tabu", "tabu search", "patterns", points, (*TABU, "auto")),
            self._figure("size", "workload size", "patterns", points, ALL),
        ]

    def _length(self) -> list[Figure]:
        lengths = sorted({*self.setting.lengths, self.setting.length})
        points = tuple(self._point(str(n), self._case(length=n), ALL) for n in lengths)
        return [
            self._shown("11a", "pattern length", "types", points),
            self._figure("length", "pattern length", "types", points, ALL),
        ]

    def _window(self) -> list[Figure]:
        windows = sorted({*self.dataset.windows[: self.setting.places], self.dataset.window}, key=_amount)
        points = tuple(self._point(_brief(w), self._case(window=w), ALL) for w in windows)
        return [
            self._shown("11c", "time window", "window", points),
            self._figure("window", "time window", "window", points, ALL),
        ]

    def _count(self) -> list[Figure]:
        counts = self.dataset.counts[: self.setting.places]
        points = tuple(self._point(f"{n:,}", self._case(window=f"{n} EVENTS"), ALL) for n in counts)
        return [
            self._shown("11d", "count window", "events", points),
            self._figure("count", "count window", "events", points, ALL),
        ]

    def _budget(self) -> list[Figure]:
        points = []
        for budget in self.setting.budgets:
            contestants = [Contestant("none", "none"), *(Contestant(name, name, budget) for name in LOCAL)]
            case = replace(self._case(), limit=self.setting.limit)
            points.append(self._run(f"{budget:g}", case, contestants))
        return [self._shown("11b", "time of the optimizer", "seconds", tuple(points))]

    def _adapt(self) -> list[Figure]:
        """Types change places as often as in the paper, and the plan is made for the stream as it was before.

        Five at a time, of a hundred and not of thousands, and for good: else no rate that a plan goes by would change.
        """
        setting, points = self.setting, []
        source = replace(self._source(), types=setting.changing)
        text = self._text(
            window=self.dataset.brief,
            queries=setting.queries // 4,
            types=setting.changing,
            partial=PARTIAL,
            unusual=0.0,
        )
        follow = AdaptOptions(
            budget=setting.budget / 2, every=setting.follow, sample=setting.follow, background=False
        )
        contestants = [Contestant("none", "none")]
        for name in ("mcep", "auto"):
            contestants.append(Contestant(f"{name} static", name, setting.budget))
            contestants.append(Contestant(f"{name} adaptive", name, setting.budget, follow))
        for every in setting.reshuffles:
            changing = replace(source, reshuffle=Reshuffle(every, lasting=True))
            case = Case(changing, text, setting.changes, source, setting.follow)
            points.append(self._run(f"{1e3 / every:g}", case, contestants))
        labels = tuple(one.label for one in contestants[1:])
        title = "changes of five types per thousand events, planning anew on the clock"
        return [self._figure("adapt", title, "changes", tuple(points), labels)]

    def _density(self) -> list[Figure]:
        points = tuple(
            self._point(f"{d:g}", self._case(density=d, operator="seq"), SENSITIVE)
            for d in self.setting.densities
        )
        return [self._figure("density", "graph density", "density", points, SENSITIVE)]

    def _rates(self) -> list[Figure]:
        points = tuple(
            self._point(f"{d:g}", self._case(rate_difference=d, operator="and"), SENSITIVE)
            for d in self.setting.differences
        )
        return [self._figure("rates", "difference of rates", "difference", points, SENSITIVE)]

    def _figure(
        self, key: str, title: str, axis: str, points: tuple[Point, ...], labels: Sequence[str]
    ) -> Figure:
        return Figure(self.dataset.letters[key], f"{self.dataset.name}, {title}", axis, points, tuple(labels))

    def _shown(self, number: str, title: str, axis: str, points: tuple[Point, ...]) -> Figure:
        return Figure(number, f"{self.dataset.name}, {title}", axis, points, LOCAL)

    def _point(self, at: str, case: Case, labels: Sequence[str]) -> Point:
        contestants = [Contestant("none", "none")]
        contestants += [Contestant(name, name, self.setting.budget) for name in labels]
        return self._run(at, case, contestants)

    def _run(self, at: str, case: Case, contestants: Sequence[Contestant]) -> Point:
        say(f"{self.dataset.name} at {at}: {', '.join(one.label for one in contestants)}")
        return self.bench.point(at, case, contestants)

    def _case(self, **options: object) -> Case:
        """A workload that is the default one but for some options; the default one may take its time."""
        text = self._text(**options)
        limit = self.setting.long if text == self._text() else self.setting.limit
        return Case(self._source(), text, limit)

    def _source(self) -> Source:
        return Source(self.dataset.stream, self.setting.seed, types=self.setting.types)

    def _text(self, **options: object) -> str:
        """The patterns do not depend on the window, so that a sweep over windows has the same ones everywhere."""
        default = self.dataset.window
        window = str(options.pop("window", default))
        setting = self.setting
        settled = {"queries": setting.queries, "length": setting.length, "types": setting.types} | options
        settled.setdefault("partial", self.dataset.partial)
        text = _workload(self.dataset.workload, setting.seed, default, tuple(sorted(settled.items())))
        return text.replace(f"WITHIN  {default};", f"WITHIN  {window};")


@cache
def _workload(kind: str, seed: int, window: str, options: tuple[tuple[str, object], ...]) -> str:
    settled = dict(options)
    queries = settled.pop("queries")
    assert isinstance(queries, int)
    return workload(kind, queries, seed, window=window, **settled)


def _amount(window: str) -> float:
    number, unit = window.split()
    return float(number) * (0.001 if unit.startswith("MILLI") else 1.0)


def _brief(window: str) -> str:
    return f"{_amount(window):g} s"


if __name__ == "__main__":
    sys.exit(run(ROOT / "benchmarks" / "results", None, sys.argv[1:]))
