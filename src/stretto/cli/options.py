"""The options that several commands take, and how their values are read."""

import time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from stretto.errors import StrettoError

if TYPE_CHECKING:
    from stretto.schema import Special

WorkloadPath = Annotated[
    str, typer.Argument(metavar="WORKLOAD", help="A file of queries.", show_default=False)
]
TsName = Annotated[str, typer.Option("--ts", metavar="NAME", help="The column of the events' times.")]
TypeName = Annotated[str, typer.Option("--type", metavar="NAME", help="The column of the events' types.")]
IdName = Annotated[
    str,
    typer.Option(
        "--id", metavar="NAME", help="The column of the events' ids; where it is not there, the row."
    ),
]
OptimizerName = Annotated[
    str,
    typer.Option("--optimizer", metavar="NAME", help="Who plans; `none` shares and reorders nothing."),
]
Budget = Annotated[
    float | None,
    typer.Option(
        "--budget", metavar="SECONDS", min=0, help="The time an optimizer may take; `none` needs none."
    ),
]
Out = Annotated[
    str | None,
    typer.Option(
        "--out",
        metavar="PATH",
        help="A Parquet, CSV, JSON lines or Arrow file, by its ending; `-` is JSON lines on standard output.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress bar.")]

EVENTS_HELP = (
    "Parquet, CSV, JSON lines or Arrow: a file, or a folder of them; `-` is JSON lines on standard input."
)


class On(StrEnum):
    """Where a plan runs."""

    LOCAL = "local"
    SPARK = "spark"


class SpreadName(StrEnum):
    """How Spark spreads the work."""

    AUTO = "auto"
    KEY = "key"
    TIME = "time"
    WHOLE = "whole"
    UNITS = "units"


RunOn = Annotated[On, typer.Option("--on", help="On Spark, or in this process, without a JVM.")]
Master = Annotated[
    str | None,
    typer.Option("--master", metavar="URL", help="Spark's master; if not given, all cores of this machine."),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnNames:
    """The names of the special columns of the events."""

    ts: TsName = "ts"
    type_name: TypeName = "type"
    id_name: IdName = "id"

    @property
    def special(self) -> "Special":
        from stretto.schema import Special

        return Special(self.ts, self.type_name, self.id_name)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanningOptions:
    """Who plans, and for how long."""

    optimizer: OptimizerName = "auto"
    budget: Budget = None


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


ANY = "any"


def latest_us(ahead: str | None) -> int:
    """The latest time that an event may have by `--ahead` and the clock; without it, any."""
    from stretto.values.times import END_OF_TIME

    allowed = ahead_us(ahead)
    last = END_OF_TIME - 1
    return last if allowed is None else min(time.time_ns() // 1000 + allowed, last)


def ahead_us(text: str | None) -> int | None:
    """The microseconds of `--ahead`; None if it was not given, or is `any`."""
    return None if text is None or text.strip().lower() == ANY else lateness_us(text, "--ahead")


def lateness_us(text: str | None, option: str = "--lateness") -> int | None:
    """The microseconds of `--lateness`, if it was given."""
    from stretto.text.parser import option_us

    return None if text is None else option_us(text, option)
