"""Stretto on Spark: a DataFrame of events in, a DataFrame of matches out, batch and streaming alike.

    found = stretto.spark.detect(workload, df)
    stats = stretto.spark.profile(workload, df, sample=0.01)

The only room that imports pyspark.
"""

from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame

from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.optimize import optimize
from stretto.schema import Special
from stretto.spark import batch
from stretto.spark.errors import StrettoSparkError, clear_failures
from stretto.spark.profile import profile
from stretto.spark.session import session
from stretto.spark.spread import Spread
from stretto.spark.streaming import Outputs, detect_stream, late_of, matches_of, rejected_of, stream_spread
from stretto.spark.upsert import upsert
from stretto.spark.versions import Publisher, last_version, publish
from stretto.stats.profile import Stats

__all__ = [
    "StrettoSparkError",
    "detect",
    "late_of",
    "matches_of",
    "profile",
    "rejected_of",
    "session",
    "upsert",
]

NO_LATENESS: Final = "0 seconds"


def detect(
    workload: Workload | Plan | str,
    df: DataFrame,
    *,
    optimizer: str = "auto",
    budget: float | None = None,
    stats: Stats | None = None,
    spread: str | Spread = "auto",
    special: Special | None = None,
    lateness: str = NO_LATENESS,
    outputs: Outputs = "matches",
    versions: str | Path | None = None,
) -> DataFrame:
    """All matches of a workload in a DataFrame, one row each; a streaming DataFrame if `df` is one.

    Columns: query, match_id, start, end, detected, events (a map from variables to ids), returned (JSON). A match has
    the same id whenever it is found, so that a sink can be written to again. A batch is profiled first, if there are no
    `stats`; a stream is planned from `stats`, or else from its columns alone. `spread`: `auto`, `key`, and for a batch
    `time`, for a stream `whole`.

    Of a stream only: `lateness`, how far behind the greatest time an event may come. `outputs="all"`: late and rejected
    events too, which `matches_of`, `late_of` and `rejected_of` take apart. `versions`: a folder of its own, for a
    workload that changes while the stream runs or between two runs; `stretto.spark.versions.Publisher` adds to it.
    """
    if not df.isStreaming:
        _refuse_of_a_batch(lateness, outputs, versions)
        return batch.detect(
            workload,
            df,
            optimizer=optimizer,
            budget=budget,
            stats=stats,
            spread=spread,
            special=special,
        )
    special = special or (workload.schema.special if isinstance(workload, Plan) else Special())
    with clear_failures():
        plan = _stream_plan(workload, df, special, optimizer, budget, stats, spread, versions)
        return detect_stream(
            plan,
            df,
            spread=stream_spread(plan, spread, _home(versions)) if isinstance(spread, str) else spread,
            special=special,
            lateness=lateness,
            outputs=outputs,
            versions=versions,
        )


def _refuse_of_a_batch(lateness: str, outputs: Outputs, versions: str | Path | None) -> None:
    """What only a stream can do is an error where it would be passed over."""
    given = {
        "lateness": lateness != NO_LATENESS,
        "outputs": outputs != "matches",
        "versions": versions is not None,
    }
    meant = [f"`{name}`" for name, is_given in given.items() if is_given]
    if meant:
        raise StrettoSparkError(f"{', '.join(meant)}: for a streaming DataFrame, and this is a batch")


def _home(versions: str | Path | None) -> Path | None:
    """Our own folder in the checkpoint, where the spread is noted too."""
    return None if versions is None else Path(versions).parent


def _stream_plan(
    workload: Workload | Plan | str,
    df: DataFrame,
    special: Special,
    optimizer: str,
    budget: float | None,
    stats: Stats | None,
    spread: str | Spread,
    versions: str | Path | None,
) -> Plan:
    """The plan of a stream; where it follows versions, the workload is published if it is another one than the last."""
    if isinstance(workload, Plan):
        if versions is not None and last_version(versions) is None:
            publish(versions, workload.workload or Workload(), workload)
        return workload
    read = Workload.parse(workload) if isinstance(workload, str) else workload
    known = stats or batch.schema_of(df, special)
    if versions is None:
        return optimize(read, known, optimizer, budget)

    def fits(plan: Plan) -> None:
        if isinstance(spread, str):
            stream_spread(plan, spread, _home(versions))

    return Publisher(Path(versions), known, optimizer, budget, fits).offer(read).plan
