"""Stretto by `--optimizer none`: every query in the order of its text, planned from the schema alone."""

from collections.abc import Sequence

import pyarrow as pa
from benchmarks.contestants.answers import Steps
from benchmarks.contestants.events import TYPES
from benchmarks.contestants.with_stretto import missing, stepped, variants, warming
from benchmarks.contestants.workloads import Workload

import stretto
from stretto.plan.dag import Plan

__all__ = ["load", "missing", "plan_of", "variants", "warming"]


def plan_of(text: str, schema: pa.Schema, types: Sequence[str] = TYPES) -> Plan:
    return stretto.optimize(text, stretto.Schema.of(schema, types), "none")


def load(table: pa.Table, workload: Workload, _variant: None, _threads: int) -> Steps:
    """From a table of events to the columns of every query's matches."""
    return stepped(lambda: plan_of(workload.text, table.schema), table)
