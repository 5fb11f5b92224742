"""What of a workload has to be computed for what was asked of it: matches, totals of trends, or all."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, Literal

from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.schema import Schema
from stretto.spark.errors import StrettoSparkError

Asked = Literal["matches", "trends", "all"]

ONLY_TRENDS: Final = (
    "the workload has nothing but trend queries, which find no matches:"
    " stretto.spark.aggregate gives their totals"
)
NO_TRENDS: Final = (
    "the workload has no trend query: totals are of queries such as"
    " `QUERY q PATTERN A a+ WITHIN 5 MINUTES RETURN COUNT(*);`, and stretto.spark.detect finds matches"
)


def asked_of(workload: Workload | Plan, schema: Schema, asked: Asked) -> Workload | Plan:
    """The workload, or its plan, without the queries whose results nobody wants; an error where none is left."""
    if asked == "all":
        return workload
    if isinstance(workload, Plan):
        return _matching(workload) if asked == "matches" else _totalling(workload)
    bound = workload.bind(schema)
    if asked == "trends":
        if not bound.trends:
            raise StrettoSparkError(NO_TRENDS)
        return workload.remove(*(query.name for query in bound.detections))
    if bound.trends and not bound.detections:
        raise StrettoSparkError(ONLY_TRENDS)
    return workload.remove(*(query.name for query in bound.trends))


def _matching(plan: Plan) -> Plan:
    if plan.trends is None:
        return plan
    if not plan.queries:
        raise StrettoSparkError(ONLY_TRENDS)
    gone = (query.name for query in plan.trends.queries)
    return replace(plan, trends=None, workload=_without(plan.workload, gone))


def _totalling(plan: Plan) -> Plan:
    if plan.trends is None:
        raise StrettoSparkError(NO_TRENDS)
    if not plan.queries:
        return plan
    rest = _without(plan.workload, plan.queries)
    return replace(plan, ops=(), queries={}, records=(), estimate=None, workload=rest)


def _without(workload: Workload | None, queries: Iterable[str]) -> Workload | None:
    return None if workload is None else workload.remove(*queries)


def query_names(plan: Plan) -> tuple[str, ...]:
    """The queries of a plan, those that find matches first."""
    trends = () if plan.trends is None else plan.trends.queries
    return (*plan.queries, *(query.name for query in trends))
