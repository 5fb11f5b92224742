"""How far in time and in events the matches of a plan reach: slices of time overlap by as much."""

from typing import Self

from stretto.pattern.piece import Place
from stretto.plan.dag import Plan, window_of
from stretto.plan.ops import Filter, Forbid, Next, Union
from stretto.plan.spread.time_slices import Times
from stretto.records import dataclass
from stretto.values.times import END_OF_TIME, START_OF_TIME


@dataclass(frozen=True, slots=True)
class Slice:
    """A stretch of time [low, high) whose results a target reports, and the one [start, stop) that it sees."""

    low: int
    high: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class MatchReach:
    """How far a match may look: before its first event, and from there on; in time and in numbers of events.

    A match ends, and its negations do, at most one window after its first event. Only a negation that stands first
    looks further back: at most one window before the last event, which is no earlier than the first one. The totals of
    a window reach from its beginning to its end. Derived streams look back as far as all windows on the way together.
    """

    before_us: int
    after_us: int
    before_events: int
    after_events: int

    @classmethod
    def of(cls, plan: Plan) -> Self:
        front = plan.front
        plans = (plan, *(() if front is None else (side.plan for side in front.sides)))
        kept = [window for one in plans for op in one.ops if (window := window_of(op)) is not None]
        back = [
            op.window for one in plans for op in one.ops if isinstance(op, Forbid) and _looks_back(op, one)
        ]
        totals = () if plan.trends is None else plan.trends.queries
        if front is not None and front.horizon_events:
            # How far back so many events of a stream are is known of no slice.
            return cls(END_OF_TIME, END_OF_TIME, 0, 0)
        return cls(
            # An event of a derived stream is made of raw ones before it.
            max((w.size for w in back if w.unit == "us"), default=0)
            + (0 if front is None else front.reach_us),
            max((*(w.size for w in kept if w.unit == "us"), *(q.window_us for q in totals)), default=0),
            max((w.size for w in back if w.unit == "events"), default=0),
            max((w.size for w in kept if w.unit == "events"), default=0),
        )

    def slice(self, low: int, high: int, times: Times) -> Slice:
        """What a target must see to report the matches and windows that begin in [low, high)."""
        start = stop = None
        if low > START_OF_TIME:
            start = min(low - self.before_us, times.since(low, self.before_events))
        if high < END_OF_TIME:
            stop = max(high + self.after_us, times.until(high, self.after_events))
        return Slice(
            low,
            high,
            START_OF_TIME if start is None else max(start, START_OF_TIME),
            END_OF_TIME if stop is None else min(stop, END_OF_TIME),
        )


def _looks_back(op: Forbid, plan: Plan) -> bool:
    """Whether the interval may begin before the first event: also where NEXT may leave out the steps before it."""
    if op.place is not Place.BETWEEN:
        return op.place.looks_back
    under = plan.ops[op.input]
    while isinstance(under, Filter | Forbid):
        under = plan.ops[under.input]
    return isinstance(under, Next | Union)
