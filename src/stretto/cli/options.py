"""The options that several commands take, and how their values are read."""

import time
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from stretto.errors import StrettoError
from stretto.records import dataclass

if TYPE_CHECKING:
    from stretto.schema import Special

WorkloadPath = Annotated[str, Argument(metavar="WORKLOAD", help="A file of queries.", show_default=False)]
_EVENTS = Option(
    metavar="PATH",
    help="Parquet, CSV, JSON lines or Arrow: a file or a folder of files; `-` is JSON lines on standard input.",
    show_default=False,
)
EventsPath = Annotated[str, _EVENTS]
SomeEventsPath = Annotated[str | None, _EVENTS]
_OUT = Option(
    metavar="PATH",
    help="A Parquet, CSV, JSON lines or Arrow file, by its ending; `-` is JSON lines on standard output.",
    show_default=False,
)
OutPath = Annotated[str, _OUT]
SomeOutPath = Annotated[str | None, _OUT]
Seed = Annotated[int, Option(metavar="N", min=0, help="The same seed gives the same result.")]
Budget = Annotated[
    float | None,
    Option(
        metavar="SECONDS",
        min=0,
        help="About how long the optimizer may search for a better plan (5). It does not bound reading the queries,"
        " estimating the operators and building the plan: some seconds for each 1,000 different queries.",
    ),
]
Quiet = Annotated[bool, Option("--quiet", help="Show no progress.")]


class TimeUnit(StrEnum):
    """In what integers count time."""

    S = "s"
    MS = "ms"
    US = "us"
    NS = "ns"


class On(StrEnum):
    """Where a plan runs; `auto`: in this process where the events are small."""

    AUTO = "auto"
    LOCAL = "local"
    SPARK = "spark"


class FileLayout(StrEnum):
    """How results are written."""

    ROWS = "rows"
    TYPED = "typed"


class EndOfInput(StrEnum):
    """The treatment of matches that still wait when the events end."""

    KEEP = "keep"
    DROP = "drop"


class SpreadName(StrEnum):
    """How Spark spreads the work."""

    AUTO = "auto"
    KEY = "key"
    TIME = "time"
    WHOLE = "whole"
    UNITS = "units"


Units = Annotated[
    int | None,
    Option(metavar="N", min=1, help="How many units `--spread units` has; by default, one for each core."),
]
MaxMatches = Annotated[
    int | None,
    Option(
        metavar="N",
        min=0,
        help="Stop, with exit code 1 and the name of the query, when a query has more matches. By default"
        " 10,000,000 where a query is expected to have more, else any number.",
    ),
]
RunOn = Annotated[
    On,
    Option(help="On Spark, or in this process, without a JVM; auto: in this process where events are small."),
]
Master = Annotated[
    str | None, Option(metavar="URL", help="Spark's master. The default is all cores of this machine.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnNames:
    """The names of the special columns of the events."""

    ts: Annotated[str, Option(metavar="NAME", help="The column of event times.")] = "ts"
    type_name: Annotated[str, Option("--type", metavar="NAME", help="The column of event types.")] = "type"
    id_name: Annotated[
        str, Option("--id", metavar="NAME", help="The column of event ids; without one, the row is the id.")
    ] = "id"

    ts_unit: Annotated[
        TimeUnit | None,
        Option(help="The unit of times that are integers. The default is what their size tells."),
    ] = None

    @property
    def special(self) -> "Special":
        from stretto.schema import Special

        return Special(self.ts, self.type_name, self.id_name, self.ts_unit and self.ts_unit.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanningOptions:
    """Which optimizer plans, for how long, and by which rules not."""

    optimizer: Annotated[
        str, Option(metavar="NAME", help="Which optimizer plans; `none` shares and reorders nothing.")
    ] = "auto"
    budget: Budget = None
    without: Annotated[
        list[str] | None,
        Option(metavar="RULE", help="A rule of `rumor` or `auto` that may not be used; can be repeated."),
    ] = None

    @property
    def named(self) -> str:
        """The optimizer, with what it may not use."""
        from stretto.plan.optimize import named_without

        return named_without(self.optimizer, self.without or ())


_UNITS = {
    "": 1,
    "b": 1,
    **{f"{letter}b": 1000**i for i, letter in enumerate("kmgt", start=1)},
    **{f"{letter}ib": 1024**i for i, letter in enumerate("kmgt", start=1)},
    **{letter: 1024**i for i, letter in enumerate("kmgt", start=1)},
}


def bytes_of(size: str) -> int:
    """The bytes of a size such as `512MB`, `4GiB` or `2g`."""
    text = size.strip().lower().replace(" ", "").replace("_", "")
    number = text.rstrip("bikmgt")
    unit = text[len(number) :]
    try:
        value = float(number) * _UNITS[unit]
    except (ValueError, KeyError):
        raise StrettoError(f"--memory: `{size}` is not a size (write one like 512MB or 4GiB)") from None
    if not 1 <= value < 1 << 62:
        raise StrettoError(f"--memory: `{size}` must be at least one byte")
    return int(value)


def duration_of(text: str | None, option: str, *, positive: bool = False) -> int | None:
    """The microseconds of an option that takes a duration; None if it was not given."""
    from stretto.text.parser import option_us

    return None if text is None else option_us(text, option, positive=positive)


def ahead_us(text: str | None) -> int | None:
    """The microseconds of `--ahead`; None if it was not given, or is `any`."""
    return None if text is not None and text.strip().lower() == "any" else duration_of(text, "--ahead")


def latest_us(ahead: str | None) -> int:
    """The latest time that an event may have by `--ahead` and the clock; without it, any."""
    from stretto.values.times import END_OF_TIME

    allowed = ahead_us(ahead)
    last = END_OF_TIME - 1
    return last if allowed is None else min(time.time_ns() // 1000 + allowed, last)
