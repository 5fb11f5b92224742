"""What commands read: a workload, its plan for some events, and statistics."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from stretto.cli.console import say
from stretto.cli.options import PlanningOptions
from stretto.errors import QueryError, Remark, StrettoError, near, summarized
from stretto.pattern.workload import Workload, shown_remarks
from stretto.plan.dag import Plan
from stretto.schema import Schema
from stretto.text.files import read_text

if TYPE_CHECKING:
    from pyarrow import RecordBatch

    from stretto.data.files import EventFile
    from stretto.schema import Special
    from stretto.stats.profile import Stats

PROFILED = 1 << 20
"""How many events are measured to plan for."""


def read_workload(path: str, schema: Schema | None = None) -> Workload:
    """The workload of a file; QueryError with every mistake that can be known, of syntax and of meaning."""
    workload = parse_workload(path, schema)
    workload.bind(schema)
    return workload


def parse_workload(path: str, schema: Schema | None = None) -> Workload:
    """The workload of a file, which is still to be bound; QueryError with every mistake, if one is of syntax."""
    workload = Workload.parse(read_text(path, "workload"), path, schema)
    if not workload.statements:
        raise StrettoError(f"{path}: the workload holds no statement")
    return workload


def open_told(path: str, special: "Special") -> "EventFile":
    """The events of a path; a line says in which unit times that are integers are read, and where ids are missing."""
    from stretto.data.files import open_events

    source = open_events(path, special)
    if source.unit_told is not None:
        say(source.unit_told)
    tell_of_ids(source.schema, special)
    return source


def tell_of_ids(schema: Schema, special: "Special") -> None:
    """One line where a column of ids was named and is not there: events are numbered then."""
    from stretto.schema import Special

    names = (*schema.attributes, *schema.skipped)
    if special.id not in (*names, Special().id):
        hint = f", {found}" if (found := near(special.id, names)) else ""
        say(f"no column `{special.id}` for the ids of events{hint}: they are numbered from 0")


def plan_for(workload: Workload, known: "Schema | Stats", planning: PlanningOptions) -> Plan:
    """The plan of a workload; mistakes are shown with their lines."""
    from stretto.engine.planning import optimize

    with mistakes_of(workload):
        plan = optimize(workload, known, planning.named, planning.budget, once=True)
    if not plan.queries and plan.trends is None:
        raise StrettoError(f"{workload.file}: the workload holds no query to run")
    return plan


@contextmanager
def mistakes_of(workload: Workload) -> Iterator[None]:
    """Mistakes that are raised inside are shown with the lines of the workload."""
    try:
        yield
    except QueryError as error:
        text, file = error.text or workload.text, error.file or workload.file
        raise QueryError(error.mistakes, text, file) from None


def remarks_on(workload: Workload, known: "Schema | Stats | None") -> list[Remark]:
    """Return the warnings: unknown types, predicates that never hold, selections that no event passes."""
    bound = workload.bind(known if known is None or isinstance(known, Schema) else known.schema)
    remarks = shown_remarks(bound)
    if known is not None and not isinstance(known, Schema):
        from stretto.stats.remarks import measured_remarks

        remarks += measured_remarks(bound, known)
    return remarks


def warn_of(remarks: Iterable[Remark]) -> None:
    """Say warnings on standard error; of many of one kind their number and the first ones."""
    for text in summarized(remarks):
        say(f"warning: {text}")


def measure(events: "EventFile", workload: Workload, most: int | None = None) -> "Stats":
    """The statistics of a file's events, or of about its first `most`; terms are measured on a sample.

    It is made of stretches that the workload's windows fit into.
    """
    from stretto.stats.profile import Stats
    from stretto.stats.sampling import stretches_for

    rows, windows = events.survey().rows, workload.windows
    number = stretches_for(windows, events.survey().times.usual_length)
    if most is None or rows <= most:
        return Stats.of_batches(events.batches(), events.schema, rows, stretches=number)
    stats = Stats.of_batches(_first(events.batches(), most), events.schema, most, stretches=number)
    # Other types may come later, and the plan is for all events.
    return replace(stats, schema=events.schema, events=rows, seconds=stats.seconds * rows / stats.events)


def _first(batches: Iterable["RecordBatch"], most: int) -> Iterator["RecordBatch"]:
    for batch in batches:
        yield batch.slice(0, most)
        most -= batch.num_rows
        if most <= 0:
            return


def read_stats(path: str) -> "Stats":
    """The statistics of a file."""
    from stretto.stats.profile import Stats

    try:
        return Stats.from_json(read_text(path, "file of statistics"))
    except StrettoError as error:
        raise StrettoError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from None
