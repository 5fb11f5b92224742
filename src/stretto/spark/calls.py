"""`detect` and `aggregate`: one call each for batches and streams."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame

from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.optimize import optimize
from stretto.plan.spread.spreads import ByTime, Spread
from stretto.plan.spread.stream_slices import Slices, StreamSpread
from stretto.schema import Special
from stretto.spark.batch import dataframe
from stretto.spark.errors import StrettoSparkError, clear_failures
from stretto.spark.outputs import Outputs, everything
from stretto.spark.plans import Asked, asked_of, schema_of
from stretto.spark.stream.detect_stream import AHEAD, detect_stream
from stretto.spark.stream.stream_spread import slice_us, stream_spread
from stretto.spark.stream.versions import Publisher, last_version, publish
from stretto.stats.profile import Stats

NO_LATENESS: Final = "0 seconds"


def detect(
    workload: Workload | Plan | str,
    df: DataFrame,
    *,
    optimizer: str = "auto",
    budget: float | None = None,
    stats: Stats | None = None,
    spread: str | Spread | Slices = "auto",
    slice: str | None = None,  # noqa: A002 - public
    special: Special | None = None,
    lateness: str = NO_LATENESS,
    ahead: str | None = AHEAD,
    outputs: Outputs = "matches",
    versions: str | Path | None = None,
) -> DataFrame:
    """All matches of a workload in a DataFrame, one row each; a streaming DataFrame if `df` is one.

    Columns: query, match_id, start, end, detected, events (a map from variables to ids), returned (JSON). A match has
    the same id whenever it is found, so that a sink can be written to again. A batch is profiled first, if there are no
    `stats`; a stream is planned from `stats`, or else from its columns alone. `spread`: `auto`, `key`, `time` or
    `whole`. Trend queries are left out: `aggregate` is for them.

    `outputs="all"`: totals of trends, late and rejected events too, which `matches_of`, `trends_of`, `late_of` and
    `rejected_of` take apart. Of a batch each of them runs the job again, unless the whole is cached.

    Of a stream only: `slice`, how wide the slices of a spread by `time` are. `lateness`, how far behind the greatest
    time an event may come. `ahead`, how far ahead of the clock its time may be, past which it is rejected; None:
    any, and one that is years ahead makes all that follow late. `versions`: a folder of its own, for a workload that
    changes while the stream runs or between two runs; `stretto.spark.versions.Publisher` adds to it.
    """
    if df.isStreaming:
        planning = (optimizer, budget, stats, spread, slice)
        return _of_stream(workload, df, special, outputs, planning, (lateness, ahead), versions)
    special = special or _special(workload)
    found = dataframe.detect(
        workload,
        df,
        optimizer=optimizer,
        budget=budget,
        stats=stats,
        spread=_batch_spread(spread, slice, lateness, ahead, versions),
        special=special,
        asked=outputs,
    )
    return everything(found, df.schema, dataframe.ts_type(df, special)) if outputs == "all" else found


def aggregate(
    workload: Workload | Plan | str,
    df: DataFrame,
    *,
    optimizer: str = "auto",
    budget: float | None = None,
    stats: Stats | None = None,
    spread: str | Spread | Slices = "auto",
    slice: str | None = None,  # noqa: A002 - public
    special: Special | None = None,
    lateness: str = NO_LATENESS,
    ahead: str | None = AHEAD,
    versions: str | Path | None = None,
) -> DataFrame:
    """The totals of a workload's trend queries, one row per query, window, group and aggregate; lazily, as `detect`.

    Columns: query, window_start, window_end, group (a JSON object of the GROUP BY values), name, value, exact (the
    digits of an integer below 2^63), log2_count (of counts). A row is the only one of its query, window_start, group
    and name. `spread`: by key only where every trend query has the attribute in its GROUP BY. A stream gives the totals
    of a window once the watermark has passed its end; `slice`, `lateness`, `ahead` and `versions` as for `detect`.
    """
    if df.isStreaming:
        planning = (optimizer, budget, stats, spread, slice)
        return _of_stream(workload, df, special, "trends", planning, (lateness, ahead), versions)
    return dataframe.detect(
        workload,
        df,
        optimizer=optimizer,
        budget=budget,
        stats=stats,
        spread=_batch_spread(spread, slice, lateness, ahead, versions),
        special=special,
        asked="trends",
    )


def _special(workload: Workload | Plan | str) -> Special:
    return workload.schema.special if isinstance(workload, Plan) else Special()


def _batch_spread(
    spread: str | Spread | Slices,
    slice_text: str | None,
    lateness: str,
    ahead: str | None,
    versions: str | Path | None,
) -> str | Spread:
    """The spread of a batch; what only a stream can do is an error where it would be passed over."""
    given = {
        "slice": slice_text is not None,
        "lateness": lateness != NO_LATENESS,
        "ahead": ahead != AHEAD,
        "versions": versions is not None,
    }
    meant = [f"`{name}`" for name, is_given in given.items() if is_given]
    if meant:
        raise StrettoSparkError(f"{', '.join(meant)}: for a streaming DataFrame, and this is a batch")
    if isinstance(spread, Slices):
        raise StrettoSparkError("slices without an end are for a streaming DataFrame; a batch takes `time`")
    return spread


# ---- streams ---------------------------------------------------------------------------------------------------

Planning = tuple[str, float | None, Stats | None, str | Spread | Slices, str | None]
"""The optimizer, its budget, what is known of the events, how they are spread, and in slices of which width."""
Spreading = Callable[[Plan], StreamSpread]
"""How the events of a plan are spread; an error where it cannot be so."""


def _spreading(
    spread: str | Spread | Slices, slice_text: str | None, versions: str | Path | None, *, ids: bool
) -> Spreading:
    """What is noted of the spread lies in our own folder in the checkpoint."""
    if isinstance(spread, str):
        home = None if versions is None else Path(versions).parent
        return partial(stream_spread, name=spread, folder=home, width_us=slice_us(slice_text), ids=ids)
    if slice_text is not None:
        raise StrettoSparkError(f"a slice is for a stream that is spread by `time`, not by {spread}")
    if isinstance(spread, ByTime):
        raise StrettoSparkError("slices that end are for a batch; a stream takes `Slices`, or spread `time`")
    return lambda _plan: spread


def _of_stream(
    workload: Workload | Plan | str,
    df: DataFrame,
    special: Special | None,
    asked: Asked,
    planning: Planning,
    bounds: tuple[str, str | None],
    versions: str | Path | None,
) -> DataFrame:
    special = special or _special(workload)
    *_, spread, width = planning
    spreading = _spreading(spread, width, versions, ids=special.id in df.columns)
    with clear_failures():
        plan = _stream_plan(workload, df, special, asked, planning, spreading, versions)
        return detect_stream(
            plan,
            df,
            spread=spreading(plan),
            special=special,
            lateness=bounds[0],
            ahead=bounds[1],
            outputs=asked,
            versions=versions,
        )


def _stream_plan(
    workload: Workload | Plan | str,
    df: DataFrame,
    special: Special,
    asked: Asked,
    planning: Planning,
    spreading: Spreading,
    versions: str | Path | None,
) -> Plan:
    """The plan of a stream; where it follows versions, the workload is published if it is another one than the last."""
    optimizer, budget, stats, *_ = planning
    schema = schema_of(df, special)
    read = asked_of(Workload.parse(workload) if isinstance(workload, str) else workload, schema, asked)
    if isinstance(read, Plan):
        if versions is not None and last_version(versions) is None:
            publish(versions, read.workload or Workload(), read)
        return read
    known = stats or schema
    if versions is None:
        return optimize(read, known, optimizer, budget)
    return Publisher(Path(versions), known, optimizer, budget, spreading).offer(read).plan
