"""Whether DecoPa's ways cost the other experiments anything: `auto` with them and without them. See `decopa`.

Where a workload is not searched for such ways, or the plans are the same operators, nothing can be slower; only plans
that differ are run.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
from benchmarks.contestants import events as stream
from benchmarks.contestants.workloads import WORKLOADS
from benchmarks.decopa_units import one_core, plan_for

from benchmarks import mcep, motto
from stretto.generate.workloads import workload
from stretto.pattern.workload import Workload
from stretto.plan.optimize import explored, plannable
from stretto.plan.optimizers import RECIPES
from stretto.stats.profile import Stats

WAYS = ("split_overlapping", "grow_unary", "split_kleene")
KNOWN, EVENTS = 1 << 16, 1 << 18
RUNS = 5


def others(queries: int = 100) -> Iterator[dict[str, object]]:
    """W1-W6 of `bench detect`, and points of `bench motto` and `bench mcep` with so many queries."""
    for name, text, events in (*_detect(), *_papers(queries)):
        yield {"workload": name, **_compared(text, events)}


def _detect() -> Iterable[tuple[str, str, pa.Table]]:
    table = stream.table(EVENTS, 1)
    for name, found in WORKLOADS.items():
        yield name, found.text, table


def _papers(queries: int) -> Iterable[tuple[str, str, pa.Table]]:
    for kind, source in motto.STREAMS.items():
        for ratio in motto.Setting().ratios:
            text = workload(kind, queries=queries, seed=1, ratio=ratio)
            yield f"{kind}, {queries} queries, basic group {ratio:.0%}", text, source.table(KNOWN)
    for data in (mcep.STOCKS, mcep.TRAFFIC):
        text = workload(data.workload, queries, 1, window=data.window, length=5, partial=data.partial)
        yield f"{data.workload}, {queries} queries", text, mcep.Source(data.stream, 1).table(KNOWN)


def _compared(text: str, events: pa.Table) -> dict[str, object]:
    stats = Stats.of(events.slice(0, KNOWN))
    if not _searched(text, stats):
        return {"plans": "not searched for such ways", "faster": "the same plan"}
    plans = plan_for(text, stats, WAYS), plan_for(text, stats)
    if plans[0].ops == plans[1].ops:
        return {"plans": "searched, and the same", "faster": "the same plan"}
    runs = [[one_core(plan, events, 1) for plan in plans] for _ in range(RUNS)]
    before, after = (min(own, key=lambda one: one.seconds) for own in zip(*runs, strict=True))
    assert before.matches == after.matches, text
    return {
        "plans": f"another, by {', '.join(_used(plans[1].records))}",
        "faster": before.seconds / after.seconds,
    }


def _used(records: Sequence[object]) -> list[str]:
    return sorted({getattr(one, "because", "") for one in records} & set(WAYS))


def _searched(text: str, stats: Stats) -> bool:
    """Whether `auto` looks for DecoPa's ways in a workload, asked of its rules."""
    recipe, found = RECIPES["auto"], []

    def noted(*given: object) -> object:
        rules = recipe.rules(*given)  # type: ignore[arg-type]
        found.extend(rule.__name__ for rule in (*rules.pieces, *rules.grown))
        return rules

    bound = Workload.parse(text).bind(stats.schema)
    explored(plannable(bound), stats, replace(recipe, rules=noted))  # type: ignore[arg-type]
    return bool(set(found) & set(WAYS))
