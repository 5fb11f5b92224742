"""A stream as a job: from its source to a started query that a command can follow and stop."""

import atexit
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from stretto.data.files import open_events
from stretto.engine.expected_matches import too_many
from stretto.errors import Remark, StrettoError, summarized
from stretto.pattern.guessed_schema import guess_schema
from stretto.pattern.workload import Workload, shown_remarks
from stretto.plan.dag import Plan
from stretto.plan.spread.spreads import Whole
from stretto.plan.spread.stream_slices import StreamSpread
from stretto.records import dataclass
from stretto.schema import Schema, Special
from stretto.spark.checkpoint_notes import read_note, write_note
from stretto.spark.errors import StrettoSparkError, failure_in, plain_failures, said_by_spark
from stretto.spark.io.columns import expected_schema, first_file, recall, unit_told
from stretto.spark.io.reachable import check_sink, check_source
from stretto.spark.io.sinks import observed_rows, start
from stretto.spark.io.sources import TEXT, EventSource, open_source
from stretto.spark.io.specs import Spec, kafka_place
from stretto.spark.outputs import KIND, REASON
from stretto.spark.packed import REJECTED
from stretto.spark.plans import bound_early, schema_of
from stretto.spark.setup.kafka_connector import with_connector
from stretto.spark.setup.quiet_stderr import hush, without_noise
from stretto.spark.setup.session import cores_of, local_cores, session
from stretto.spark.stream.detect_stream import PARTITIONS, detect_stream
from stretto.spark.stream.metrics import StreamMetrics, read_metrics
from stretto.spark.stream.stream_spread import spread_told, stream_spread
from stretto.spark.stream.versions import Publisher, difference
from stretto.stats.profile import Stats
from stretto.stats.remarks import measured_remarks
from stretto.stats.sampling import stretches_for

PROFILED: Final = 200_000
"""So many events of the first file tell what to plan for."""
UNREADABLE: Final = "stretto_unreadable"
LASTING: Final = {
    "sink": "results went to",
    "ts": "column of times (--ts) was",
    "type": "column of types (--type) was",
    "id": "column of ids (--id) was",
}
"""What stays the same for as long as a checkpoint is used, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamJob:
    """What a stream is to do. `checkpoint` is Spark's folder; ours lies in it. `waits`: for the first file to come."""

    workload: Workload
    source: Spec
    sink: Spec
    checkpoint: Path
    lateness_us: int = 0
    ahead_us: int | None = None
    trigger: Mapping[str, Any] = field(default_factory=dict)
    special: Special = field(default_factory=Special)
    schema: StructType | None = None
    source_format: str | None = None
    source_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    sink_format: str = "parquet"
    sink_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    optimizer: str = "auto"
    budget: float | None = None
    stats: Stats | None = None
    spread: str = "auto"
    slice_us: int | None = None
    units: int | None = None
    memory_bytes: int | None = None
    max_matches: int | None = None
    master: str | None = None

    @property
    def place(self) -> Path:
        """Our own folder in the checkpoint."""
        return self.checkpoint / "stretto"

    @property
    def versions(self) -> Path:
        return self.place / "workloads"

    @property
    def columns(self) -> Path:
        return self.place / "source.json"

    @property
    def note(self) -> Path:
        return self.place / "job.json"

    @property
    def lasting(self) -> dict[str, str]:
        """What a checkpoint is bound to: where results go, and the names of the special columns."""
        sink = str(self.sink)
        if self.sink.kind == "kafka":  # found by other brokers it is the same topic
            sink = f"kafka topic {kafka_place(self.sink.place, '--sink')[1]}"
        if self.sink.kind == "files":
            sink += f" ({self.sink_format})"
        return {"sink": sink, "ts": self.special.ts, "type": self.special.type, "id": self.special.id}


@dataclass(frozen=True, slots=True)
class RunningStream:
    """A stream that was started. `replaced`: what a database counts of it, by micro-batch."""

    query: StreamingQuery
    publisher: Publisher
    replaced: Mapping[int, int] = field(default_factory=dict)

    @property
    def active(self) -> bool:
        return bool(self.query.isActive)

    def stop(self) -> None:
        """Stop at once; a micro-batch that is under way will be run again at the next start."""
        if self.active:
            hush()
            self.query.stop()

    def reports(self, after: int) -> list[StreamMetrics]:
        """The micro-batches after one; rows that could not be read are events that were rejected."""
        found: dict[int, StreamMetrics] = {}
        for progress in self.query.recentProgress:
            metrics = read_metrics(progress) if progress.batchId > after else None
            if metrics is not None:
                unreadable = observed_rows(progress, UNREADABLE)
                found[metrics.batch] = replace(
                    metrics,
                    events=metrics.events + unreadable,
                    rejected=metrics.rejected + unreadable,
                    replaced=self.replaced.get(metrics.batch, 0) + observed_rows(progress),
                )
        return [found[batch] for batch in sorted(found)]

    def failure(self) -> StrettoError | None:
        """What stopped the stream, in one message; None where nothing did."""
        error = self.query.exception()
        if error is None:
            return None
        return failure_in(error) or StrettoSparkError(f"the stream stopped: {said_by_spark(error)}")


def prepare(job: StreamJob, tell: Callable[[str], None]) -> tuple[DataFrame, Publisher]:
    """All outputs of a stream, and what publishes the versions of its workload."""
    bound_early(job.workload, lambda: _expected(job))
    _refuse_another(job)
    check_source(job.source, job.source_options)
    check_sink(job.sink, job.sink_options)
    with plain_failures():
        return _prepared(job, _spark(job), tell)


def _expected(job: StreamJob) -> Schema | None:
    """What the events will have, as far as that is known before Spark starts: columns given, noted, or of a file."""
    columns = job.schema or recall(job.columns)
    if columns is not None:
        return expected_schema(columns, job.special)
    first = first_file(job.source, job.source_format) if job.source.kind == "files" else None
    return None if first is None else open_events(first, job.special, alone=False).schema


def _prepared(
    job: StreamJob, spark: SparkSession, tell: Callable[[str], None]
) -> tuple[DataFrame, Publisher]:
    source = open_source(
        spark,
        job.source,
        job.special,
        schema=job.schema or recall(job.columns),
        form=job.source_format,
        guess=lambda: guess_schema(job.workload),
        options=job.source_options,
        patient="availableNow" not in job.trigger,
    )
    known = _knowledge(job, schema_of(source.events, job.special))
    ids = job.special.id in source.events.columns
    cores = cores_of(spark) if job.spread in ("auto", "units") else 1
    fits = partial(
        stream_spread,
        name=job.spread,
        folder=job.place,
        width_us=job.slice_us,
        units=job.units,
        cores=cores,
        ids=ids,
    )
    publisher = Publisher(job.versions, known, job.optimizer, job.budget, fits)
    begin(publisher, job.workload, tell)
    for text in summarized(_remarks(job, known)):
        tell(f"warning: {text}")
    if source.columns is not None:
        told = unit_told(source.columns, job.special)
        if told is not None:
            tell(told)
        write_note(job.columns, source.columns.jsonValue())
    write_note(job.note, job.lasting)
    assert publisher.last is not None
    plan = publisher.last.plan
    if isinstance(known, Stats):
        for text in summarized(too_many(plan, known.events, known.seconds)):
            tell(f"warning: {text} (in the first events)")
    spread = fits(plan)
    tell(spread_told(plan, spread, cores))
    return _outputs(job, source, plan, spread), publisher


def _remarks(job: StreamJob, known: Stats | Schema) -> list[Remark]:
    """What the workload asks for and the first file, or the statistics that were given, do not have."""
    if isinstance(known, Schema) or not known.rates:
        return []
    seen = replace(known.schema, types=frozenset(known.rates))
    try:
        bound = job.workload.bind(seen)
    except StrettoError:  # the stream keeps the version before
        return []
    shown = [Remark(remark.kind, f"{remark.text} (in the first events)") for remark in shown_remarks(bound)]
    return [*shown, *measured_remarks(bound, known)]


def _refuse_another(job: StreamJob) -> None:
    """StrettoSparkError where a checkpoint is one of a stream with another sink, or other special columns."""
    before = read_note(
        job.note, dict[str, str], "remove it if the sink and the names of columns are those of before"
    )
    now = job.lasting
    wrong = [
        f"its {what} {before[name]} so far, not {now[name]}"
        for name, what in LASTING.items()
        if before is not None and before.get(name, now[name]) != now[name]
    ]
    if wrong:
        raise StrettoSparkError(
            f"the call does not fit the stream of {job.checkpoint}: {'; '.join(wrong)}"
            " (what is another one needs another checkpoint)"
        )


def launch(job: StreamJob, found: DataFrame, publisher: Publisher) -> RunningStream:
    """Start a stream that was prepared."""
    replaced: dict[int, int] = {}
    with plain_failures():
        query = start(
            found,
            job.sink,
            job.checkpoint,
            form=job.sink_format,
            options=job.sink_options,
            replaced=replaced,
            **job.trigger,
        )
    return RunningStream(query, publisher, replaced)


def _spark(job: StreamJob) -> SparkSession:
    """A session, with the connector for Kafka where it is needed."""
    running = SparkSession.getActiveSession() is not None
    name = "stretto stream"
    if running:
        spark = session(job.master, name)
    elif "kafka" in (job.source.kind, job.sink.kind):
        spark = with_connector(lambda conf: session(job.master, name, **conf))
    else:
        with without_noise():
            spark = session(job.master, name)
    if running:
        return spark
    atexit.register(hush)  # before the session is stopped, perhaps in the middle of warming up
    cores = local_cores(spark.conf.get("spark.master") or "")
    if cores is not None:
        Thread(target=_warm, args=(spark, cores), name="stretto-warm", daemon=True).start()
    return spark


def _warm(spark: SparkSession, cores: int) -> None:
    """Have Python workers start and import what they need while the stream is still being prepared."""
    with suppress(Exception):  # the stream starts them itself then, or the session has ended
        spark.range(0, cores, 1, cores).mapInArrow(lambda batches: batches, "id bigint").count()


def _knowledge(job: StreamJob, schema: Schema) -> Stats | Schema:
    """What the workload is planned for: statistics that were given, those of the first file, or the columns alone."""
    if job.stats is not None:
        return replace(job.stats, schema=schema)
    first = first_file(job.source) if job.source.kind == "files" and job.optimizer != "none" else None
    if first is None:
        return schema
    try:
        events = open_events(first, job.special)
        survey, windows = events.survey(), job.workload.windows
        number = stretches_for(windows, survey.times.usual_length, PROFILED)
        stats = Stats.of_batches(events.batches(), schema, survey.rows, sample=PROFILED, stretches=number)
        return replace(stats, schema=schema)
    except StrettoError:  # the stream reads what it can of it, and rejects the rest
        return schema


def begin(publisher: Publisher, workload: Workload, tell: Callable[[str], None]) -> None:
    """Publish a workload if it is another one than the stream ran last; a wrong one is an error only at first."""
    before = publisher.last
    try:
        now = publisher.offer(workload)
    except StrettoError as error:
        if before is None:
            raise
        tell(f"{error}\nthe stream keeps version {before.number} of the workload")
        return
    if before is not None and now is not before:
        tell(f"version {now.number} of the workload: {difference(before, now)}")


def _outputs(job: StreamJob, source: EventSource, plan: Plan, spread: StreamSpread) -> DataFrame:
    """Matches, totals, late and rejected events of a stream as one DataFrame; what could not be read is rejected."""
    if isinstance(spread, Whole):
        # All events come to one target: further partitions would hold nothing, and be written with every micro-batch.
        source.events.sparkSession.conf.set(PARTITIONS, "1")
    found = detect_stream(
        plan,
        source.events,
        spread=spread,
        special=job.special,
        lateness_us=job.lateness_us,
        ahead_us=job.ahead_us,
        outputs="all",
        versions=job.versions,
        memory_bytes=job.memory_bytes,
        max_matches=job.max_matches,
    )
    if source.unreadable is None:
        return found.withColumn(TEXT, F.lit(None).cast("string"))
    unreadable = source.unreadable.observe(UNREADABLE, F.count(F.lit(1)).alias("rows"))
    rows = unreadable.select(F.lit(REJECTED).alias(KIND), TEXT, REASON)
    return found.unionByName(rows, allowMissingColumns=True)
