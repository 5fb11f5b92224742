"""From a workload to a plan, by a named optimizer."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from stretto.errors import Mistake, QueryError, StrettoError, near
from stretto.pattern.branches import NotPlannable
from stretto.pattern.workload import BoundWorkload, Workload
from stretto.plan.build import Builder
from stretto.plan.check import check
from stretto.plan.dag import Plan
from stretto.plan.lower import lower
from stretto.schema import Schema
from stretto.stats.profile import Stats

# An optimizer turns a bound workload into the operators that answer its queries.
Optimizer = Callable[[BoundWorkload, Schema], Plan]


def optimize(workload: Workload, known: Stats | Schema, optimizer: str = "none") -> Plan:
    """The plan for a workload's detection queries over events with these statistics, or just this schema.

    Raises QueryError if the workload does not fit the schema or holds a statement that no plan can run.
    """
    if optimizer not in OPTIMIZERS:
        hint = f", {found}" if (found := near(optimizer, OPTIMIZERS)) else ""
        raise StrettoError(f"unknown optimizer `{optimizer}`{hint}; there are: {', '.join(OPTIMIZERS)}")
    schema = known.schema if isinstance(known, Stats) else known
    bound = workload.bind(schema)
    bound.require_supported()
    return check(OPTIMIZERS[optimizer](bound, schema))


def plan_one_by_one(bound: BoundWorkload, schema: Schema) -> Plan:
    """Each query's own left-to-right order; nothing is shared but the scans of equal streams."""
    builder = Builder(schema.attributes)
    emits: dict[str, int] = {}
    mistakes: list[Mistake] = []
    for query, detection in zip(bound.detections, bound.normal_forms(), strict=True):
        try:
            emits[query.name] = lower(detection, builder)
        except NotPlannable as reason:
            mistakes.append(Mistake(f"not supported yet: {reason} (query `{query.name}`)", query.span))
    if mistakes:
        raise QueryError(mistakes, bound.text, bound.file)
    return Plan(tuple(builder.ops), emits, tuple(builder.because), schema, "none")


OPTIMIZERS: Final[Mapping[str, Optimizer]] = MappingProxyType({"none": plan_one_by_one})
