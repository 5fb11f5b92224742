"""The ways to run a workload, none of which may show in what it finds.

A way is a value: its plan, who does the work, how events come in, what changes meanwhile, when results are read. Its
seed decides the rest, so it can be stored and run again.
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from random import Random

from tests.support.loops import LONG, SHORT, WAYS, loops

from stretto.plan.optimizers import RECIPES

FEEDS = ("batches", "batches", "disordered", "given", "steps", "single")
CHANGES = ("",) * 8 + ("restore",) * 4 + ("switch",) * 3 + ("update",) * 4 + ("strings",) * 2 + ("adapt",)
READS = ("late", "late", "late", "early", "copied")
PLANS = ("none", "none", "auto", "some", "some", "recipe")
LATENESS = (1, 3, 10, 60)


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """`plan`: an optimizer's name, or `some`, any plan that the memo allows. `loops`: who does the work,
    one of `tests.support.loops.WAYS`. `feed`:

    - `batches` of 1 to 50 events in time order, or `disordered` ones;
    - `given`: disordered, with a watermark that is set from outside;
    - `steps`: the table at once, run in steps of 1 to 50 events;
    - `single`: as `batches`, and somewhere one event at a time.

    `change`: `restore` from snapshots, `switch` to other plans, `update` of the queries, `strings` that are forgotten,
    `adapt`. `read`: results are read `late`, at the end; `early`, as they come, and kept as tables; or late, and some
    `copied` as they come. `filled`: memory that is used again moves at every change and is filled with a pattern.
    """

    plan: str
    loops: str
    feed: str
    change: str = ""
    read: str = "late"
    filled: bool = False
    seed: int = 0

    def working(self) -> AbstractContextManager[None]:
        """Have loops or their twins do the work; the seed decides how long twins serve."""
        return loops(self.loops, Random(self.seed), SHORT + LONG)


def some_way(rng: Random) -> Way:
    plan = rng.choice(PLANS)
    return Way(
        plan=rng.choice(sorted(RECIPES)) if plan == "recipe" else plan,
        loops=rng.choice(("compiled", *WAYS)),
        feed=rng.choice(FEEDS),
        change=rng.choice(CHANGES),
        read=rng.choice(READS),
        filled=rng.random() < 0.2,
        seed=rng.getrandbits(32),
    )
