"""`stretto explain`: how a workload is understood and planned."""

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stretto.cli.console import fail, reported, say
from stretto.cli.options import EVENTS_HELP, Budget, IdName, OptimizerName, TsName, TypeName, WorkloadPath

if TYPE_CHECKING:
    from stretto.pattern.workload import Workload
    from stretto.schema import Schema, Special
    from stretto.stats.profile import Stats


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"
    MERMAID = "mermaid"
    HTML = "html"


class Stage(StrEnum):
    TEXT = "text"
    PATTERN = "pattern"
    MEMO = "memo"
    PLAN = "plan"


def explain(
    workload: WorkloadPath,
    events: Annotated[str | None, typer.Option("--events", metavar="PATH", help=EVENTS_HELP)] = None,
    stats: Annotated[
        str | None, typer.Option("--stats", metavar="PATH", help="A file of statistics, instead of events.")
    ] = None,
    optimizer: OptimizerName = "none",
    budget: Budget = None,
    form: Annotated[
        Format, typer.Option("--format", help="How it is written; html is not there yet.")
    ] = Format.TEXT,
    stage: Annotated[
        Stage,
        typer.Option(
            "--stage", help="The queries as read, their patterns, or the plan; memo is not there yet."
        ),
    ] = Stage.PLAN,
    out: Annotated[
        str | None, typer.Option("--out", metavar="PATH", help="A file, instead of the screen.")
    ] = None,
    ts: TsName = "ts",
    type_name: TypeName = "type",
    id_name: IdName = "id",
) -> None:
    """Show how a workload is understood and planned.

    Example: stretto explain rules.cep --events trades.parquet --format mermaid
    """
    del budget  # the optimizers there are need no time
    if stage is Stage.MEMO or form is Format.HTML:
        fail(
            "--stage memo is not supported yet"
            if stage is Stage.MEMO
            else "--format html is not supported yet"
        )
    if form is Format.MERMAID and stage is not Stage.PLAN:
        fail("--format mermaid draws plans only; leave --stage out")
    if events is not None and stats is not None:
        fail("give --events or --stats, not both")
    with reported():
        from stretto.cli.inputs import read_workload
        from stretto.pattern.guess import guess_schema
        from stretto.schema import Schema, Special

        if stage is Stage.TEXT:
            read = read_workload(workload)
            shown = read.to_text() if form is Format.TEXT else json.dumps(read.to_json(), indent=2)
        else:
            known = _known(events, stats, Special(ts, type_name, id_name))
            read = read_workload(
                workload, known if known is None or isinstance(known, Schema) else known.schema
            )
            if known is None:
                say("neither --events nor --stats: kinds of attributes are guessed from the terms")
                known = guess_schema(read)
            shown = (
                _patterns(read, known, form)
                if stage is Stage.PATTERN
                else _plan(read, known, optimizer, form)
            )
        _write(shown, out)


def _known(events: str | None, stats: str | None, special: "Special") -> "Schema | Stats | None":
    from stretto.cli.inputs import read_stats
    from stretto.data.files import open_events

    if events is not None:
        return open_events(events, special).schema
    if stats is not None:
        return read_stats(stats)
    return None


def _patterns(workload: "Workload", known: "Schema | Stats", form: Format) -> str:
    """Every query's pieces: what is left when OR and ANY are split off and the nesting is flattened."""
    from stretto.pattern.describe import piece_text
    from stretto.schema import Schema

    bound = workload.bind(known if isinstance(known, Schema) else known.schema)
    pieces = {
        found.name: [
            piece_text(branch.piece, [found.variables[i] for i in branch.columns])
            for branch in found.branches
        ]
        for found in bound.normal_forms()
    }
    if form is Format.JSON:
        return json.dumps(pieces, indent=2)
    return "\n".join(
        f"{name}:\n" + "".join(f"  {text}\n" for text in texts) for name, texts in pieces.items()
    )


def _plan(workload: "Workload", known: "Schema | Stats", optimizer: str, form: Format) -> str:
    from stretto.cli.inputs import plan_for

    plan = plan_for(workload, known, optimizer)
    if form is Format.MERMAID:
        from stretto.report.mermaid import to_mermaid

        return to_mermaid(plan)
    return plan.explain(form.value)


def _write(text: str, out: str | None) -> None:
    text = text if text.endswith("\n") else text + "\n"
    if out is None:
        typer.echo(text, nl=False)
    else:
        Path(out).write_text(text, encoding="utf-8")
