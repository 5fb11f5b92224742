"""What `stretto demo` does, step by step, and the result of every step."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from time import perf_counter
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console

from stretto.atomic import write_text
from stretto.cli.demo.found import DemoMatches
from stretto.cli.demo.page import Alone, Demo, Step
from stretto.cli.demo.patterns import demo_workload
from stretto.engine.planning import optimize
from stretto.engine.run import Engine
from stretto.errors import StrettoError
from stretto.explain.text import saving_text
from stretto.generate.trades import SECTORS, SYMBOLS, day_of_trades
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.explanation import explanation
from stretto.screen import counted
from stretto.spark.batch.event_files import EventFiles, open_files, profile_files, survey
from stretto.spark.batch.find_in_files import detect_files
from stretto.spark.errors import clear_failures
from stretto.spark.setup.session import local_cores, session
from stretto.stats.profile import Stats

FILES: Final = 4
ROW_GROUP: Final = 1 << 16
SAMPLE: Final = 0.05


class Job:
    """One run of the demo, in its own folder."""

    def __init__(self, folder: Path, master: str | None, *, quiet: bool) -> None:
        self._folder = folder
        self._master = master
        self._console = Console(stderr=True, quiet=quiet)
        self._steps: list[Step] = []
        self._result = ""

    def run(self, events: int, seed: int, budget: float | None, alone: float) -> Demo:
        """All steps in their order. Matches that were found again to compare are removed at the end."""
        self._folder.mkdir(parents=True, exist_ok=True)
        try:
            return self._run(events, seed, budget, alone)
        finally:
            for name in ("alone", "unshared"):
                shutil.rmtree(self._folder / name, ignore_errors=True)

    def _run(self, events: int, seed: int, budget: float | None, alone: float) -> Demo:
        workload = self._generate(events, seed)
        spark = self._start()
        trades, stats = self._profile(spark, workload)
        plan = self._plan(workload, stats, budget)
        self._warm_up(spark, plan)
        seconds = self._find(spark, plan, trades)
        found = self._look()
        unshared = self._unshared(spark, workload, trades, stats, found)
        each = self._one_by_one(spark, workload, trades, stats, found, alone, seed)
        with self._step("report"):
            self._result = "what was found, and how fast"
            top, pace = found.top(_read_trades(self._folder / "trades")), found.pace()
        return Demo(
            title="A hundred patterns in a day of trades",
            where=_place(spark),
            events=events,
            plan=explanation(plan),
            steps=tuple(self._steps),
            seconds=seconds,
            alone=each,
            found=found.counts(plan.queries),
            top=top,
            pace=pace,
            pictured=[name for name in plan.queries if name.startswith(next(iter(SECTORS)))],
            workload=workload.text,
            unshared=unshared,
        )

    @contextmanager
    def _step(self, name: str) -> Iterator[None]:
        """Time a step; it leaves its result in words in `_result`."""
        start = perf_counter()
        with self._console.status(f"{name} ..") if self._console.is_terminal else nullcontext():
            yield
        self._steps.append(Step(name, self._result, perf_counter() - start))
        self._console.print(
            f"{name:12} {self._steps[-1].seconds:5.1f} s  {self._result}", highlight=False, soft_wrap=True
        )

    def _generate(self, events: int, seed: int) -> Workload:
        with self._step("generate"):
            folder = self._folder / "trades"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            table, size = day_of_trades(events, seed), -(-events // FILES)
            for number in range(FILES):
                part = table.slice(number * size, size)
                pq.write_table(part, folder / f"trades-{number}.parquet", row_group_size=ROW_GROUP)
            text = demo_workload()
            write_text(self._folder / "demo.cep", text)
            workload = Workload.parse(text, str(self._folder / "demo.cep"))
            self._result = (
                f"{counted(events, 'trade')} of {len(SYMBOLS)} symbols, {counted(len(workload), 'pattern')}"
            )
        return workload

    def _start(self) -> SparkSession:
        with self._step("start Spark"):
            spark = session(self._master, "stretto demo")
            self._result = _place(spark)
        return spark

    def _profile(self, spark: SparkSession, workload: Workload) -> tuple[EventFiles, Stats]:
        with self._step("profile"), clear_failures():
            trades = survey(spark, open_files(str(self._folder / "trades")))
            stats = profile_files(spark, workload, trades, SAMPLE)
            self._result = f"rates of {len(stats.rates)} types, terms measured on a sample of {SAMPLE:.0%}"
        return trades, stats

    def _plan(self, workload: Workload, stats: Stats, budget: float | None) -> Plan:
        with self._step("optimize"):
            plan = optimize(workload, stats, "auto", budget)
            told = "" if plan.estimate is None else f"; {saving_text(plan.estimate)}"
            shared = sum(len(plan.serves(number)) > 1 for number in range(len(plan.ops)))
            self._result = f"{shared} of {len(plan.ops)} operators serve several patterns{told}"
        return plan

    def _warm_up(self, spark: SparkSession, plan: Plan) -> None:
        """Start Spark's workers and compile what they need, so that neither side of the comparison pays for it."""
        with self._step("warm up"), clear_failures():
            _compile(plan, self._folder / "trades" / "trades-0.parquet")
            self._write(
                detect_files(plan, str(self._folder / "trades" / "trades-0.parquet"), spark=spark), "alone"
            )
            self._result = "workers started, loops compiled"

    def _find(self, spark: SparkSession, plan: Plan, trades: EventFiles) -> float:
        """Write all matches of the plan to files; returns the seconds it took."""
        with self._step("find"), clear_failures():
            start = perf_counter()
            self._write(detect_files(plan, trades, spark=spark), "matches")
            seconds = perf_counter() - start
            self._result = "all matches of all patterns, written to files"
        return seconds

    def _look(self) -> DemoMatches:
        with self._step("read"):
            found = DemoMatches.read(self._folder / "matches")
            self._result = counted(len(found.table), "match")
        return found

    def _unshared(
        self, spark: SparkSession, workload: Workload, trades: EventFiles, stats: Stats, found: DemoMatches
    ) -> float:
        """The same job with a plan that shares and reorders nothing; returns its seconds. Its matches are compared."""
        with self._step("unshared"), clear_failures():
            plan = optimize(workload, stats, "none")
            start = perf_counter()
            self._write(detect_files(plan, trades, spark=spark), "unshared")
            seconds = perf_counter() - start
            own = DemoMatches.read(self._folder / "unshared")
            for query in workload.queries:
                if not own.ids(query.name).equals(found.ids(query.name)):
                    raise StrettoError(f"{query.name} has other matches where nothing is shared")
            self._result = f"the same matches with nothing shared or reordered, in a job of {seconds:.1f} s"
        return seconds

    def _one_by_one(
        self,
        spark: SparkSession,
        workload: Workload,
        trades: EventFiles,
        stats: Stats,
        found: DemoMatches,
        limit: float,
        seed: int,
    ) -> Alone:
        """Run queries in random order, each as its own job, until the time is over; compare their answers."""
        queries = sorted(query.name for query in workload.queries)
        names = np.random.default_rng(seed).permutation(queries).tolist()
        took: dict[str, float] = {}
        with self._step("one by one"), clear_failures():
            until = perf_counter() + limit
            for name in names:
                if perf_counter() >= until:
                    break
                single = optimize(_only(workload, name), stats, "auto")
                start = perf_counter()
                self._write(detect_files(single, trades, spark=spark), "alone")
                took[name] = perf_counter() - start
                self._compare(name, found)
            self._result = (
                f"the same matches of {len(took)} of {counted(len(names), 'pattern')}, in jobs of"
                f" {sum(took.values()):.1f} s together"
            )
        return Alone(took, len(names))

    def _compare(self, name: str, found: DemoMatches) -> None:
        """StrettoError where a query by itself has other matches than in the shared plan."""
        shared_ids, own = found.ids(name), DemoMatches.read(self._folder / "alone").ids(name)
        if not own.equals(shared_ids):
            raise StrettoError(
                f"{name} has {len(own):,} matches by itself and {len(shared_ids):,} in the shared plan, or others"
            )

    def _write(self, matches: DataFrame, name: str) -> None:
        matches.write.mode("overwrite").parquet(str((self._folder / name).absolute()))


def _read_trades(folder: Path) -> pa.Table:
    """All trades in order of their ids, which count rows."""
    return pa.concat_tables([pq.read_table(file) for file in sorted(folder.glob("*.parquet"))])


def _only(workload: Workload, name: str) -> Workload:
    """The workload with one of its queries."""
    return workload.remove(*(query.name for query in workload.queries if query.name != name))


def _place(spark: SparkSession) -> str:
    """Which Spark, and where it runs."""
    master = str(spark.conf.get("spark.master"))
    cores = local_cores(master)
    where = master if cores is None else f"{counted(cores, 'core')} of this machine"
    return f"Spark {spark.version} on {where}"


def _compile(plan: Plan, events: Path) -> None:
    """Run the plan on a part of the events in this process: loops are compiled once and kept on disk."""
    engine = Engine(plan)
    for batch in pq.ParquetFile(events).iter_batches(1 << 16):
        engine.push(batch)
    engine.flush()
