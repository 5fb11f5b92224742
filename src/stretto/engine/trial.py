"""A plan run on a few events, so that what it does can be counted before it is chosen."""

from collections.abc import Iterator

import pyarrow as pa

from stretto.engine.live_plan import LivePlan
from stretto.engine.memory.limits import Meter
from stretto.engine.pace import Pace
from stretto.engine.results.match_chunks import Output
from stretto.engine.results.matches import Matches
from stretto.errors import EngineError
from stretto.plan.dag import Plan
from stretto.plan.ops import Emit
from stretto.plan.trials.counted_work import Counted
from stretto.values.times import END_OF_TIME

TRIED_STEP = 1 << 12
"""Events after which it is asked whether a trial goes on."""
MEMORY_BYTES = 1 << 30
"""What a plan may hold in a trial; one that needs more of so few events is not worth having."""


def try_out(plan: Plan, events: pa.Table) -> Iterator[Counted]:
    """What a plan has done after each step of some events, which are in order of time; no match is kept.

    Whoever reads this may stop at any step. Where a step does not fit into memory it ends early.
    """
    live = LivePlan(plan, Meter(MEMORY_BYTES), plan.schema.special)
    outputs = [
        Output(op.query, op.variables, op.kleene, op.returns) for op in plan.ops if isinstance(op, Emit)
    ]
    matches = Matches(outputs)
    blocks = [live.intake.convert(batch, 0)[0] for batch in events.to_batches()]
    done = 0
    for part, then in Pace(TRIED_STEP, fixed=True).cut([block for block in blocks if len(block)]):
        try:
            until, closing = (END_OF_TIME, True) if then is None else (then, False)
            for _ in live.take(part, until, matches, closing=closing):
                matches.drain()
        except EngineError:
            return
        done += sum(map(len, part))
        counters = live.counters
        yield Counted(done, counters.rows, counters.candidates)
