"""`stretto explain`: how a workload is understood and planned."""

import json
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from typer import Option

from stretto.atomic import write_text
from stretto.cli.console import FAILED, fail, reported, say, show
from stretto.cli.functions import FunctionFiles
from stretto.cli.options import (
    ColumnNames,
    Master,
    On,
    PlanningOptions,
    Quiet,
    RunOn,
    SomeEventsPath,
    SpreadName,
    WorkloadPath,
    bytes_of,
)
from stretto.cli.records import takes
from stretto.records import dataclass

if TYPE_CHECKING:
    from stretto.data.files import EventFile
    from stretto.explain.model import Explanation
    from stretto.pattern.workload import Workload
    from stretto.plan.dag import Plan
    from stretto.schema import Schema
    from stretto.solve.units.loads import Capacity
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


ENDINGS: Final = {
    ".html": Format.HTML,
    ".htm": Format.HTML,
    ".json": Format.JSON,
    ".mmd": Format.MERMAID,
    ".mermaid": Format.MERMAID,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainOptions:
    """The options of `stretto explain`."""

    workload: WorkloadPath
    events: SomeEventsPath = None
    stats: Annotated[
        str | None, Option(metavar="PATH", help="A file of statistics; with --analyze, besides the events.")
    ] = None
    on: RunOn = On.AUTO
    planning: PlanningOptions
    diff: Annotated[
        str | None, Option(metavar="OPTIMIZER", help="Compare with the plan of another optimizer.")
    ] = None
    analyze: Annotated[
        bool, Option("--analyze", help="Run the plan on the events: rows and times, estimated and measured.")
    ] = False
    spread: Annotated[
        SpreadName | None,
        Option(help="Show, too, how a run on Spark would spread the work over these events."),
    ] = None
    units: Annotated[
        int | None,
        Option(
            metavar="N",
            min=1,
            help="Show, too, how the plan's operators would run on so many units; with `--spread units`, cells.",
        ),
    ] = None
    memory: Annotated[
        str | None,
        Option(metavar="SIZE", help="The most state that one of the --units may keep, such as 64MB."),
    ] = None
    iota: Annotated[
        float | None,
        Option(
            metavar="ROWS",
            min=1e-9,
            help="Rows that one of the --units takes in per second; by default, as `stretto calibrate` measured.",
        ),
    ] = None
    kappa: Annotated[
        float | None,
        Option(metavar="COMPARISONS", min=1e-9, help="Comparisons that it makes per second, likewise."),
    ] = None
    form: Annotated[
        Format | None,
        Option(
            "--format",
            help="The form of the output; html is one page with a drawing. By default the ending of --out decides"
            " (.html, .json, .mmd), else text.",
        ),
    ] = None
    stage: Annotated[
        Stage, Option(help="The queries as read, their patterns, what could be shared, or the plan.")
    ] = Stage.PLAN
    out: Annotated[str | None, Option(metavar="PATH", help="A file, instead of the screen.")] = None
    columns: ColumnNames
    functions: FunctionFiles = None
    master: Master = None
    quiet: Quiet = False

    @property
    def shown_as(self) -> Format:
        """The form of the output: the one that is asked for, else by the ending of the file."""
        return self.form or ENDINGS.get(Path(self.out or "").suffix.lower(), Format.TEXT)

    @property
    def capacity(self) -> "Capacity | None":
        """What a unit can do; what is not given is what this machine's prices say."""
        from stretto.memo.prices import load
        from stretto.solve.units.loads import Capacity, capacity_of

        if self.iota is None and self.kappa is None:
            return None
        iota, kappa = capacity_of(load())
        return Capacity(self.iota or iota, self.kappa or kappa)


@takes(ExplainOptions)
def explain(options: ExplainOptions) -> None:
    """Show how a workload is understood and planned.

    Example: stretto explain rules.cep --events trades.parquet --format mermaid
    """
    _refuse(options)
    with reported():
        shown = _as_read(options) if options.stage is Stage.TEXT else _understood(options)
        _write(shown, options.out)


def _as_read(options: ExplainOptions) -> str:
    from stretto.cli.inputs import read_workload

    read = read_workload(options.workload)
    return read.to_text() if options.shown_as is Format.TEXT else json.dumps(read.to_json(), indent=2)


def _understood(options: ExplainOptions) -> str:
    """The requested stage of the workload, bound to what is known of the events."""
    from stretto.cli.inputs import plan_for, read_workload, remarks_on, warn_of
    from stretto.engine.expected_matches import too_many
    from stretto.plan.optimize import named_for, recipe_of
    from stretto.stats.profile import Stats

    source, known = _known(options)
    read = read_workload(options.workload, None if known is None else _schema(known))
    if source is not None:
        read.bind(source.schema)
        if options.stats is None and options.stage is not Stage.PATTERN:
            known = _measured(options, source, read)
    if known is not None:
        warn_of(remarks_on(read, known))
    else:
        from stretto.pattern.guessed_schema import guess_schema

        say("without --events and --stats, the kinds of attributes are guessed from the terms")
        known = guess_schema(read)
    if options.stage is Stage.PATTERN:
        return _patterns(read, known, options.shown_as)
    if options.stage is Stage.MEMO:
        return _memo(options, read, known)
    if options.diff is not None:
        recipe_of(options.diff)  # an unknown name is known before the first plan is made
    named = named_for(options.planning.optimizer, options.units, options.capacity)
    plan = plan_for(read, known, replace(options.planning, optimizer=named))
    if isinstance(known, Stats):
        warn_of(too_many(plan, known.events, known.seconds))
    if options.diff is not None:
        other = plan_for(read, known, replace(options.planning, optimizer=options.diff))
        return _comparison(_shown(options, plan), _shown(options, other), options.shown_as)
    by_units = options.spread is SpreadName.UNITS
    if options.units is not None and not by_units:
        return _on_units(options, plan, known, source, options.units)
    if source is not None and options.analyze:
        return _analysis(options, plan, source)
    if source is not None and options.spread is not None:
        from stretto.cli.on_spark import spread_text
        from stretto.schema import Schema

        stats = None if isinstance(known, Schema) else known
        return f"{plan.explain()}\n\n{spread_text(plan, source, stats, options.spread.value, options.units)}"
    return _plan(plan, options)


def _measured(options: ExplainOptions, source: "EventFile", workload: "Workload") -> "Stats":
    """The statistics of the events: in this process, or, of large files, on Spark."""
    from stretto.cli.inputs import measure
    from stretto.cli.where import chosen

    if chosen(options.on, source.path, options.master) is On.LOCAL:
        return measure(source, workload)
    from stretto.cli.on_spark import profiled, started
    from stretto.spark.batch.event_files import open_files, survey
    from stretto.spark.errors import clear_failures

    with clear_failures():
        files = open_files(source.path, source.special)
        spark = started(options.master, quiet=options.quiet)
        return profiled(spark, survey(spark, files))


def _refuse(options: ExplainOptions) -> None:
    """End with a message where options do not go together."""
    if options.on is On.LOCAL and options.master is not None:
        fail("--master is for --on spark")
    if options.on is On.SPARK and options.events == "-":
        fail("events of standard input are looked at in this process; leave --on out")
    events, stats, diff, analyze = options.events, options.stats, options.diff, options.analyze
    form, stage = options.shown_as, options.stage
    if form is not Format.HTML and ENDINGS.get(Path(options.out or "").suffix.lower()) is Format.HTML:
        # A browser would run what names in a plain text hold.
        fail(f"--out {options.out} is a page: leave --format {form} out, or name a file with another ending")
    if form is Format.HTML and (stage is not Stage.PLAN or diff is not None):
        fail("an html page shows a plan; leave --stage and --diff out, or write a file with another ending")
    if form is Format.MERMAID and (stage is not Stage.PLAN or diff is not None or analyze):
        fail("--format mermaid draws plans only; leave --stage, --diff and --analyze out")
    if stage is not Stage.PLAN and (diff is not None or analyze):
        fail(f"{'--diff compares' if diff is not None else '--analyze runs'} plans; leave --stage out")
    if diff is not None and analyze:
        fail("give --diff or --analyze, not both")
    if analyze and events is None:
        fail("--analyze runs the plan: give --events")
    if events is not None and stats is not None and not analyze:
        fail("give --events or --stats, not both (with --analyze both may be given)")
    plain = form is Format.TEXT and stage is Stage.PLAN and not diff and not analyze
    if options.spread is not None and (events is None or not plain):
        fail(
            "--spread is about a plan over --events, as text; leave --stats, --diff, --analyze and --stage out"
        )
    shown = form in (Format.TEXT, Format.HTML) and stage is Stage.PLAN and diff is None
    if options.units is not None and (not shown or options.spread not in (None, SpreadName.UNITS)):
        fail("--units is about a plan, as text or html; leave --spread, --diff and --stage out")
    limits = {"--memory": options.memory, "--iota": options.iota, "--kappa": options.kappa}
    given = [name for name, value in limits.items() if value is not None]
    if given and (options.units is None or options.spread is not None):
        fail(f"{given[0]} is about the units of a plan: give --units, and leave --spread out")


def _on_units(
    options: ExplainOptions,
    plan: "Plan",
    known: "Schema | Stats",
    source: "EventFile | None",
    units: int,
) -> str:
    """What the model says of the plan on units; with --analyze what a run measured on each beside it."""
    from stretto.explain.text import explanation_text
    from stretto.explain.units import units_text
    from stretto.memo.prices import load
    from stretto.plan.optimizers import RECIPES
    from stretto.plan.placement.placed_text import placed_text
    from stretto.plan.placement.placing import place
    from stretto.plan.placement.shown import units_shown
    from stretto.schema import Schema

    if isinstance(known, Schema):
        fail("--units goes by the rates of the events: give --events or --stats")
    recipe = RECIPES.get(options.planning.optimizer)
    allocation = "best" if recipe is None else recipe.allocation
    limits: dict[str, Any] = {
        "capacity": options.capacity,
        "state_bytes": None if options.memory is None else bytes_of(options.memory),
    }
    placed = place(plan, known, units, load(), allocation=allocation, **limits)
    shown = units_shown(placed)
    if source is not None and options.analyze:
        with reported(FAILED):
            from stretto.cli.measuring import measured_units
            from stretto.plan.placement.skew_text import skew_text

            run = measured_units(placed.plan, source, quiet=options.quiet)
            best = allocation == "best"
            again = place(plan, known, units, load(), heavy=run.heavy, **limits) if best else None
            skew = skew_text(placed, run.units, run.heavy, again)
            shown = units_shown(placed, run.units, run.span, skew)
    if options.shown_as is Format.HTML:
        return _page(plan, replace(_shown(options, plan), units=shown))
    text = f"{explanation_text(_shown(options, plan))}\n{units_text(shown)}"
    if allocation == "best":
        text += f"\n{placed_text(place(plan, known, units, load(), objective='stages', **limits))}"
    return text


def _known(options: ExplainOptions) -> "tuple[EventFile | None, Schema | Stats | None]":
    """The events, if any, and what is known of them: a file of statistics, or their schema."""
    from stretto.cli.inputs import open_told, read_stats

    source = None if options.events is None else open_told(options.events, options.columns.special)
    if options.stats is not None:
        return source, read_stats(options.stats)
    return source, None if source is None else source.schema


def _schema(known: "Schema | Stats") -> "Schema":
    from stretto.schema import Schema

    return known if isinstance(known, Schema) else known.schema


def _patterns(workload: "Workload", known: "Schema | Stats", form: Format) -> str:
    """The pieces of every query: OR and ANY are split off, and the nesting is flattened."""
    from stretto.pattern.describe import piece_text
    from stretto.screen import as_lines
    from stretto.text.printer import pattern_text

    bound = workload.bind(_schema(known))
    pieces = {
        found.name: [
            piece_text(branch.piece, [found.variables[i] for i in branch.columns])
            for branch in found.branches
        ]
        for found in bound.normal_forms()
    }
    trends = {query.name for query in bound.trends}
    pieces |= {
        query.name: [f"trends of {pattern_text(query.pattern)}"]
        for query in workload.queries
        if query.name in trends
    }
    if form is Format.JSON:
        return json.dumps(pieces, indent=2)
    blocks = ([f"{name}:", *(f"  {text}" for text in texts)] for name, texts in pieces.items())
    return "\n\n".join(map(as_lines, blocks)) + "\n"


def _memo(options: ExplainOptions, workload: "Workload", known: "Schema | Stats") -> str:
    """What the optimizer could choose from."""
    from stretto.cli.inputs import mistakes_of
    from stretto.explain.memo_stage import memo_as
    from stretto.plan.optimize import as_read, explored, plannable, recipe_of
    from stretto.schema import Schema
    from stretto.stats.profile import Stats

    stats = Stats.assumed(known) if isinstance(known, Schema) else known
    recipe = recipe_of(options.planning.named)
    with mistakes_of(workload):
        memo, pricing = explored(as_read(plannable(workload.bind(stats.schema)), recipe), stats, recipe)
    return memo_as(memo, None if isinstance(known, Schema) else pricing, options.shown_as.value)


def _analysis(options: ExplainOptions, plan: "Plan", source: "EventFile") -> str:
    """What a run of the plan measures."""
    from stretto.explain.measured import measured_json, measured_text
    from stretto.explain.numbers import in_format
    from stretto.plan.explanation import explanation

    with reported(FAILED):
        from stretto.cli.measuring import measured  # loads the kernels, so after what may be wrong

        found = explanation(plan, measured(plan, source, quiet=options.quiet))
    if options.shown_as is Format.HTML:
        return _page(plan, found)
    return in_format(options.shown_as.value, lambda: measured_text(found), lambda: measured_json(found))


def _shown(options: ExplainOptions, plan: "Plan") -> "Explanation":
    """The plan as it is shown: with totals for the events where these are at hand, else per million events."""
    from stretto.plan.explanation import explanation

    return replace(explanation(plan), per_million=options.events is None)


def _plan(plan: "Plan", options: ExplainOptions) -> str:
    from stretto.explain.json import explanation_json
    from stretto.explain.mermaid import to_mermaid
    from stretto.explain.numbers import in_format
    from stretto.explain.text import explanation_text

    found, form = _shown(options, plan), options.shown_as
    if form is Format.MERMAID:
        return to_mermaid(found)
    if form is Format.HTML:
        return _page(plan, found)
    return in_format(form.value, lambda: explanation_text(found), lambda: explanation_json(found))


def _comparison(left: "Explanation", right: "Explanation", form: Format) -> str:
    from stretto.explain.compare import compare, comparison_json
    from stretto.explain.compare_text import comparison_text
    from stretto.explain.numbers import in_format

    found = compare(left, right)
    return in_format(form.value, lambda: comparison_text(found), lambda: comparison_json(found))


def _page(plan: "Plan", found: "Explanation") -> str:
    from stretto.explain.html.page import explain_page

    file = "" if plan.workload is None else Path(plan.workload.file).name
    return explain_page(found, title=f"Plan of {file}" if file else "Plan")


def _write(text: str, out: str | None) -> None:
    text = text if text.endswith("\n") else text + "\n"
    if out is None:
        show(text)
    else:
        write_text(out, text)
