"""What a program hands in: a workload in any of its forms, and events in any of theirs."""

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from stretto.data.files import ENDINGS, ending, open_events
from stretto.errors import EventsError, StrettoError, summarized, warn
from stretto.pattern.workload import Workload, shown_remarks
from stretto.plan.dag import Plan
from stretto.schema import Schema, Special, need_once
from stretto.stats.profile import Stats
from stretto.stats.remarks import measured_remarks
from stretto.text.build import QueryBuilder
from stretto.text.build_streams import StreamBuilder
from stretto.values.tables import KINDS, as_table
from stretto.values.time_units import PER_SECOND, in_unit, need_unit

Given = Workload | Plan | str | PathLike[str] | QueryBuilder
LONGEST_NAME: Final = 1_000


def workload_of(given: Any) -> Workload | Plan:
    """A workload or a plan: as it is, of a text, of a file that a `Path` names, or of what was built in Python."""
    if isinstance(given, Workload | Plan):
        return given
    if isinstance(given, QueryBuilder | StreamBuilder):
        return Workload().add(given)
    if isinstance(given, PathLike):
        return Workload.read(Path(given))
    if isinstance(given, str):
        if len(given) < LONGEST_NAME and "\n" not in given and Path(given).suffix == ".cep":
            raise StrettoError(f"`{given}` is a name, not a workload: give pathlib.Path({given!r})")
        return Workload.parse(given)
    raise TypeError(
        "a workload is a stretto.Workload, a stretto.Plan, text in the language, a pathlib.Path or what"
        f" stretto.query(..) built, not {type(given).__name__}"
    )


def need_kinds(optimizer: Any, budget: Any, special: Any = None, stats: Any = None) -> None:
    """TypeError with a sentence where an option of a call is of a kind that it cannot be."""
    if not isinstance(optimizer, str):
        raise TypeError(f"optimizer= is a name such as 'auto', not {type(optimizer).__name__}")
    if budget is not None and not isinstance(budget, int | float):
        raise TypeError(f"budget= is a number of seconds, not {type(budget).__name__}")
    if special is not None and not isinstance(special, Special):
        raise TypeError(
            f"special= is a stretto.Special, such as Special(id='uuid'), not {type(special).__name__}"
        )
    if stats is not None and not isinstance(stats, Stats):
        raise TypeError(
            f"stats= is what stretto.Stats.of or stretto.spark.profile gives, not {type(stats).__name__}"
        )


def table_of(events: Any, special: Special, ts_unit: str | None = None) -> pa.Table:
    """Events as an Arrow table whose times are no bare integers; a `Path` names a file or folder of them."""
    if isinstance(events, PathLike | str):
        path = Path(events)
        if isinstance(events, str) and ending(path) not in ENDINGS and not path.is_dir():
            raise EventsError(f"events are {KINDS}, or a pathlib.Path, not a text")
        source = open_events(path, replace(special, unit=ts_unit or special.unit))
        if source.unit_told is not None:
            warn(source.unit_told)
        return pa.Table.from_batches(list(source.batches()), source.batch_schema)
    table = as_table(events)
    need_once(table.column_names)
    if special.ts not in table.column_names:
        return table  # the engine says what it misses
    return _timed(table, special, ts_unit or special.unit)


def _timed(table: pa.Table, special: Special, unit: str | None) -> pa.Table:
    column = table.column(special.ts)
    if unit is not None and unit not in PER_SECOND:
        raise StrettoError(f"ts_unit is one of {', '.join(PER_SECOND)}, not {unit!r}")
    if not pa.types.is_integer(column.type):
        return table
    if unit is None:
        judged = need_unit(column.combine_chunks(), special.ts, "the events")
        if judged is not None:
            unit = judged.unit
            if unit != "us":
                warn(judged.told(special.ts))
    times = pa.chunked_array([in_unit(chunk, unit) for chunk in column.chunks], pa.timestamp(unit or "us"))
    return table.set_column(table.column_names.index(special.ts), special.ts, times)


def warn_of(workload: Workload, known: Stats | Schema) -> None:
    """Warn of what is no mistake but perhaps not meant: types that no event has, selections that nothing passes."""
    bound = workload.bind(known if isinstance(known, Schema) else known.schema)
    remarks = shown_remarks(bound)
    if isinstance(known, Stats):
        remarks += measured_remarks(bound, known)
    for text in summarized(remarks):
        warn(text)
