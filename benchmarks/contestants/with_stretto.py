"""Stretto by its public calls and defaults: `optimize` over the events, `run`, and `matches[query]` of every query."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow as pa
from benchmarks.contestants.answers import Steps, Tables
from benchmarks.contestants.workloads import Workload

import stretto
from stretto.engine.kernels import when_to_compile
from stretto.plan.dag import Plan


def missing(_workload: Workload) -> str | None:
    return None


def variants(_workload: Workload) -> list[None]:
    return [None]


@contextmanager
def warming() -> Iterator[None]:
    """Compile every loop that is reached, although the events of a warm-up are too few to pay for it."""
    before, when_to_compile.always = when_to_compile.always, True
    try:
        yield
    finally:
        when_to_compile.always = before


def load(table: pa.Table, workload: Workload, _variant: None, _threads: int) -> Steps:
    """From a table of events to the columns of every query's matches; the plan is made for these events."""
    return stepped(lambda: stretto.optimize(workload.text, table), table)


def stepped(plan: Callable[[], Plan], table: pa.Table) -> Steps:
    """Planning, then a run that ends with the columns of every query."""
    return Steps(plan, lambda plan: columns_of(plan, table))


def columns_of(plan: Plan, table: pa.Table) -> Tables:
    """The columns of every query's matches."""
    matches = stretto.run(plan, table)
    return {query: matches[query] for query in matches.counts()}
