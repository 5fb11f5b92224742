"""From a workload to a plan, by a named optimizer."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from stretto.errors import Mistake, QueryError, StrettoError, near
from stretto.pattern.nodes import Query
from stretto.pattern.normal import normalize
from stretto.pattern.workload import Workload
from stretto.plan.build import Builder
from stretto.plan.check import check
from stretto.plan.dag import Plan
from stretto.plan.lower import lower
from stretto.schema import Schema
from stretto.stats.profile import Stats

# An optimizer turns bound queries into the operators that answer them.
Optimizer = Callable[[tuple[Query, ...], Schema], Plan]


def optimize(workload: Workload, known: Stats | Schema, optimizer: str = "none") -> Plan:
    """The plan for a workload's detection queries over events with these statistics, or just this schema.

    Raises QueryError if the workload does not fit the schema or holds a statement that no plan can run.
    """
    if optimizer not in OPTIMIZERS:
        hint = f", {found}" if (found := near(optimizer, OPTIMIZERS)) else ""
        raise StrettoError(f"unknown optimizer `{optimizer}`{hint}; there are: {', '.join(OPTIMIZERS)}")
    schema = known.schema if isinstance(known, Stats) else known
    bound = workload.bind(schema)
    if bound.unsupported:
        raise QueryError(bound.unsupported)
    return check(OPTIMIZERS[optimizer](bound.detections, schema))


def plan_one_by_one(queries: tuple[Query, ...], schema: Schema) -> Plan:
    """Each query's own left-to-right order; nothing is shared but the scans of equal streams."""
    builder = Builder(schema.attributes)
    emits: dict[str, int] = {}
    mistakes: list[Mistake] = []
    for query in queries:
        try:
            emits[query.name] = lower(normalize(query), builder)
        except QueryError as error:
            mistakes += (_placed(mistake, query) for mistake in error.mistakes)
    if mistakes:
        raise QueryError(mistakes)
    return Plan(tuple(builder.ops), MappingProxyType(emits), tuple(builder.because), schema, "none")


def _placed(mistake: Mistake, query: Query) -> Mistake:
    """Lowering knows no text; it is the query that cannot be planned."""
    message = f"query {query.name} cannot be planned: {mistake.message}"
    return replace(mistake, message=message, at=mistake.at or query.span)


OPTIMIZERS: Final[Mapping[str, Optimizer]] = MappingProxyType({"none": plan_one_by_one})
