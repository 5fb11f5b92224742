"""Plans run on a few events, so that what they do can be counted before one is chosen."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from stretto.engine.derived.fronted_plan import FrontedPlan
from stretto.engine.live_plan import LivePlan
from stretto.engine.memory.limits import Meter
from stretto.engine.pace import Pace
from stretto.engine.results.match_chunks import Output
from stretto.engine.results.matches import Matches
from stretto.engine.stream.arena import Block
from stretto.errors import EngineError
from stretto.plan.dag import Plan
from stretto.plan.ops import Emit
from stretto.plan.trials.counted_work import Counted
from stretto.schema import Kind
from stretto.values.strings import Strings
from stretto.values.times import END_OF_TIME

TRIED_STEP = 1 << 12
"""Events after which it is asked for the first time whether a trial goes on; then twice as many, and so on."""
MEMORY_BYTES = 1 << 30
"""What a plan may hold in a trial; one that needs more of so few events is not worth having."""


def derived_events(plan: Plan, stretches: Sequence[pa.Table]) -> list[pa.Table]:
    """Return stretches of events with the events that the plan's derived streams make of each, in order of time."""
    found = []
    for events in stretches:
        live = FrontedPlan(plan, Meter(MEMORY_BYTES), plan.schema.special)
        blocks = [live.intake.convert(batch, 0)[0] for batch in events.to_batches()]
        found.append(pa.Table.from_batches([live.derived(blocks)]))
    return found


class Tryout:
    """Runs plans on some events, which are in order of time, and are converted once for all of them."""

    def __init__(self, events: pa.Table) -> None:
        self._events = events
        self._strings = Strings()
        self._read: tuple[dict[str, Kind], dict[str, int]] | None = None
        self._blocks: list[Block] = []

    def __call__(self, plan: Plan) -> Iterator[Counted]:
        """What a plan has done after each step; no match is kept.

        Whoever reads this may stop at any step. Where a step does not fit into memory it ends early.
        """
        live = LivePlan(plan, Meter(MEMORY_BYTES), plan.schema.special, strings=self._strings)
        outputs = [
            Output(op.query, op.variables, op.kleene, op.returns) for op in plan.ops if isinstance(op, Emit)
        ]
        matches = Matches(outputs)
        done, pace = 0, Pace(TRIED_STEP, fixed=True)
        for part, then in pace.cut(self._taken_by(live)):
            try:
                until, closing = (END_OF_TIME, True) if then is None else (then, False)
                for _ in live.take(part, until, matches, closing=closing):
                    matches.drain()
            except EngineError:
                return
            done += sum(map(len, part))
            pace.size *= 2
            counters = live.counters
            yield Counted(done, counters.rows, counters.candidates)

    def _taken_by(self, live: LivePlan) -> list[Block]:
        """The events as a plan takes them; plans for the same queries read the same columns and types."""
        if self._read != (live.kinds, live.index.codes):
            blocks = [live.intake.convert(batch, 0)[0] for batch in self._events.to_batches()]
            self._blocks = [block for block in blocks if len(block)]
            self._read = live.kinds, dict(live.index.codes)
        return self._blocks
