"""The spread of a batch of which nobody knows how large it is, and when its events come."""

from dataclasses import replace

from stretto.plan.dag import Plan
from stretto.plan.spread.event_load import MOST_ROWS
from stretto.plan.spread.partition_keys import key_attributes
from stretto.plan.spread.spreads import ByKey, Spread, Whole
from stretto.plan.spread.stream_choice import cells_if_they_pay
from stretto.plan.spread.stream_slices import TARGETS, Slices

BatchSpread = Spread | Slices
"""How the events of a batch get to targets."""
PER_CORE = 8
"""Targets per core, so that a heavy one does not keep the others waiting."""


def choose_unseen(plan: Plan, cores: int, events: int = 0) -> BatchSpread:
    """By key where the queries have one, else by slices of time in turn, else by units where they pay, else not at all.

    `events`: about how many there are, if that is known.
    """
    targets = max(PER_CORE * cores, TARGETS, -(-2 * events // MOST_ROWS))
    attributes = key_attributes(plan)
    if attributes:
        return ByKey(attributes, targets)
    slices = slices_of(plan, targets)
    return slices or cells_if_they_pay(plan, cores).cells or Whole()


def slices_of(plan: Plan, targets: int) -> Slices | None:
    """Slices of time that so many targets take in turn; None where a plan's results would be wrong."""
    if plan.front is not None:
        return None
    slices = replace(Slices.of(plan), targets=targets)
    return slices if slices.check(plan) is None else None
