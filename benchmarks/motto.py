"""MOTTO's experiments (sec. VII) on our engine: figures 13 a, b and 14 a to d, with `auto` among the contestants.

`stretto bench motto [options]` or `python benchmarks/motto.py [options]`. Throughput is that of `none` (the paper's NA)
times the figures shown.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # so that the folder's modules are found however this one was loaded

from benchmarks.motto_cores import points  # noqa: E402  (after the path is set)
from benchmarks.optimizers import Bench, Case, Contestant, Scale, Source  # noqa: E402  (after the path is set)
from benchmarks.optimizers_command import carry_out, parser_of  # noqa: E402
from benchmarks.optimizers_report import Figure, Outcome, Point, say  # noqa: E402

from stretto.generate.workloads import workload  # noqa: E402

LABELS = ("motto-mst", "lcse", "motto-paper", "motto", "auto")
ON_CORES = ("motto", "auto")
STREAMS = {"motto-stocks": Source("stocks", rate=2.0), "motto-datacenter": Source("datacenter", rate=5.0)}
"""About one event of a type per window, so that lists of several types still have few matches."""
SWEEPS = ("stocks", "datacenter", "queries", "cores", "windows", "nesting")


SCALE = Scale(known=1 << 16, most=1 << 20)
SMALL = Scale(batch=1 << 11, step=1 << 11, most=1 << 12, pilot=1 << 12, known=1 << 12, enough=0.0, repeat=1)


@dataclass(frozen=True, slots=True)
class Setting:
    """How large the experiment is. `limit`: seconds of `none` at a point; `exact`, `anneal`: budgets of figure 14a;
    `spread`: events of figure 14b.
    """

    queries: int = 100
    ratios: tuple[float, ...] = (0.0, 0.5, 1.0)
    numbers: tuple[int, ...] = (20, 100, 300)
    windows: tuple[str, ...] = ("4:1", "1:1", "1:4")
    levels: tuple[int, ...] = (2, 4, 8)
    budget: float = 5.0
    anneal: float = 5.0
    exact: float = 20.0
    limit: float = 2.0
    spread: int = 1 << 19
    seed: int = 1
    scale: Scale = SCALE


QUICK = Setting(
    queries=8,
    ratios=(0.5,),
    numbers=(6,),
    windows=("2:1",),
    levels=(3,),
    budget=0.1,
    anneal=0.1,
    exact=0.2,
    limit=0.1,
    spread=1 << 13,
    scale=SMALL,
)


def run(out: Path, data: Path | None, options: Sequence[str]) -> int:
    """Compare, measure, print the tables, and write motto.json, motto.txt and motto.png into `out`."""
    del data  # streams are generated
    given = parser_of("motto", __doc__, SWEEPS, "stocks,nesting").parse_args(options)
    setting = QUICK if given.quick else Setting()
    for name in ("seed", "budget", "limit"):
        if getattr(given, name) is not None:
            setting = replace(setting, **{name: getattr(given, name)})

    def made(seed: int) -> Outcome:
        return experiment(replace(setting, seed=seed), given.only)

    return carry_out("motto", out, given, setting.seed, made)


def experiment(setting: Setting, only: Sequence[str] = SWEEPS) -> Outcome:
    """All figures that are asked for."""
    sweeps = _Sweeps(setting, Bench(setting.scale))
    made = {
        "stocks": lambda: sweeps.ratios("13a", "motto-stocks", "stock market"),
        "datacenter": lambda: sweeps.ratios("13b", "motto-datacenter", "data centre"),
        "queries": sweeps.queries,
        "cores": sweeps.cores,
        "windows": sweeps.windows,
        "nesting": sweeps.nesting,
    }
    return Outcome("motto", setting.seed, tuple(made[name]() for name in SWEEPS if name in only))


@dataclass(frozen=True, slots=True)
class _Sweeps:
    setting: Setting
    bench: Bench

    def ratios(self, name: str, kind: str, title: str) -> Figure:
        points = tuple(self._point(f"{r:.0%}", kind, ratio=r) for r in self.setting.ratios)
        return Figure(name, f"{title}, share of the basic group", "basic", points, LABELS)

    def queries(self) -> Figure:
        """Branch and bound, for as long as it takes, against simulated annealing in a constant time."""
        setting = self.setting
        contestants = (
            Contestant("none", "none"),
            Contestant("motto", "motto", setting.exact),
            Contestant("motto-anneal", "motto-anneal", setting.anneal),
            Contestant("auto", "auto", setting.budget),
        )
        points = tuple(
            self._point(str(n), "motto-stocks", contestants, queries=n, ratio=1.0) for n in setting.numbers
        )
        labels = tuple(one.label for one in contestants[1:])
        return Figure("14a", "number of queries (and seconds of the optimizer)", "queries", points, labels)

    def cores(self) -> Figure:
        """The plans on Spark, where the time is that of the clock: cores are what it is about."""
        setting = self.setting
        source = replace(STREAMS["motto-stocks"], seed=setting.seed)
        text = workload("motto-stocks", queries=setting.queries, seed=setting.seed, ratio=1.0)
        planned = self.bench.planned(
            Case(source, text, setting.limit),
            [Contestant("none", "none"), *(Contestant(name, name, setting.budget) for name in ON_CORES)],
        )
        found = points(planned, source.table(setting.spread))
        return Figure("14b", "cores of Spark (seconds by the clock)", "master", found, ON_CORES)

    def windows(self) -> Figure:
        points = tuple(
            self._point(w, "motto-stocks", ratio=1.0, window_ratio=w) for w in self.setting.windows
        )
        return Figure("14c", "windows of source and beneficiary", "windows", points, LABELS)

    def nesting(self) -> Figure:
        points = tuple(self._point(str(n), "motto-stocks", ratio=0.0, level=n) for n in self.setting.levels)
        return Figure("14d", "level of nesting", "levels", points, LABELS)

    def _point(
        self, at: str, kind: str, contestants: Sequence[Contestant] | None = None, **options: object
    ) -> Point:
        given = contestants or [
            Contestant("none", "none"),
            *(Contestant(name, name, self.setting.budget) for name in LABELS),
        ]
        settled = {"queries": self.setting.queries, "seed": self.setting.seed} | options
        source = replace(STREAMS[kind], seed=self.setting.seed)
        say(f"{kind} at {at}: {', '.join(one.label for one in given)}")
        return self.bench.point(at, Case(source, workload(kind, **settled), self.setting.limit), given)  # type: ignore[arg-type]


if __name__ == "__main__":
    sys.exit(run(ROOT / "benchmarks" / "results", None, sys.argv[1:]))
