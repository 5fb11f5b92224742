"""Planning where an engine is at hand: the best few plans are tried before one is taken."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.schema import Schema
from stretto.stats.profile import Stats

if TYPE_CHECKING:
    from stretto.plan.trials.counted_work import Counted


def optimize(
    workload: Workload,
    known: Stats | Schema,
    optimizer: str = "auto",
    budget: float | None = None,
    *,
    without: Sequence[str] = (),
    once: bool = False,
) -> Plan:
    """The plan for a workload's queries over events with these statistics, or just this schema.

    `budget`: seconds that an optimizer which searches may take. Where the statistics hold a sample, `auto` tries the
    best few plans on it. `without`: names of rules that `rumor` or `auto` may not use. `once`: the plan is for the
    events that were measured alone, so that planning should not take longer than it saves. Raises QueryError if the
    workload does not fit the schema or holds a statement that no plan can run.
    """
    from stretto.plan import optimize as planning  # an engine that runs a plan needs none of it

    return planning.optimize(workload, known, optimizer, budget, _trial, without, once=once, derive=_derive)


def _trial(events: pa.Table) -> "Callable[[Plan], Iterator[Counted]]":
    """The engine is loaded when something is tried: a plan alone needs no kernel."""
    from stretto.engine.trial import Tryout

    return Tryout(events)


def _derive(plan: Plan, stretches: Sequence[pa.Table]) -> list[pa.Table]:
    """Make the derived streams' events of sampled ones."""
    from stretto.engine.trial import derived_events

    return derived_events(plan, stretches)
