"""`detect` and `aggregate`: one call each for batches and streams."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame

from stretto.engine.planning import optimize
from stretto.engine.results.undecided import Undecided, need_undecided
from stretto.face.given import Given, need_kinds
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.spread.spreads import ByTime, Spread
from stretto.plan.spread.stream_slices import Slices, StreamSpread
from stretto.records import dataclass
from stretto.schema import Special
from stretto.spark.batch import dataframe
from stretto.spark.errors import StrettoSparkError, clear_failures
from stretto.spark.frames import frame_of
from stretto.spark.outputs import Outputs
from stretto.spark.plans import Asked, Planning, asked_of, schema_of, special_of
from stretto.spark.setup.session import cores_of
from stretto.spark.stream.detect_stream import detect_stream
from stretto.spark.stream.stream_spread import stream_spread
from stretto.spark.stream.versions import Publisher, last_version, publish
from stretto.stats.profile import Stats
from stretto.text.parser import option_us

NO_LATENESS: Final = "0 seconds"
AHEAD: Final = "1 day"
"""How far ahead of the clock an event may be: more than a time can be off that was written in another zone."""

Spreading = Callable[[Plan], StreamSpread]
"""How the events of a plan are spread; an error where it cannot be so."""


def detect(
    workload: Given,
    df: Any,
    *,
    optimizer: str = "auto",
    budget: float | None = None,
    stats: Stats | None = None,
    spread: str | Spread | Slices = "auto",
    slice: str | None = None,  # noqa: A002 - public
    units: int | None = None,
    special: Special | None = None,
    lateness: str = NO_LATENESS,
    ahead: str | None = AHEAD,
    outputs: Outputs = "matches",
    versions: str | Path | None = None,
    ts_unit: str | None = None,
    undecided: Undecided = "keep",
) -> DataFrame:
    """All matches of a workload in a DataFrame, one row each; a streaming DataFrame if `df` is one.

    Columns: query, match_id, start, end, detected, events (a map from variables to ids), member (of a family),
    returned (JSON). A match has the same id whenever it is found, so that a sink can be written to again. `workload` is
    a Workload, a Plan, text or the Path of a file; `df` may also be an Arrow, pandas or Polars table; `ts_unit` says in
    which unit (s, ms, us, ns) times are that are integers, where their size does not. A batch is profiled first, if
    there are no `stats`; a stream is planned from `stats`, or else from its columns alone. `spread`: `auto`, `key`,
    `time`, `units` or `whole`; `units`: so many cells, by default one for each core. Trend queries are left out:
    `aggregate` is for them.

    `outputs="all"`: totals of trends, late and rejected events too, which `matches_of`, `trends_of`, `late_of` and
    `rejected_of` take apart. Of a batch each of them runs the job again, unless the whole is cached.

    `undecided`: of a batch, `keep` reports the matches that wait for a time after its last event, `drop` does not. A
    stream reports such a match when its watermark passes that time.

    Of a stream only: `slice`, how wide the slices of a spread by `time` are. `lateness`, how far behind the greatest
    time an event may come. `ahead`, how far ahead of the clock its time may be, past which it is rejected; None:
    any, and one that is years ahead makes all that follow late. `versions`: a folder of its own, for a workload that
    changes while the stream runs or between two runs; `stretto.spark.Publisher` adds to it.
    """
    need_kinds(optimizer, budget, special, stats)
    planning = Planning(optimizer, budget, stats)
    with clear_failures():
        df = frame_of(df, special, ts_unit)
        call = SparkCall(
            workload,
            df,
            outputs,
            planning,
            spread,
            slice,
            special,
            lateness,
            ahead,
            versions,
            units,
            need_undecided(undecided),
        )
        return call.on_stream() if df.isStreaming else call.on_batch()


def aggregate(
    workload: Given,
    df: Any,
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
    ts_unit: str | None = None,
    undecided: Undecided = "keep",
) -> DataFrame:
    """The totals of a workload's trend queries, one row per query, window, group and aggregate; lazily, as `detect`.

    Columns: query, window_start, window_end, group (a JSON object of the GROUP BY values), name, value, exact (the
    digits of an integer below 2^63), log2_count (of counts). A row is the only one of its query, window_start, group
    and name. `spread`: by key only where every trend query has the attribute in its GROUP BY. A stream gives the totals
    of a window once the watermark has passed its end; `slice`, `lateness`, `ahead` and `versions` as for `detect`.
    `undecided`: with `drop` the events that undecided matches make for derived streams are in no trend.
    """
    need_kinds(optimizer, budget, special, stats)
    planning = Planning(optimizer, budget, stats)
    with clear_failures():
        df = frame_of(df, special, ts_unit)
        call = SparkCall(
            workload,
            df,
            "trends",
            planning,
            spread,
            slice,
            special,
            lateness,
            ahead,
            versions,
            undecided=need_undecided(undecided),
        )
        return call.on_stream() if df.isStreaming else call.on_batch()


@dataclass(frozen=True, slots=True)
class SparkCall:
    """What `detect` or `aggregate` was asked for."""

    workload: Given
    df: DataFrame
    asked: Asked
    planning: Planning
    spread: str | Spread | Slices
    slice_text: str | None
    given_special: Special | None
    lateness: str
    ahead: str | None
    versions: str | Path | None
    units: int | None = None
    undecided: Undecided = "keep"

    @property
    def special(self) -> Special:
        return self.given_special or special_of(self.workload)

    def on_batch(self) -> DataFrame:
        how = self.planning, self._batch_spread(), self.special
        return dataframe.detect(
            self.workload, self.df, *how, units=self.units, asked=self.asked, undecided=self.undecided
        )

    def _batch_spread(self) -> str | Spread:
        """The spread of a batch; what only a stream can do is an error where it would be passed over."""
        given = {
            "slice": self.slice_text is not None,
            "lateness": self.lateness != NO_LATENESS,
            "ahead": self.ahead != AHEAD,
            "versions": self.versions is not None,
        }
        meant = [f"`{name}`" for name, is_given in given.items() if is_given]
        if meant:
            raise StrettoSparkError(f"{', '.join(meant)}: for a streaming DataFrame, and this is a batch")
        if isinstance(self.spread, Slices):
            raise StrettoSparkError(
                "slices without an end are for a streaming DataFrame; a batch takes `time`"
            )
        return self.spread

    def on_stream(self) -> DataFrame:
        lateness_us = option_us(self.lateness, "lateness")
        ahead_us = None if self.ahead is None else option_us(self.ahead, "ahead")
        spreading = self._stream_spread()
        with clear_failures():
            plan = self._stream_plan(spreading)
            return detect_stream(
                plan,
                self.df,
                spread=spreading(plan),
                special=self.special,
                lateness_us=lateness_us,
                ahead_us=ahead_us,
                outputs=self.asked,
                versions=self.versions,
            )

    def _stream_spread(self) -> Spreading:
        """How the events of a plan are spread; what is noted of it lies in our own folder in the checkpoint."""
        spread, width = self.spread, self.slice_text
        if isinstance(spread, str):
            home = None if self.versions is None else Path(self.versions).parent
            width_us = None if width is None else option_us(width, "slice", positive=True)
            ids = self.special.id in self.df.columns
            cores = cores_of(self.df.sparkSession) if spread in ("auto", "units") else 1
            return partial(
                stream_spread,
                name=spread,
                folder=home,
                width_us=width_us,
                units=self.units,
                cores=cores,
                ids=ids,
            )
        if width is not None:
            raise StrettoSparkError(f"a slice is for a stream that is spread by `time`, not by {spread}")
        if self.units is not None:
            raise StrettoSparkError("a number of units is for the spread `units`, by its name")
        if isinstance(spread, ByTime):
            raise StrettoSparkError(
                "slices that end are for a batch; a stream takes `Slices`, or spread `time`"
            )
        return lambda _plan: spread

    def _stream_plan(self, spreading: Spreading) -> Plan:
        """The plan of a stream; a workload that differs from the last version is published, where versions are kept."""
        schema = schema_of(self.df, self.special)
        read = asked_of(self.workload, schema, self.asked)
        if isinstance(read, Plan):
            if self.versions is not None and last_version(self.versions) is None:
                publish(self.versions, read.workload or Workload(), read)
            return read
        how = self.planning
        known = how.stats or schema
        if self.versions is None:
            return optimize(read, known, how.optimizer, how.budget)
        return Publisher(Path(self.versions), known, how.optimizer, how.budget, spreading).offer(read).plan
