"""From a call to a plan: the columns of the events, the queries that are asked for, and what is planned for them."""

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from typing import Final, Literal

from pyspark.sql import DataFrame

from stretto.engine.expected_matches import too_many
from stretto.engine.planning import optimize
from stretto.errors import EventsError, StrettoError, near, summarized, warn
from stretto.face.given import Given, warn_of, workload_of
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.spread.choice import choose
from stretto.plan.spread.event_load import EventLoad
from stretto.plan.spread.spreads import Spread
from stretto.records import dataclass
from stretto.schema import Schema, Special
from stretto.spark.errors import StrettoSparkError
from stretto.spark.io.columns import arrow_columns, refuse_ids
from stretto.stats.profile import Stats

Asked = Literal["matches", "trends", "all"]

ONLY_TRENDS: Final = (
    "the workload has nothing but trend queries, which find no matches:"
    " stretto.spark.aggregate gives their totals"
)
NO_TRENDS: Final = (
    "the workload has no trend query: totals are of queries such as"
    " `QUERY q PATTERN A a+ WITHIN 5 MINUTES RETURN COUNT(*);`, and stretto.spark.detect finds matches"
)


@dataclass(frozen=True, slots=True)
class Planning:
    """How a workload becomes a plan: by an optimizer, in so many seconds, for what is known of the events."""

    optimizer: str = "auto"
    budget: float | None = None
    stats: Stats | None = None


def special_of(workload: Given) -> Special:
    """The special columns that a plan was made for; those of a workload have their usual names."""
    return workload.schema.special if isinstance(workload, Plan) else Special()


def bound_early(workload: Workload, expected: Callable[[], Schema | None]) -> Workload:
    """The workload; QueryError for what is surely wrong with it, before anything is started.

    It is bound to the columns that are expected, so that it is not bound again where they turn out so. Where they may
    turn out otherwise no mistake counts but those that need no columns.
    """
    with suppress(StrettoError):
        schema = expected()
        if schema is not None:
            workload.bind(schema)
            return workload
    workload.verify()
    return workload


def asked_of(given: Given, schema: Schema, asked: Asked) -> Workload | Plan:
    """The workload, or its plan, without the queries whose results nobody wants; an error where none is left."""
    workload = workload_of(given)
    if asked == "all":
        return workload
    if isinstance(workload, Plan):
        return _matching(workload) if asked == "matches" else _totalling(workload)
    bound = workload.bind(schema)
    if asked == "trends":
        if not bound.trends:
            raise StrettoSparkError(NO_TRENDS)
        kept = {query.name for query in bound.trends}
        return _without(workload, [query.name for query in workload.queries if query.name not in kept])
    if bound.trends and not bound.detections and not bound.templates:
        raise StrettoSparkError(ONLY_TRENDS)
    return _without(workload, [query.name for query in bound.trends])


def _matching(plan: Plan) -> Plan:
    if plan.trends is None:
        return plan
    if not plan.queries:
        raise StrettoSparkError(ONLY_TRENDS)
    gone = [query.name for query in plan.trends.queries]
    return replace(plan, trends=None, workload=plan.workload and _without(plan.workload, gone))


def _totalling(plan: Plan) -> Plan:
    if plan.trends is None:
        raise StrettoSparkError(NO_TRENDS)
    if not plan.queries:
        return plan
    kept = {query.name for query in plan.trends.queries}
    rest = plan.workload and _without(
        plan.workload, [query.name for query in plan.workload.queries if query.name not in kept]
    )
    return replace(plan, ops=(), queries={}, records=(), estimate=None, workload=rest)


def _without(workload: Workload, queries: Collection[str]) -> Workload:
    return workload.remove(*queries) if queries else workload


def query_names(plan: Plan) -> tuple[str, ...]:
    """The queries of a plan, those that find matches first."""
    trends = () if plan.trends is None else plan.trends.queries
    return (*plan.names, *(query.name for query in trends))


def schema_of(df: DataFrame, special: Special) -> Schema:
    """What queries can read of a DataFrame; EventsError where it has no times or types, or ids that do not serve."""
    arrow = arrow_columns(df)
    for name, meaning in ((special.ts, "times"), (special.type, "types")):
        if name not in arrow.names:
            hint = near(name, arrow.names)
            raise EventsError(
                f"the DataFrame has no column `{name}` for the {meaning} of the events"
                + (f", {hint}" if hint else "")
                + f" (columns: {', '.join(arrow.names)})"
            )
    refuse_ids(df.schema, special)
    return Schema.of(arrow, None, special)


def planned(
    workload: Given,
    schema: Schema,
    planning: Planning,
    measure: Callable[[Workload], Stats],
    asked: Asked,
    *,
    seen: Callable[[], bool] = lambda: True,
) -> Plan:
    """The plan itself, or that of a workload over what is measured of the events, if its optimizer wants to know.

    Queries whose results are not asked for are left out. `seen`: whether what was measured tells what events lack.
    """
    read = asked_of(workload, schema, asked)
    if isinstance(read, Plan):
        return read
    read.bind(schema)  # what is wrong is said before events are measured
    known = schema if planning.optimizer == "none" else planning.stats or measure(read)
    warn_of(read, known if seen() else schema)
    plan = optimize(read, known, planning.optimizer, planning.budget)
    if isinstance(known, Stats):
        for text in summarized(too_many(plan, known.events, known.seconds)):
            warn(text)
    return plan


def chosen_spread(
    spread: str | Spread, plan: Plan, load: Callable[[], EventLoad], cores: int, units: int | None = None
) -> Spread:
    """The best spread of a name for what is to be spread; one that was given, if it gives the right results."""
    if isinstance(spread, str):
        return choose(plan, load(), cores, spread, units)
    reason = spread.check(plan)
    if reason is not None:
        raise StrettoSparkError(f"this spread would give wrong results: {reason}")
    return spread
