"""Operators of workloads over the paper's CPU readings, and what the rules make of them."""

from collections import Counter
from collections.abc import Sequence

from stretto.memo.mops.mplan import MPlan
from stretto.memo.mops.operators import operators_of
from stretto.papers.rumor.driver import merged
from stretto.papers.rumor.rules import PRIORITIES, Rule
from stretto.pattern.workload import Workload
from stretto.schema import Kind, Schema

CPU = Schema({"pid": Kind.INT, "load": Kind.FLOAT, "host": Kind.STRING}, frozenset({"cpu", "T", "U"}))


def plan_of(text: str, rules: Sequence[Rule] = PRIORITIES) -> MPlan:
    bound = Workload.parse(text).bind(CPU)
    return merged(operators_of(bound.streams, bound.detections), rules)


def rules_of(plan: MPlan) -> Counter[str]:
    """How often each rule merged something."""
    return Counter(step.rule for step in plan.steps)


def shape(plan: MPlan) -> list[str]:
    """M-ops with the rule that merged them, their kind and how many operators they stand for."""
    return [f"{mop.rule or 'as written'}: {mop.kind} x{len(mop.operators)}" for mop in plan.mops]
