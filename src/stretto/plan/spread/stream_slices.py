"""Slices of time for a stream, which has no end: targets take them in turn."""

from typing import Final, Self

import numpy as np
import pyarrow as pa

from stretto.errors import StrettoError
from stretto.plan.dag import Plan, window_of
from stretto.plan.placement.cells import ByCell
from stretto.plan.spread.partition_keys import why_thinned
from stretto.plan.spread.reach import MatchReach
from stretto.plan.spread.spreads import TOO_LITTLE, ByKey, Whole, times_of
from stretto.plan.spread.staged import Staged
from stretto.records import dataclass
from stretto.schema import Special
from stretto.text.values import duration_text
from stretto.values.rows import I64, Bool

TARGETS: Final = 16
"""Targets that take slices in turn. A checkpoint is bound to their number, so it depends on nothing."""
WIDTH: Final = 4
"""How wide a slice is, by what its matches reach: an event is sent 1.25 times then."""
SECOND: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Slices:
    """Slice n owns [n * width, (n + 1) * width) and is one of the slices of target n modulo `targets`.

    A target sees its slices, and as much before and after each of them as matches reach. What begins in a slice
    depends on nothing further away: one engine finds it, whatever the slices before it were, and what it finds that
    begins elsewhere is left out. So a target is as any other: its state is its window of events, however many slices
    it has had. No slice is narrower than the reach, so an event goes to two targets at most.
    """

    width_us: int
    before_us: int
    after_us: int
    targets: int = TARGETS

    def __post_init__(self) -> None:
        reach = self.before_us + self.after_us
        if self.width_us < max(reach, 1):
            raise StrettoError(
                f"slices of {duration_text(self.width_us)} are narrower than the {duration_text(reach)} "
                "that matches reach"
            )

    @classmethod
    def of(cls, plan: Plan, width_us: int | None = None) -> Self:
        """Slices that overlap by as much as a plan's matches reach, several times as wide if no width is given."""
        reach = MatchReach.of(plan)
        wide = width_us or WIDTH * (reach.before_us + reach.after_us) or SECOND
        return cls(wide, reach.before_us, reach.after_us)

    def parts(self, batch: pa.RecordBatch, special: Special) -> list[tuple[int, pa.RecordBatch]]:
        """The targets that need events of the batch, each with those events in their order.

        Events without a time go to the first target, which rejects them.
        """
        if not batch.num_rows:
            return []
        ts, timeless = times_of(batch, special)
        first, last = self._turn(ts - self.after_us), self._turn(ts + self.before_us)
        if timeless is not None:
            first[timeless] = last[timeless] = 0
        seeing = ((target, (first == target) | (last == target)) for target in range(self.targets))
        return [(target, batch.take(pa.array(np.flatnonzero(sees)))) for target, sees in seeing if sees.any()]

    def begin_at(self, target: int, times: I64) -> Bool:
        """Which of these times lie in slices of the target: it reports the matches and windows that begin then."""
        mine: Bool = self._turn(times) == target
        return mine

    def counted(self, target: int, batch: pa.RecordBatch, special: Special) -> Bool:
        """Which events are counted, and reported if they are late or bad, by a target, of all that it sees."""
        ts, timeless = times_of(batch, special)
        mine = self.begin_at(target, ts)
        if timeless is not None:
            mine[timeless] = target == 0
        return mine

    def repeats(self, target: int, ids: I64, ts: I64) -> Bool:  # noqa: ARG002 - as cells
        """Which of the events with an id that came before are counted by a target."""
        return self.begin_at(target, ts)

    def check(self, plan: Plan) -> str | None:
        """Why a plan's results would be wrong; None if they are right."""
        thinned = why_thinned(plan)
        if thinned is not None:
            return thinned
        for number, op in enumerate(plan.ops):
            window = window_of(op)
            if window is not None and window.unit == "events":
                return f"query `{plan.serves(number)[0]}` has a window in EVENTS, which slices of time do not count"
        reach = MatchReach.of(plan)
        return TOO_LITTLE if reach.before_us > self.before_us or reach.after_us > self.after_us else None

    def _turn(self, times: I64) -> I64:
        """Whose turn it is."""
        return times // self.width_us % self.targets


TargetStream = Whole | ByKey | Slices | ByCell
"""How a stream's events get to targets, each of which runs the whole plan."""
StreamSpread = TargetStream | Staged
"""How a stream is spread."""
