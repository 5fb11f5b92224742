"""What DecoPa is compared with (sec. 7.1): left-deep splits in the order of the text, divided in several ways."""

from math import floor

from stretto.solve.units.allocation import Allocated, allocate, grid_of
from stretto.solve.units.loads import Capacity
from stretto.solve.units.rates import RatedQuery
from stretto.solve.units.splits import Split, left_deep


def text_split(query: RatedQuery) -> Split:
    """The query's slots one after another."""
    return left_deep(query, range(len(query.rates)))


def centralized(query: RatedQuery, capacity: Capacity) -> float:
    """The replay speed of one unit that evaluates all sub-queries."""
    steps = [choice.step for choice in text_split(query).values()]
    taken = sum(query.rates)
    return 1.0 / max(taken / capacity.iota, sum(step.compared(1) for step in steps) / capacity.kappa)


def state_parallel(query: RatedQuery, capacity: Capacity) -> float:
    """A unit for each sub-query."""
    return 1.0 / max(choice.step.load(1, capacity) for choice in text_split(query).values())


def hybrid(query: RatedQuery, units: int, capacity: Capacity) -> Allocated | None:
    """Units for each sub-query in proportion to its comparisons, the larger input divided."""
    return proportional(text_split(query), units, capacity)


def hybrid_exact(query: RatedQuery, units: int, capacity: Capacity) -> Allocated | None:
    """The same split with the best allocation there is: a fairer rival."""
    return allocate(text_split(query), units, capacity)


def rip(query: RatedQuery, units: int, capacity: Capacity) -> float:
    """Batches of two windows that overlap by one, to units in turn: each sees every event of its batch.

    A unit has two windows of events for every `units` windows of stream, and evaluates all sub-queries on them.
    """
    share = min(1.0, 2.0 / units)
    steps = [choice.step for choice in text_split(query).values()]
    taken = share * sum(query.rates) / capacity.iota
    return 1.0 / max(taken, share * sum(step.compared(1) for step in steps) / capacity.kappa)


def proportional(split: Split, units: int, capacity: Capacity) -> Allocated | None:
    """What the capacities ask for at the speed of the stream, at least one each; the rest by comparisons (sec. 6.1)."""
    if units < len(split):
        return None
    work = {part: choice.step.compared(1) for part, choice in split.items()}
    total = sum(work.values())
    left = units - len(split)
    shares = {part: left * done / total if total else 0.0 for part, done in work.items()}
    given = {part: 1 + floor(share) for part, share in shares.items()}
    over = units - sum(given.values())
    for part in sorted(split, key=lambda one: floor(shares[one]) - shares[one])[:over]:
        given[part] += 1
    grids = {part: grid_of(split, part, given[part], capacity, beyond=False) for part in split}
    return Allocated(split, grids)
