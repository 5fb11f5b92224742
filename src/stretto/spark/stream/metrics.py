"""What a running stream says of itself, in each of Spark's progress reports.

Every target reports once per micro-batch, as JSON in a packed row. Spark's observed metrics are aggregates without a
choice of order, so each target has a column of its own, beside the sums.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, field, replace
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from stretto.records import dataclass
from stretto.spark.packed import LATE, MATCHES, METRICS, REJECTED, TRENDS
from stretto.values.times import END_OF_TIME, START_OF_TIME

NAME: Final = "stretto"
MOST_TARGETS: Final = 256
"""Targets with a column of their own; of more, only these are told apart."""
SUMMED: Final = ("events", "late", "rejected", "state_rows", "state_bytes", "totals", "repeated")
"""What is added up over all targets."""


@dataclass(frozen=True, slots=True)
class TargetMetrics:
    """What a target did in a micro-batch, and what it holds after it.

    `matches` by query and `operators` (rows by the number of the operator in the plan) hold only what is not zero.
    `engine`: where it came from, `new`, `cache` or `rebuilt`. `refused`: why a version of the workload was not taken.
    `totals`: rows of totals of trends. `repeated`: events with the id of one before them.
    """

    target: int
    version: int | None = None
    events: int = 0
    late: int = 0
    rejected: int = 0
    matches: Mapping[str, int] = field(default_factory=dict)
    operators: Mapping[str, int] = field(default_factory=dict)
    state_rows: int = 0
    state_bytes: int = 0
    until_us: int = START_OF_TIME
    greatest_us: int = START_OF_TIME
    seconds: float = 0.0
    engine: str = ""
    refused: str = ""
    totals: int = 0
    repeated: int = 0

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "TargetMetrics":
        """What `to_json` wrote; names that a later release added are left out."""
        known = cls.__dataclass_fields__
        return cls(**{name: value for name, value in json.loads(text).items() if name in known})


@dataclass(frozen=True, slots=True)
class StreamMetrics:
    """A progress report of a stream as a whole. Times are microseconds since the epoch, None where there is none yet.

    `watermark_us`: everything before it is decided at all targets that took part; `lag_us`: how far the greatest time
    seen is ahead of it.
    `replaced`: rows in which there was something that the sink cannot hold, where a sink is known.
    """

    batch: int
    seconds: float
    events: int
    matches: int
    late: int
    rejected: int
    per_query: Mapping[str, int]
    per_operator: Mapping[str, int]
    state_rows: int
    state_bytes: int
    watermark_us: int | None
    greatest_us: int | None
    versions: tuple[int, ...]
    rebuilt: int
    refused: str
    targets: tuple[TargetMetrics, ...]
    totals: int = 0
    repeated: int = 0
    replaced: int = 0

    @property
    def lag_us(self) -> int | None:
        if self.watermark_us is None or self.greatest_us is None:
            return None
        return max(self.greatest_us - self.watermark_us, 0)

    @property
    def events_per_second(self) -> float:
        return self.events / self.seconds if self.seconds > 0 else 0.0


def observed(packed: DataFrame, targets: int) -> DataFrame:
    """The same rows; Spark adds up what they say while they pass."""
    kind, rows = F.col("kind"), F.col("rows")
    kinds = (MATCHES, TRENDS, LATE, REJECTED)
    sums = [F.sum(F.when(kind == name, rows).otherwise(0)).alias(name) for name in kinds]
    report = F.col("payload").cast("string")
    each = [
        F.max(F.when((kind == METRICS) & (F.col("target") == number), report)).alias(f"target_{number}")
        for number in range(min(targets, MOST_TARGETS))
    ]
    return packed.observe(NAME, *sums, *each)


def read_metrics(progress: Any) -> StreamMetrics | None:
    """What a `StreamingQueryProgress` (or its JSON as a dictionary) says; None where the stream is none of ours."""
    values = _as_dictionary(progress)
    row = (values.get("observedMetrics") or {}).get(NAME)
    if row is None:
        return None
    columns: Mapping[str, Any] = row if isinstance(row, Mapping) else row.asDict()
    reports = [
        TargetMetrics.from_json(text) for name, text in columns.items() if name.startswith("target_") and text
    ]
    seconds = (values.get("durationMs") or {}).get("triggerExecution", 0) / 1000
    return replace(
        merged(reports, int(values.get("batchId", 0)), seconds),
        matches=columns.get(MATCHES) or 0,
        late=columns.get(LATE) or 0,
        rejected=columns.get(REJECTED) or 0,
        totals=columns.get(TRENDS) or 0,
    )


def _as_dictionary(progress: Any) -> Mapping[str, Any]:
    if isinstance(progress, Mapping):
        return progress
    return {name: getattr(progress, name) for name in ("observedMetrics", "durationMs", "batchId")}


def merged(reports: Iterable[TargetMetrics], batch: int = 0, seconds: float = 0.0) -> StreamMetrics:
    """The reports of all targets of a micro-batch as one."""
    kept = tuple(reports)
    untils = [report.until_us for report in kept if START_OF_TIME < report.until_us < END_OF_TIME]
    greatest = [report.greatest_us for report in kept if report.greatest_us > START_OF_TIME]
    per_query = _added(report.matches for report in kept)
    sums = {name: sum(getattr(report, name) for report in kept) for name in SUMMED}
    return StreamMetrics(
        batch=batch,
        seconds=seconds,
        matches=sum(per_query.values()),
        per_query=per_query,
        per_operator=_added(report.operators for report in kept),
        watermark_us=min(untils, default=None),
        greatest_us=max(greatest, default=None),
        versions=tuple(sorted({report.version for report in kept if report.version is not None})),
        rebuilt=sum(report.engine == "rebuilt" for report in kept),
        refused=next((report.refused for report in kept if report.refused), ""),
        targets=kept,
        **sums,
    )


def _added(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    return dict(sum(map(Counter, counts), Counter[str]()))
