"""Where a command does its work: in this process, where the events are small, else on Spark."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from stretto.cli.console import say
from stretto.cli.options import On
from stretto.errors import StrettoError
from stretto.screen import counted, visible

SMALL: Final = 256_000_000
"""Bytes of event files up to which Spark would take longer to start than to be of use."""
STDIN: Final = "-"
SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"


def chosen(on: On, events: str, master: str | None, *, spark: bool = False, local: bool = False) -> On:
    """Where to run; one line says what `auto` has chosen, and why. `spark`, `local`: other options ask for it."""
    if on is not On.AUTO:
        if on is On.SPARK:
            need_spark()
        return on
    place, why = _judged(events, master, spark=spark, local=local)
    if place is On.SPARK:
        need_spark()
    words = "in this process" if place is On.LOCAL else "on Spark"
    missing = events != STDIN and not Path(events).exists()  # who reads it says so
    if place is On.LOCAL and missing:
        return place
    asked = master is not None or spark or local  # by an option that goes with no other place
    other = "" if asked else f" (--on {(On.SPARK if place is On.LOCAL else On.LOCAL).value} for the other)"
    say(f"runs {words}: {why}{other}")
    return place


def need_spark() -> None:
    """StrettoError where PySpark is not installed."""
    if find_spec("pyspark") is None:
        raise StrettoError(
            "this needs PySpark: pip install 'stretto[spark]', and 'stretto[java]' on machines without Java"
        )


def _judged(events: str, master: str | None, *, spark: bool, local: bool) -> tuple[On, str]:
    if master is not None:
        return On.SPARK, f"--master names {visible(master)}"
    if os.environ.get(SUBMITTED):
        return On.SPARK, "spark-submit started it"
    if spark:
        return On.SPARK, "--spread is about Spark"
    if local:
        return On.LOCAL, "--adapt is for one process"
    if events == STDIN:
        return On.LOCAL, "events come from standard input"
    size = size_of(events)
    if size < SMALL:
        has = f"{size / 1e6:,.1f} MB" if size >= 1e5 else f"{counted(size, 'byte')}"
        return On.LOCAL, f"{visible(events)} has {has}, and Spark is for {SMALL // 1_000_000} MB or more"
    if find_spec("pyspark") is None:
        return On.LOCAL, "PySpark is not installed"
    return On.SPARK, f"{visible(events)} has {size / 1e6:,.0f} MB"


def size_of(events: str) -> int:
    """The bytes of a file, or of all files of a folder; of what is not there, none."""
    place = Path(events)
    if place.is_dir():
        return sum(file.stat().st_size for file in place.iterdir() if file.is_file())
    return place.stat().st_size if place.is_file() else 0
