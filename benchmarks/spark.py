"""How fast the pipeline on Spark is, by public calls alone: batches against Spark SQL, streams, state and recovery.

`stretto bench spark [options]` or `python benchmarks/spark.py [options]`. Every answer is compared before anything is
timed; a wrong one ends the experiment with exit code 1. Stretto and Spark SQL read the same files in the same session,
on two cores, and their results are taken in the same way: counted by query, or built whole and dropped (`noop`). A
time is wall-clock from the text of the queries, or the SQL plan, to the end of the job; Spark is warm.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import reduce
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # so that the folder's modules are found however this one was loaded

from benchmarks.contestants.answers import WrongAnswerError  # noqa: E402
from benchmarks.contestants.workloads import WORKLOADS, Query, Shape  # noqa: E402
from benchmarks.optimizers_report import say  # noqa: E402
from benchmarks.parts import named  # noqa: E402
from benchmarks.sheets import (  # noqa: E402
    aligned,
    circumstances,
    goal_lines,
    goal_of,
    heading,
    keep,
    machine,
    ratio_text,
    ratios,
)
from benchmarks.spark_events import FILE, counted, planned, write_stream  # noqa: E402
from benchmarks.standalone_cluster import NoClusterError  # noqa: E402
from pyspark.sql import DataFrame, SparkSession  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402, N812 - as everybody calls it

import stretto  # noqa: E402
from benchmarks import spark_units  # noqa: E402  (after the path is set)
from stretto.spark import aggregate, committed_files, detect, detect_files, session  # noqa: E402
from stretto.spark.stream.metrics import StreamMetrics, read_metrics  # noqa: E402

TEN = WORKLOADS["W2"]
RARE = tuple(replace(query, seconds=1) for query in TEN.queries)
"""The same within a second: a match for every twelfth event, where W2 has eight for every one."""
KEYED = tuple(replace(query, seconds=600, shape=Shape.KEYED) for query in TEN.queries)
"""The same with one key, within a window of six thousand events."""
HALF_A_WINDOW = 3_000
PAIRS = "QUERY pairs PATTERN SEQ(A a, B b) WITHIN 10 SECONDS RETURN COUNT(*) AS pairs;"
"""Totals of windows of ten seconds that follow each other."""
MASTER = "local[2]"
CASES = {"many": TEN.queries, "few": RARE}
"""Ten queries with many matches, and the same queries with few."""
CLEANED = {"spark.sql.streaming.stateStore.maintenanceInterval": "2s"}
"""How often Spark removes what is not needed any more: a short stream would end before that."""
PARTS = ("many", "few", "totals", "stream", "state", "recovery")
GOAL_OF_STREAM = 0.5
"""The rate of a stream with few matches by that of an untouched mapInArrow."""
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
    record = circumstances(given.seed, "pyspark", "pyarrow") | {"master": MASTER, "turns": given.turns}
    with tempfile.TemporaryDirectory(prefix="stretto-bench-") as folder:
        bench = Bench(Path(folder), given)
        try:
            for part in given.only:
                say(part)
                getattr(bench, f"_{part}")()
        except WrongAnswerError as error:
            print(f"spark: {error}", file=sys.stderr)
            return 1
    record |= {"goals": bench.goals, "cases": bench.cases}
    record |= {"streams": {one.name: asdict(one) | {"rate": one.rate} for one in bench.timed}}
    record |= {"stream_ratios": bench.ratios, "state": bench.states, "seconds_to_recover": bench.recovered}
    text = table(record)
    keep(out, "spark", text, record)
    print(text)
    return 0


def _units(out: Path, given: argparse.Namespace) -> int:
    """Cells and a cluster of worker processes; writes spark-units.txt and .json into `out`."""
    with tempfile.TemporaryDirectory(prefix="stretto-bench-") as folder:
        try:
            ratios, notes = spark_units.measure(
                Path(folder), given.unit_events, given.cluster_events, given.seed, given.unit_rate
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
    parser.add_argument("--only", type=named(PARTS), default=list(PARTS), help="such as many,few")
    parser.add_argument(
        "--events", type=int, default=1_000_000, help="of each batch, the same for Stretto and Spark SQL"
    )
    parser.add_argument("--turns", type=int, default=3, help="in each of which everyone runs once")
    parser.add_argument("--files", type=int, default=12, help="of a million events, for the stream")
    parser.add_argument("--cluster-events", type=int, default=20_000_000, help="of the batch on the cluster")
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
        self.cases: dict[str, Any] = {}
        self.ratios: dict[str, float] = {}
        self.goals: list[dict[str, Any]] = []
        self.states: list[dict[str, Any]] = []
        self.recovered: float | None = None
        self.plan = planned(TEN.queries, given.seed)
        self.spark: SparkSession = session(MASTER, "stretto bench", **CLEANED)

    # ---- batch -------------------------------------------------------------------------------------------------

    def _many(self) -> None:
        self._matches("many")

    def _few(self) -> None:
        self._matches("few")

    def _matches(self, case: str) -> None:
        """Ten queries by `detect`, `detect_files` and Spark SQL, and `stretto.run` without Spark beside them."""
        queries, path = CASES[case], self._written("batch", self.given.events)
        text = "\n".join(query.text for query in queries)
        calls: dict[str, Callable[[], DataFrame]] = {
            "detect": lambda: detect(text, self.spark.read.parquet(str(path))),
            "detect_files": lambda: detect_files(text, str(path), spark=self.spark),
            "sql": lambda: sql_matches(self.spark.read.parquet(str(path)), queries),
        }
        expected = _sums(_ids_of_map(calls["detect"](), queries))
        _same("detect_files", _sums(_ids_of_map(calls["detect_files"](), queries)), expected)
        _same("Spark SQL", _sums(calls["sql"]()), expected)
        counts = {query: count for query, (count, _) in expected.items()}
        found = self._timed(
            calls, {"count": lambda result: _same_counts(counted(result), counts), "noop": _noop}
        )
        found["count"]["run"] = self._without_spark(text, path, counts)
        self.cases[case] = {
            "events": self.given.events,
            "queries": len(queries),
            "matches": sum(counts.values()),
        } | found

    def _totals(self) -> None:
        """Totals by `aggregate` and by a join, grouped, in Spark SQL."""
        path = self._written("batch", self.given.events)
        calls: dict[str, Callable[[], DataFrame]] = {
            "aggregate": lambda: aggregate(PAIRS, self.spark.read.parquet(str(path))),
            "sql": lambda: sql_totals(self.spark.read.parquet(str(path))),
        }
        ours = {row["window_start"]: int(row["value"]) for row in calls["aggregate"]().collect()}
        theirs = {row["window_start"]: row["value"] for row in calls["sql"]().collect()}
        _same("totals", {start: total for start, total in ours.items() if total}, theirs)
        found = self._timed(calls, {"collect": lambda result: result.collect()})
        self.cases["totals"] = {"events": self.given.events, "queries": 1, "matches": len(theirs)} | found

    def _timed(
        self, calls: dict[str, Callable[[], DataFrame]], sinks: dict[str, Callable[[DataFrame], object]]
    ) -> dict[str, Any]:
        """Medians and ratios of all calls in turns, by how the result is taken; the comparison has warmed up Spark."""
        found: dict[str, Any] = {}
        for sink, take in sinks.items():
            walls: dict[str, list[float]] = {name: [] for name in calls}
            for _ in range(self.given.turns):
                for name, call in calls.items():
                    start = time.perf_counter()
                    take(call())
                    walls[name].append(time.perf_counter() - start)
            found[sink] = {
                name: {"wall": median(seconds), "ratio": ratios(walls["sql"], seconds)}
                for name, seconds in walls.items()
            }
        return found

    def _without_spark(self, text: str, path: Path, counts: dict[str, int]) -> dict[str, Any]:
        """`stretto.run` in this process, from the files to the columns of all matches."""
        walls = []
        for _ in range(self.given.turns):
            start = time.perf_counter()
            matches = stretto.run(text, path)
            columns = {query: matches[query] for query in matches.counts()}
            walls.append(time.perf_counter() - start)
            found = {query: table.num_rows for query, table in columns.items() if table.num_rows}
            _same("stretto.run", found, counts)
            del matches, columns
        return {"wall": median(walls)}

    # ---- streams -------------------------------------------------------------------------------------------------

    def _stream(self) -> None:
        path = self._written("stream", self.given.files * FILE)
        # As `stretto stream` does for what is not spread.
        self.spark.conf.set("spark.sql.shuffle.partitions", "1")
        rare, few = planned(RARE, self.given.seed), self._written("few", 3 * FILE)
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
        rate = self.ratios["within 1 s by mapInArrow untouched"] = found[0].rate / untouched[0].rate
        self.goals.append(goal_of("stream within 1 s by mapInArrow untouched, rates", rate, GOAL_OF_STREAM))
        for slices, whole, window in zip(sliced, (found, many), ("1 s", "10 s"), strict=True):
            if slices[0].matches != whole[0].matches:
                raise WrongAnswerError(
                    f"wrong answer: {slices[0].matches:,} matches by slices, {whole[0].matches:,} on one target"
                )
            self.ratios[f"slices by whole, within {window}"] = slices[0].rate / whole[0].rate

    def _state(self) -> None:
        """How much is held by a stream of 20 windows, and by one of 40."""
        plan = planned(KEYED, self.given.seed)
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
            self.states.append(
                {
                    "windows": windows,
                    "most_events": max(rows),
                    "events_at_end": rows[-1],
                    "megabytes": sum(files) / 1e6,
                    "files": len(files),
                }
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
        found, expected = Counter(chain(*ids)), Counter(_ids_in_process(path))
        if found != expected:
            raise WrongAnswerError("wrong answer: what a killed stream wrote is not what the engine finds")
        self.recovered = seconds
        goal = goal_of("seconds to recover after a kill", seconds, SECONDS_TO_RECOVER, at_most=True)
        self.goals.append(goal)

    # ---- events and results --------------------------------------------------------------------------------------

    def _written(self, name: str, count: int, per_file: int = FILE) -> Path:
        return write_stream(self.folder / f"{name}-{count}", count, self.given.seed, per_file)


def table(record: dict[str, Any]) -> str:
    """Goals, the cases of batches by how their results are taken, streams, state and recovery."""
    rows = [["case", "events", "matches", "taken", "call", "wall s", "Spark SQL / call"]]
    for name, case in record["cases"].items():
        for sink in (key for key in ("count", "noop", "collect") if key in case):
            for call, cell in case[sink].items():
                ratio = ratio_text(cell["ratio"]) if "ratio" in cell else "without Spark"
                head = [name, f"{case['events']:,}", f"{case['matches']:,}", sink, call]
                rows.append([*head, f"{cell['wall']:.2f}", ratio])
    lines = [
        heading("spark", record),
        f"{record['master']}, medians of {record['turns']} turns, by the clock from text or SQL plan to the job's end",
        *goal_lines(record["goals"]),
        "",
        *aligned(rows),
    ]
    for name, one in record["streams"].items():
        matches = "" if one["matches"] is None else f", {one['matches']:,} matches"
        lines.append(
            f"{name:24} {one['events']:12,} events {one['seconds']:8.2f} s {one['rate'] / 1e6:6.2f}M/s{matches}"
        )
    lines += [f"{name}: {ratio:.2f}" for name, ratio in record["stream_ratios"].items()]
    lines += [
        f"a stream of {one['windows']} windows of 6,000 events: {one['most_events']:,} events of state at most, "
        f"{one['events_at_end']:,} at the end, {one['megabytes']:.1f} MB in {one['files']} files"
        for one in record["state"]
    ]
    if record["seconds_to_recover"] is not None:
        lines.append(f"after a kill the next micro-batch was done in {record['seconds_to_recover']:.1f} s")
    return "\n".join(lines)


def _ids_in_process(path: Path) -> list[str]:
    """The ids of all matches of the rare queries, by `stretto.run`."""
    text = "\n".join(query.text for query in RARE)
    return list(stretto.run(text, path).to_arrow().column("match_id").to_pylist())


def _noop(found: DataFrame) -> None:
    """Build every column of every row, and drop them."""
    found.write.format("noop").mode("overwrite").save()


def _ids_of_map(found: DataFrame, queries: Sequence[Query]) -> DataFrame:
    """The matches of `detect` in the form of those of Spark SQL: query, ids in the order of the pattern, times."""
    parts = []
    for query in queries:
        ids = (F.col("events")[name][0].alias(f"id{i}") for i, name in enumerate(query.variables))
        times = (F.unix_micros(F.col(name).cast("timestamp")).alias(name) for name in ("start", "end"))
        parts.append(found.where(F.col("query") == query.name).select("query", *ids, *times))
    return reduce(DataFrame.unionAll, parts)


def _sums(found: DataFrame) -> dict[str, tuple[int, int]]:
    """By query the number of matches, and a checksum of their ids and times in which their order does not matter."""
    row_hash = F.xxhash64("query", "id0", "id1", "id2", "start", "end")
    rows = found.groupBy("query").agg(F.count("*").alias("n"), F.bit_xor(row_hash).alias("sum")).collect()
    return {row["query"]: (row["n"], row["sum"]) for row in rows}


def _same(name: str, found: object, expected: object) -> None:
    if found != expected:
        raise WrongAnswerError(f"wrong answer: {name}: found {found}, expected {expected}")


def _same_counts(found: tuple[float, dict[str, int]], expected: dict[str, int]) -> None:
    _same("a timed run", found[1], expected)


def sql_matches(events: DataFrame, queries: Sequence[Query]) -> DataFrame:
    """The matches of all queries by self-joins: query, ids in the order of the pattern, first and last time."""
    timed = events.withColumn("us", F.unix_micros(F.col("ts").cast("timestamp")))
    return reduce(DataFrame.unionAll, (_rising(timed, query) for query in queries))


def sql_totals(events: DataFrame) -> DataFrame:
    """The pairs of an A and a later B by window of ten seconds."""
    timed = events.withColumn("us", F.unix_micros(F.col("ts").cast("timestamp")))
    timed = timed.withColumn("window", F.floor(F.col("us") / 10_000_000))
    first, second = (
        timed.where(F.col("type") == kind).select("window", F.col("us").alias(f"us{kind}")) for kind in "AB"
    )
    pairs = first.join(second, "window").where("usA < usB").groupBy("window").agg(F.count("*").alias("value"))
    start = F.timestamp_seconds(F.col("window") * 10).cast(events.schema["ts"].dataType)
    return pairs.select(start.alias("window_start"), "value")


def _rising(df: DataFrame, query: Query) -> DataFrame:
    """A sequence with rising x as self-joins: events meet those of their own bucket of time and of the next one."""
    width = query.window_us
    first, second, third = (
        df.where(F.col("type") == kind).select(
            F.col("id").alias(f"id{i}"),
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
    found = again.join(third, again["bucket"] == third["b2"]).where(
        "us1 < us2 and us2 - us0 <= " + str(width) + " and x1 < x2"
    )
    times = F.col("us0").alias("start"), F.col("us2").alias("end")
    return found.select(F.lit(query.name).alias("query"), "id0", "id1", "id2", *times)


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
