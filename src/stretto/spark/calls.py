"""`detect` and `aggregate`: one call each for batches and streams."""

from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame

from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.optimize import optimize
from stretto.schema import Special
from stretto.spark import batch
from stretto.spark.asked import Asked, asked_of
from stretto.spark.errors import StrettoSparkError, clear_failures
from stretto.spark.spread import Spread
from stretto.spark.streaming import Outputs, detect_stream, everything, stream_spread
from stretto.spark.versions import Publisher, last_version, publish
from stretto.stats.profile import Stats

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
    `time`, for a stream `whole`. Trend queries are left out: `aggregate` is for them.

    `outputs="all"`: totals of trends, late and rejected events too, which `matches_of`, `trends_of`, `late_of` and
    `rejected_of` take apart. Of a batch each of them runs the job again, unless the whole is cached.

    Of a stream only: `lateness`, how far behind the greatest time an event may come. `versions`: a folder of its own,
    for a workload that changes while the stream runs or between two runs; `stretto.spark.versions.Publisher` adds to
    it.
    """
    if df.isStreaming:
        planning = (optimizer, budget, stats, spread)
        return _of_stream(workload, df, special, outputs, planning, lateness, versions)
    _refuse_of_a_batch(lateness=lateness != NO_LATENESS, versions=versions)
    special = special or _special(workload)
    found = batch.detect(
        workload,
        df,
        optimizer=optimizer,
        budget=budget,
        stats=stats,
        spread=spread,
        special=special,
        asked=outputs,
    )
    return everything(found, df.schema, batch.ts_type(df, special)) if outputs == "all" else found


def aggregate(
    workload: Workload | Plan | str,
    df: DataFrame,
    *,
    optimizer: str = "auto",
    budget: float | None = None,
    stats: Stats | None = None,
    spread: str | Spread = "auto",
    special: Special | None = None,
    lateness: str = NO_LATENESS,
    versions: str | Path | None = None,
) -> DataFrame:
    """The totals of a workload's trend queries, one row per query, window, group and aggregate; lazily, as `detect`.

    Columns: query, window_start, window_end, group (a JSON object of the GROUP BY values), name, value, exact (the
    digits of an integer below 2^63), log2_count (of counts). A row is the only one of its query, window_start, group
    and name. `spread`: by key only where every trend query has the attribute in its GROUP BY. A stream gives the totals
    of a window once the watermark has passed its end; `lateness` and `versions` as for `detect`.
    """
    if df.isStreaming:
        planning = (optimizer, budget, stats, spread)
        return _of_stream(workload, df, special, "trends", planning, lateness, versions)
    _refuse_of_a_batch(lateness=lateness != NO_LATENESS, versions=versions)
    return batch.detect(
        workload,
        df,
        optimizer=optimizer,
        budget=budget,
        stats=stats,
        spread=spread,
        special=special,
        asked="trends",
    )


def _special(workload: Workload | Plan | str) -> Special:
    return workload.schema.special if isinstance(workload, Plan) else Special()


def _refuse_of_a_batch(*, lateness: bool, versions: str | Path | None) -> None:
    """What only a stream can do is an error where it would be passed over."""
    given = {"lateness": lateness, "versions": versions is not None}
    meant = [f"`{name}`" for name, is_given in given.items() if is_given]
    if meant:
        raise StrettoSparkError(f"{', '.join(meant)}: for a streaming DataFrame, and this is a batch")


# ---- streams ---------------------------------------------------------------------------------------------------

Planning = tuple[str, float | None, Stats | None, str | Spread]
"""The optimizer, its budget, what is known of the events, and how they are spread."""


def _of_stream(
    workload: Workload | Plan | str,
    df: DataFrame,
    special: Special | None,
    asked: Asked,
    planning: Planning,
    lateness: str,
    versions: str | Path | None,
) -> DataFrame:
    special = special or _special(workload)
    spread = planning[-1]
    with clear_failures():
        plan = _stream_plan(workload, df, special, asked, planning, versions)
        return detect_stream(
            plan,
            df,
            spread=stream_spread(plan, spread, _home(versions)) if isinstance(spread, str) else spread,
            special=special,
            lateness=lateness,
            outputs=asked,
            versions=versions,
        )


def _home(versions: str | Path | None) -> Path | None:
    """Our own folder in the checkpoint, where the spread is noted too."""
    return None if versions is None else Path(versions).parent


def _stream_plan(
    workload: Workload | Plan | str,
    df: DataFrame,
    special: Special,
    asked: Asked,
    planning: Planning,
    versions: str | Path | None,
) -> Plan:
    """The plan of a stream; where it follows versions, the workload is published if it is another one than the last."""
    optimizer, budget, stats, spread = planning
    schema = batch.schema_of(df, special)
    read = asked_of(Workload.parse(workload) if isinstance(workload, str) else workload, schema, asked)
    if isinstance(read, Plan):
        if versions is not None and last_version(versions) is None:
            publish(versions, read.workload or Workload(), read)
        return read
    known = stats or schema
    if versions is None:
        return optimize(read, known, optimizer, budget)

    def fits(plan: Plan) -> None:
        if isinstance(spread, str):
            stream_spread(plan, spread, _home(versions))

    return Publisher(Path(versions), known, optimizer, budget, fits).offer(read).plan
