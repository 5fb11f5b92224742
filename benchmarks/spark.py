"""How fast the pipeline on Spark is: batch against one core in process and against Spark SQL, streams against nothing.

`stretto bench spark [options]` or `python benchmarks/spark.py [options]`. Every answer is compared before anything is
timed; a wrong one ends the experiment with exit code 1. Spark runs in local mode on two cores and is warm.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # so that the folder's modules are found however this one was loaded

from benchmarks.contestants.answers import WrongAnswerError  # noqa: E402
from benchmarks.contestants.workloads import WORKLOADS, Query, Shape  # noqa: E402
from benchmarks.optimizers_report import say  # noqa: E402
from benchmarks.sheets import keep, machine  # noqa: E402
from benchmarks.spark_counting import FILE, counted, planned, write_stream  # noqa: E402
from benchmarks.standalone_cluster import NoClusterError  # noqa: E402
from pyspark.sql import DataFrame, SparkSession  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402, N812 - as everybody calls it

from benchmarks import spark_units  # noqa: E402  (after the path is set)
from stretto.data.files import open_events  # noqa: E402
from stretto.engine.run import Engine  # noqa: E402
from stretto.plan.dag import Plan, attributes_of  # noqa: E402
from stretto.plan.spread.choice import choose, describe  # noqa: E402
from stretto.plan.spread.spreads import ByTime  # noqa: E402
from stretto.schema import Special  # noqa: E402
from stretto.spark import detect, session  # noqa: E402
from stretto.spark.batch.event_files import EventFiles, open_files  # noqa: E402
from stretto.spark.batch.find_in_files import find  # noqa: E402
from stretto.spark.batch.targets import ResultForm  # noqa: E402
from stretto.spark.io.sinks import committed_files  # noqa: E402
from stretto.spark.stream.metrics import StreamMetrics, read_metrics  # noqa: E402

TEN = WORKLOADS["W2"]
RARE = tuple(replace(query, seconds=1) for query in TEN.queries)
"""The same within a second: a match for every twelfth event, where W2 has eight for every one."""
KEYED = tuple(replace(query, seconds=600, shape=Shape.KEYED) for query in TEN.queries)
"""The same with one key, within a window of six thousand events."""
HALF_A_WINDOW = 3_000
TIMES = 3
"""Runs of the batch, of which the fastest counts, in process and on Spark."""
CLEANED = {"spark.sql.streaming.stateStore.maintenanceInterval": "2s"}
"""How often Spark removes what is not needed any more: a short stream would end before that."""
PARTS = ("batch", "sql", "stream", "state", "recovery")
GOALS = {
    "on two cores by one core in process": 1.6,
    "by Spark SQL, ten queries": 10.0,
    "stream by mapInArrow untouched": 0.5,
}
SECONDS_TO_RECOVER = 15.0
WAITED_S = 600
STRETTO = [sys.executable, "-c", "from stretto.cli.main import main; main()"]


@dataclass(frozen=True, slots=True)
class Timed:
    """Events that took so many seconds by the clock."""

    name: str
    events: int
    seconds: float
    matches: int | None = None
    note: str = ""

    @property
    def rate(self) -> float:
        return self.events / self.seconds if self.seconds else 0.0


def run(out: Path, data: Path | None, options: Sequence[str]) -> int:
    """Compare, measure, print the table, and write spark.json and spark.txt into `out`."""
    del data  # the stream is generated
    given = _parse(options)
    if given.cluster:
        return _units(out, given)
    with tempfile.TemporaryDirectory(prefix="stretto-bench-") as folder:
        bench = Bench(Path(folder), given)
        try:
            for part in given.only:
                say(part)
                getattr(bench, f"_{part}")()
        except WrongAnswerError as error:
            print(f"spark: {error}", file=sys.stderr)
            return 1
    text = bench.table()
    record = {"machine": machine(), "seed": given.seed, "timed": [asdict(one) for one in bench.timed]}
    record |= {"ratios": bench.ratios, "notes": bench.notes}
    keep(out, "spark", text, record)
    print(text)
    return 0


def _units(out: Path, given: argparse.Namespace) -> int:
    """Cells and a cluster of worker processes; writes spark-units.txt and .json into `out`."""
    with tempfile.TemporaryDirectory(prefix="stretto-bench-") as folder:
        try:
            ratios, notes = spark_units.measure(
                Path(folder), given.unit_events, given.events, given.seed, given.unit_rate
            )
        except (WrongAnswerError, NoClusterError) as error:
            print(f"spark: {error}", file=sys.stderr)
            return 1
    lines = [f"{name:50} {ratio:6.2f}  goal {spark_units.GOALS[name]}" for name, ratio in ratios.items()]
    record = {"machine": machine(), "seed": given.seed, "ratios": ratios, "notes": notes}
    text = "\n".join([*lines, *notes])
    keep(out, "spark-units", text, record)
    print(text)
    return 0


def _parse(options: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="spark", description=__doc__)
    parser.add_argument(
        "--only", type=lambda text: text.split(","), default=list(PARTS), help="such as batch,sql"
    )
    parser.add_argument("--events", type=int, default=20_000_000, help="of the batch")
    parser.add_argument("--sql-events", type=int, default=1_000_000, help="that Spark SQL is given")
    parser.add_argument("--files", type=int, default=12, help="of a million events, for the stream")
    parser.add_argument(
        "--checked", type=int, default=100_000, help="events whose matches are compared one by one"
    )
    parser.add_argument("--cluster", action="store_true", help="cells, and a standalone cluster, instead")
    parser.add_argument("--unit-events", type=int, default=400_000, help="of the stream in cells")
    parser.add_argument(
        "--unit-rate",
        type=int,
        default=spark_units.RATE,
        help="of that stream: 1000 is 10 us of work per event",
    )
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args(options)


class Bench:
    """One run of the experiment."""

    def __init__(self, folder: Path, given: argparse.Namespace) -> None:
        self.folder, self.given = folder, given
        self.timed: list[Timed] = []
        self.ratios: dict[str, float] = {}
        self.notes: list[str] = []
        self.plan = self._planned(TEN.queries)
        self.spark: SparkSession = session("local[2]", "stretto bench", **CLEANED)

    def _planned(self, queries: Sequence[Query]) -> Plan:
        return planned(queries, self.given.seed)

    # ---- batch -------------------------------------------------------------------------------------------------

    def _batch(self) -> None:
        self._compare()
        path = self._written("batch", self.given.events)
        alone = min((_in_process(self.plan, path) for _ in range(TIMES)), key=lambda run: run[0].seconds)
        files = open_files(str(path))
        spread = choose(self.plan, files.load(None), 2, "auto")
        self.notes.append(describe(spread, files.load(None)))
        self._warm(files)
        runs = [self._counted(files, spread, "Spark, local[2]") for _ in range(TIMES)]
        both = min(runs, key=lambda run: run[0].seconds)
        if both[1] != alone[1]:
            raise WrongAnswerError(f"wrong answer: Spark counts {both[1]}, the engine {alone[1]}")
        self.timed += [alone[0], both[0]]
        self.ratios["on two cores by one core in process"] = both[0].rate / alone[0].rate

    def _compare(self) -> None:
        """All matches, one by one, over 2 and 200 slices of time, and through a DataFrame."""
        path = self._written("checked", self.given.checked)
        expected = Counter(_engine_ids(self.plan, path))
        files = open_files(str(path))
        for slices in (2, 200):
            spread = ByTime.of(self.plan, files.times, slices)
            found = find(self.spark, self.plan, files, spread, ResultForm(pa.timestamp("us")))
            _same(f"{slices} slices of time", found, expected)
        _same("a DataFrame", detect(self.plan, self._numbered(path)), expected)

    def _counted(self, files: EventFiles, spread: Any, name: str) -> tuple[Timed, dict[str, int]]:
        seconds, counts = counted(self.spark, self.plan, files, spread)
        return Timed(name, sum(unit.rows or 0 for unit in files.units), seconds, sum(counts.values())), counts

    def _warm(self, files: EventFiles) -> None:
        """Workers are started and kernels loaded."""
        few = EventFiles(files.path, files.special, files.units[:2], files.columns)
        self._counted(few, choose(self.plan, few.load(None), 2, "time"), "warm")

    # ---- Spark SQL -----------------------------------------------------------------------------------------------

    def _sql(self) -> None:
        path = self._written("sql", self.given.sql_events)
        files = open_files(str(path))
        self._warm(files)
        ours, counts = self._counted(
            files, choose(self.plan, files.load(None), 2, "auto"), "Spark, the same events"
        )
        df = self.spark.read.parquet(str(path)).withColumn("us", F.unix_micros(F.col("ts").cast("timestamp")))
        _rising(df.limit(1000), TEN.queries[0]).count()
        start = time.perf_counter()
        found = {query.name: _rising(df, query).count() for query in TEN.queries}
        theirs = Timed(
            "Spark SQL, bucketed self-joins", ours.events, time.perf_counter() - start, sum(found.values())
        )
        if found != counts:
            raise WrongAnswerError(f"wrong answer: Spark SQL counts {found}, Stretto {counts}")
        self.timed += [ours, theirs]
        self.ratios["by Spark SQL, ten queries"] = ours.rate / theirs.rate

    # ---- streams -------------------------------------------------------------------------------------------------

    def _stream(self) -> None:
        path = self._written("stream", self.given.files * FILE)
        # As `stretto stream` does for what is not spread.
        self.spark.conf.set("spark.sql.shuffle.partitions", "1")
        rare, few = self._planned(RARE), self._written("few", 3 * FILE)
        self._streamed(few, "warm untouched", _untouched)
        self._streamed(few, "warm stream", lambda df: detect(rare, df))
        untouched = self._streamed(path, "mapInArrow, untouched", _untouched)
        found = self._streamed(path, "stream, within 1 s", lambda df: detect(rare, df))
        many = self._streamed(few, "stream, within 10 s", lambda df: detect(self.plan, df))
        self.spark.conf.set("spark.sql.shuffle.partitions", "2")
        sliced = [
            self._streamed(path, "by slices, within 1 s", lambda df: detect(rare, df, spread="time")),
            self._streamed(few, "by slices, within 10 s", lambda df: detect(self.plan, df, spread="time")),
        ]
        self.timed += [run[0] for run in (untouched, found, many, *sliced)]
        self.ratios["stream by mapInArrow untouched"] = found[0].rate / untouched[0].rate
        for slices, whole, window in zip(sliced, (found, many), ("1 s", "10 s"), strict=True):
            if slices[0].matches != whole[0].matches:
                raise WrongAnswerError(
                    f"wrong answer: {slices[0].matches:,} matches by slices, {whole[0].matches:,} on one target"
                )
            self.ratios[f"slices by whole, within {window}"] = slices[0].rate / whole[0].rate

    def _state(self) -> None:
        """How much is held by a stream of 20 windows, and by one of 40."""
        plan = self._planned(KEYED)
        for windows in (20, 40):
            path = self._written("state", 2 * windows * HALF_A_WINDOW, per_file=HALF_A_WINDOW)
            name = f"state {windows}"
            _, reports = self._streamed(path, name, lambda df: detect(plan, df, spread="whole"))
            rows = [report.state_rows for report in reports if report.events]
            time.sleep(5)
            files = [
                file.stat().st_size
                for file in (self._checkpoint(name) / "state").rglob("*")
                if file.is_file()
            ]
            self.notes.append(
                f"a stream of {windows} windows of 6,000 events: {max(rows):,} events of state at most, "
                f"{rows[-1]:,} at the end, {sum(files) / 1e6:.1f} MB in {len(files)} files"
            )

    def _streamed(
        self, path: Path, name: str, through: Callable[[DataFrame], DataFrame]
    ) -> tuple[Timed, list[StreamMetrics]]:
        """Files one by one, as micro-batches; the first one is not timed."""
        df = self.spark.readStream.schema(_ddl()).option("maxFilesPerTrigger", 1).parquet(str(path))
        writer = through(df).writeStream.format("noop")
        writer = writer.option("checkpointLocation", str(self._checkpoint(name)))
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        reports = [progress for progress in query.recentProgress if progress.numInputRows]
        seconds = sum(progress.batchDuration for progress in reports[1:]) / 1000
        rows = sum(progress.numInputRows for progress in reports[1:])
        found = [read for progress in query.recentProgress if (read := read_metrics(progress)) is not None]
        return Timed(name, rows, seconds, sum(r.matches for r in found) or None), found

    def _checkpoint(self, name: str) -> Path:
        return self.folder / f"checkpoint-{name.replace(' ', '-').replace(',', '')}"

    def _recovery(self) -> None:
        """Seconds from the start of a new process to the first micro-batch done, after a kill inside one."""
        path, out = self._written("recovery", 8 * FILE), self.folder / "recovered"
        rules, commits = self.folder / "rules.cep", out / "checkpoint" / "commits"
        rules.write_text("\n".join(query.text for query in RARE), encoding="utf-8")
        places = {
            "--source": f"files:{path}",
            "--sink": f"files:{out}/found",
            "--checkpoint": f"{out}/checkpoint",
        }
        rhythm = ["--source-option", "maxFilesPerTrigger=1", "--trigger", "available-now"]
        job = [
            *STRETTO,
            "stream",
            str(rules),
            *chain(*places.items()),
            *rhythm,
            "--master",
            "local[2]",
            "--quiet",
        ]
        killed = subprocess.Popen(job, start_new_session=True)
        _until(lambda: _batches(commits) > 2, killed)
        time.sleep(0.5)
        before = _batches(commits)
        os.killpg(killed.pid, signal.SIGKILL)
        killed.wait()
        start = time.perf_counter()
        again = subprocess.Popen(job)
        _until(lambda: _batches(commits) > before, again)
        seconds = time.perf_counter() - start
        again.wait(timeout=WAITED_S)
        files = [file for file in committed_files(out / "found") if "kind=matches" in file.parts]
        ids = [pq.read_table(file, columns=["match_id"]).column("match_id").to_pylist() for file in files]
        found, expected = Counter(chain(*ids)), Counter(_engine_ids(self._planned(RARE), path))
        if found != expected:
            raise WrongAnswerError("wrong answer: what a killed stream wrote is not what the engine finds")
        self.notes.append(
            f"after a kill the next micro-batch was done in {seconds:.1f} s (goal {SECONDS_TO_RECOVER:.0f})"
        )
        self.ratios["seconds to recover"] = seconds

    # ---- events and results --------------------------------------------------------------------------------------

    def _written(self, name: str, count: int, per_file: int = FILE) -> Path:
        return write_stream(self.folder / f"{name}-{count}", count, self.given.seed, per_file)

    def _numbered(self, path: Path) -> DataFrame:
        return self.spark.read.parquet(str(path))

    def table(self) -> str:
        lines = [f"spark: seed {self.given.seed}; {machine()}"]
        for one in self.timed:
            matches = "" if one.matches is None else f", {one.matches:,} matches"
            lines.append(
                f"{one.name:32} {one.events:12,} events {one.seconds:8.2f} s {one.rate / 1e6:6.2f}M/s{matches}"
            )
        for name, ratio in self.ratios.items():
            goal = f" (goal {GOALS[name]:g})" if name in GOALS else ""
            lines.append(f"{name}: {ratio:.2f}{goal}")
        return "\n".join([*lines, *self.notes])


def _in_process(plan: Plan, path: Path) -> tuple[Timed, dict[str, int]]:
    """One core: files read by pyarrow, batch by batch, and run; matches are counted as they are found."""
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    source = open_events(str(path), Special()).select(attributes_of(plan))
    for batch in source.batches(1 << 17):
        Engine(plan).push(batch)  # kernels are loaded
        break
    counts: Counter[str] = Counter(dict.fromkeys(plan.queries, 0))
    events, start = 0, time.process_time()
    engine = Engine(plan)
    for batch in source.batches(1 << 17):
        counts.update(engine.push(batch).counts())
        events += batch.num_rows
    counts.update(engine.flush().counts())
    seconds = time.process_time() - start
    return Timed("in process, one core", events, seconds, sum(counts.values())), dict(counts)


def _engine_ids(plan: Plan, path: Path) -> Iterator[str]:
    source = open_events(str(path), Special()).select(attributes_of(plan))
    engine = Engine(plan)
    for batch in source.batches(1 << 17):
        yield from engine.push(batch).to_arrow().column("match_id").to_pylist()
    yield from engine.flush().to_arrow().column("match_id").to_pylist()


def _same(name: str, found: DataFrame, expected: Counter[str]) -> None:
    ids = Counter(found.select("match_id").toArrow().column("match_id").to_pylist())
    if ids != expected:
        raise WrongAnswerError(
            f"wrong answer: {name}: {sum(ids.values()):,} matches, {sum((ids & expected).values()):,} of them "
            f"among the engine's {sum(expected.values()):,}"
        )


def _rising(df: DataFrame, query: Query) -> DataFrame:
    """A sequence with rising x as self-joins: events meet those of their own bucket of time and of the next one."""
    width = query.window_us
    first, second, third = (
        df.where(F.col("type") == kind).select(
            F.col("us").alias(f"us{i}"),
            F.col("x").alias(f"x{i}"),
            F.floor(F.col("us") / width).alias(f"b{i}"),
        )
        for i, kind in enumerate(query.types)
    )
    starts = first.withColumn("bucket", F.explode(F.array(F.col("b0"), F.col("b0") + 1)))
    pairs = starts.join(second, starts["bucket"] == second["b1"]).where(
        "us0 < us1 and us1 - us0 <= " + str(width) + " and x0 < x1"
    )
    again = pairs.drop("bucket").withColumn("bucket", F.explode(F.array(F.col("b0"), F.col("b0") + 1)))
    return again.join(third, again["bucket"] == third["b2"]).where(
        "us1 < us2 and us2 - us0 <= " + str(width) + " and x1 < x2"
    )


def _untouched(df: DataFrame) -> DataFrame:
    # A function without a name goes to the workers as it is: they cannot find this module.
    return df.mapInArrow(lambda batches: batches, df.schema)


def _ddl() -> str:
    return "ts timestamp_ntz, type string, x double, k bigint, id bigint"


def _batches(commits: Path) -> int:
    """How many micro-batches a checkpoint has finished."""
    return sum(path.name.isdigit() for path in commits.iterdir()) if commits.is_dir() else 0


def _until(ready: Callable[[], bool], stream: "subprocess.Popen[bytes] | None" = None) -> None:
    """Wait for something that a stream does."""
    end = time.monotonic() + WAITED_S
    while not ready():
        if time.monotonic() > end or (stream is not None and stream.poll() is not None):
            raise WrongAnswerError("the stream did not go as it should")
        time.sleep(0.02)


if __name__ == "__main__":
    sys.exit(run(ROOT / "benchmarks" / "results", None, sys.argv[1:]))
