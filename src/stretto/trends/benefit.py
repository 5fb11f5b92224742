"""What sharing an edge costs and saves, by the executors of this engine.

As MUSE's own model does (`papers/muse/cost.py`), it compares, for an edge from E' to E that some queries may share,
each of them computing it alone with one shared computation and the evaluation of every query's own values from m
MatStates. More queries with as many MatStates gain more (Lemma 1), and more MatStates gain less (Lemma 2).
"""

from collections.abc import Callable
from math import log2

from stretto.records import dataclass

INTAKE = 1.0
"""What handing an event to a unit costs, in updates of one value by one event."""


@dataclass(frozen=True, slots=True)
class EdgeLoad:
    """Of an edge from E' to E and the queries Q that may share it, in one window and partition.

    `before`: |E'|; `events`: |E|; `queries`: |Q|; `values`: numbers kept by all of Q together, |Q| where each has one
    window open and counts only; `lanes`: numbers kept for a shared value, 1 where all count only; `width`: values that
    a shared one is expressed by; `matstates`: m, at least 1.
    """

    before: float
    events: float
    queries: int
    values: float
    lanes: int = 1
    width: int = 2
    matstates: float = 1.0
    conditioned: bool = False


@dataclass(frozen=True, slots=True)
class Costs:
    """Of each query alone, of the shared computation, and of evaluating it for every query."""

    alone: float
    shared: float
    evaluation: float

    @property
    def benefit(self) -> float:
        """Definition 3: sharing is beneficial if this is above 0."""
        return self.alone - self.shared - self.evaluation


Model = Callable[[EdgeLoad], Costs]


def engine_costs(load: EdgeLoad) -> Costs:
    """What the executors of this engine do for an event."""
    return _windowed_costs(load) if load.conditioned else _running_costs(load)


def _running_costs(load: EdgeLoad) -> Costs:
    """Totals are kept running: a MatState replaces those before it, once working out every query's own values."""
    matstates = min(load.matstates, load.events)
    return Costs(
        load.events * (load.values + INTAKE * load.queries),
        load.events * (load.lanes * load.width + INTAKE),
        matstates * load.values * load.width,
    )


def _windowed_costs(load: EdgeLoad) -> Costs:
    """An event walks a tree once, with a component per MatState, or per query where there are fewer of those."""
    step = load.events * (1.0 + log2_of(load.before))
    alone = step * (load.queries + load.values)
    by_matstate = Costs(alone, step * (1.0 + load.lanes * load.matstates), load.matstates * load.values)
    by_query = Costs(alone, step * (1.0 + load.lanes * load.queries), 0.0)
    return max(by_matstate, by_query, key=lambda costs: costs.benefit)


def log2_of(number: float) -> float:
    """The height of a tree over so many."""
    return log2(max(number, 1.0))
