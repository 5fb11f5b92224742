"""Plans are tried on sampled events, and what they did decides between them.

An estimate can be wrong by more than two plans differ. So the best few are run on complete stretches of the sample,
and compared by the work that was counted there, at the model's prices: the same input has the same plan, whatever
else the machine is doing. After Wu, Naughton and Singh, Sampling-Based Query Re-Optimization (SIGMOD 2016).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from math import inf
from typing import Final

import pyarrow as pa

from stretto.explain.model import Estimate, Tried
from stretto.memo.cost import CostModel
from stretto.plan.dag import Plan
from stretto.plan.record import Record
from stretto.plan.trials.counted_work import Counted, WorkOf
from stretto.plan.trials.full_windows import FullWindows
from stretto.records import dataclass
from stretto.solve.common.budget import Budget
from stretto.stats.profile import Stats

Trial = Callable[[pa.Table], Callable[[Plan], Iterator[Counted]]]
"""For some events, what a plan has done after each step of them; the engine knows how."""

FEWEST_EVENTS: Final = 20_000
"""Inputs with fewer events are run sooner than plans are compared."""
LEAST_NS: Final = 5e6
"""And so are plans that are expected to take less than this, all events together."""
PART: Final = 0.25
MOST_EVENTS: Final = 1 << 15
"""Events tried: this part of the input, and no more than so many."""
MOST_WORK: Final = 1 << 23
"""Operators times events, at most: a plan of hundreds of operators is tried on fewer events."""
PARTS: Final = 8
"""Places of the sample they come from, at most; each holds a few windows."""
WINDOWS: Final = 4
FEWEST_WINDOWS: Final = 2
"""Windows tried at least, where the sample has them: of less, most of the rows that there are would be missing."""
TRYING: Final = 0.1
"""The part of the planning time that the work of one trial may take, at the model's prices."""
NANOSECONDS: Final = 1e9
KNOWN_ROWS: Final = 30
"""Rows counted from which on a count is better than an estimate. Fewer may be chance where rows come in bursts."""
HOPELESS: Final = 2.0
"""A plan that is estimated so many times the counted cost of another is not tried: rows are rarely overestimated so."""
MANY_QUERIES: Final = 50
"""Of more queries rivals take long to find: they are tried only where a plan did more than was estimated."""
SHORT_NS: Final = 2e9
"""A run that takes less is over before rivals of its plan are made and tried, if it does what was estimated."""
SURPRISING: Final = 1.15
"""It does if its counted cost is not so many times the estimated one."""
CLEARLY: Final = 0.97
"""A plan takes the place of the one with the least estimate if its counted cost is less than this part of its own."""


INPUTS: Final = frozenset({"left", "right", "input", "base", "element", "events", "steps", "parts"})
"""Fields of operators that hold the numbers of others."""


@dataclass(frozen=True, slots=True)
class Rival:
    """A plan that may be tried: its estimated cost, and how it is made if that is worth it."""

    cost: float
    make: Callable[[], Plan]


@dataclass(frozen=True, slots=True)
class _Outcome:
    """A plan that was tried: what was counted, and would be with full windows; costs per second of the stream."""

    plan: Plan
    counted: Counted
    filled: Counted
    costs: Sequence[float]
    cost: float


def worth_trying(plan: Plan, stats: Stats) -> bool:
    """Whether there is something to try a plan on, and so much to run that it pays."""
    sample, known = stats.sample, plan.estimate
    if sample is None or known is None or plan.trends is not None:
        return False
    return (
        min(stats.events, sample.inside) >= FEWEST_EVENTS
        and known.cost * stats.seconds >= LEAST_NS
        and bool(plan.queries)
    )


def best_tried(
    first: Plan, rivals: Iterable[Rival], stats: Stats, model: CostModel, trial: Trial, time: Budget
) -> Plan:
    """The plan that does the least work on the tried events; its estimate and records then hold what was counted.

    The first is the one that others have to beat. A plan is given up as soon as it has done more than the best one.
    """
    race = _Race(*sampled(first, stats), stats, model, trial)
    best = race.run(first, TRYING * time.seconds * NANOSECONDS, None)
    if best is None:
        return first
    limit, seen = best.counted.events, {computations(first)}
    for rival in rivals if _is_raced(best, stats, time) else ():
        if rival.cost > HOPELESS * best.cost:
            continue
        plan = rival.make()
        if computations(plan) in seen:
            continue
        seen.add(computations(plan))
        found = race.run(plan, CLEARLY * best.cost, limit)
        if found is not None and found.cost < CLEARLY * best.cost:
            best = found
    return _told(best, stats, len(seen), time)


def _is_raced(first: _Outcome, stats: Stats, time: Budget) -> bool:
    """Whether others may be so much better than the first plan that it pays to make and try them."""
    estimate = first.plan.estimate
    surprise = inf if estimate is None else first.cost / estimate.cost
    short = time.once and first.cost * stats.seconds < SHORT_NS
    return surprise > SURPRISING or not (short or len(first.plan.queries) > MANY_QUERIES)


def computations(plan: Plan) -> frozenset[int]:
    """What a plan computes, by hashes that do not depend on the numbers of its operators."""
    known: list[int] = []
    for op in plan.ops:
        own = tuple(getattr(op, one.name) for one in fields(op) if one.name not in INPUTS)
        known.append(hash((type(op), own, *(known[i] for i in op.inputs))))
    return frozenset(known)


class _Race:
    """Runs plans on the same events."""

    def __init__(self, events: pa.Table, length: int, stats: Stats, model: CostModel, trial: Trial) -> None:
        """`length`: events of each stretch."""
        self._length, self._stats, self._model, self._steps = length, stats, model, trial(events)

    def run(self, plan: Plan, most: float, limit: int | None) -> _Outcome | None:
        """What a plan does with the first `limit` events; None where that is more than `most`.

        Without a limit `most` are the nanoseconds after which a trial ends, as far as it has come.
        """
        work, found = WorkOf(plan, self._model.estimator), None
        full = FullWindows(plan, self._length, self._stats.total_rate)
        for counted in self._steps(plan):
            until = counted.events if limit is None else limit
            found = self._outcome(plan, work, counted, full.filled(counted, until), until)
            if limit is None:
                if found.cost * counted.events / max(self._stats.total_rate, 1e-9) > most:
                    break
            elif found.cost > most:
                return None
            elif counted.events >= limit:
                return found
        return found if limit is None or (found and found.counted.events >= limit) else None

    def _outcome(self, plan: Plan, work: WorkOf, counted: Counted, filled: Counted, limit: int) -> _Outcome:
        """The costs, if nothing more came until the limit."""
        model = self._model
        scale = self._stats.total_rate / limit
        calls = work.calls(filled)
        costs = [
            scale * model.price(one) + calls[number] * model.step_cost
            for number, one in enumerate(work.all(filled))
        ]
        return _Outcome(plan, counted, filled, costs, model.fixed_cost() + sum(costs))


def sampled(plan: Plan, stats: Stats) -> tuple[pa.Table, int]:
    """The events to try plans on: some windows from several places of the sample, in order of time; events of each."""
    sample = stats.sample
    assert sample is not None
    events, inside = sample.events, sample.inside
    held = max(plan.horizon_us * stats.total_rate / 1e6, float(plan.horizon_events), 1.0)
    most = min(inside, max(min(MOST_EVENTS, MOST_WORK // len(plan.ops)), int(FEWEST_WINDOWS * held)))
    count = int(max(min(most, max(PART * stats.events, WINDOWS * held)), 1))
    parts = int(max(1, min(PARTS, count / (WINDOWS * held))))
    length = count // parts
    gap = inside / parts
    starts = [int(i * gap + (gap - length) / 2) for i in range(parts)]
    return pa.concat_tables([events.slice(start, length) for start in starts]), length


def _told(best: _Outcome, stats: Stats, tried: int, time: Budget) -> Plan:
    """The plan with what was counted in the place of what was estimated, where that says more."""
    plan, counted = best.plan, best.counted
    known = plan.estimate
    assert known is not None
    scale = stats.total_rate / counted.events
    records = tuple(
        _corrected(record, seen, rows * scale, cost)
        for record, seen, rows, cost in zip(
            plan.records, counted.rows, best.filled.rows, best.costs, strict=True
        )
    )
    figures = Tried(counted.events, tried, known.cost, best.cost)
    estimate: Estimate = replace(known, cost=best.cost, seconds=time.spent, tried=figures)
    return replace(plan, records=records, estimate=estimate)


def _corrected(record: Record, seen: int, rows: float, cost: float) -> Record:
    """A record with the rows per second that so many counted ones stand for."""
    sure = record.rows is None or seen >= KNOWN_ROWS
    return replace(record, rows=rows if sure else record.rows, cost=cost)
