"""A stream whose rates change tenfold: what an engine that adapts takes, planning included.

    stretto bench adapting [--events N] [--queries N] [--repeat N] [--seed N]

A fifth of the events has the rates that the first plan is made for; then four types come ten times as often as before,
and four others a tenth as often. `stays` keeps the first plan, `adapts` plans anew while it runs, and `made for it` has
the plan for the new rates from the beginning. They run one after the other, round by round, in one process; all seconds
are those of the processor, those of the planning thread included. All three must report the same matches.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import process_time

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # also when it is loaded by itself

from benchmarks.sheets import aligned, keep, machine

from stretto import Engine, Plan, Stats, Workload, optimize
from stretto.engine.adapt import AdaptOptions

TYPES = "ABCDEFGHIJKL"
RARE, COMMON = 0.02, 0.2
GOAL = 1.2
BATCH = 8192


def shares(rare: str, common: str) -> list[float]:
    """Rates of all types, together 1; those that are neither share what is left."""
    rest = (1 - RARE * len(rare) - COMMON * len(common)) / (len(TYPES) - len(rare) - len(common))
    return [RARE if one in rare else COMMON if one in common else rest for one in TYPES]


def events_of(count: int, of_types: Sequence[float], start: int, rng: np.random.Generator) -> pa.Table:
    """Five thousand events per second."""
    ts = start + np.cumsum(rng.integers(1, 400, count))
    types = pa.DictionaryArray.from_arrays(
        pa.array(rng.choice(len(TYPES), count, p=of_types).astype(np.int32)), pa.array(list(TYPES))
    )
    return pa.table(
        {
            "ts": pa.array(ts, pa.timestamp("us")),
            "type": types,
            "x": rng.random(count),
            "y": rng.random(count),
        }
    )


def workload_of(queries: int, rng: np.random.Generator) -> Workload:
    """Rising sequences that begin with a type that becomes common, and end with one that becomes rare."""
    text = []
    for number in range(queries):
        first, second, third = (rng.choice(list(types)) for types in ("ABCD", "IJKL", "EFGH"))
        text.append(
            f"QUERY q{number} PATTERN SEQ({first} a, {second} b, {third} c)"
            f" WHERE b.y > a.x + 0.9 AND c.y > b.x + 0.9 WITHIN 2 s;"
        )
    return Workload.parse("\n".join(text))


@dataclass(slots=True)
class Contestant:
    """An engine, what it took for each batch, and what it found."""

    engine: Engine
    seconds: list[float] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    checksum: int = 0

    def take(self, batch: pa.RecordBatch | None) -> None:
        begun = process_time()
        found = self.engine.push(batch) if batch is not None else self.engine.flush()
        columns = {name: found[name] for name in found.counts()}
        self.seconds.append(process_time() - begun)
        for name, table in columns.items():
            self.counts[name] = self.counts.get(name, 0) + len(table)
            self.checksum += sum(
                pa.compute.sum(table[variable]).as_py() or 0 for variable in "abc" if len(table)
            )


def one_round(plans: Mapping[str, tuple[Plan, AdaptOptions | bool]], batches: Sequence[pa.RecordBatch]):
    """Each contestant over the same batches."""
    done = {name: Contestant(Engine(plan, adapt=adapt)) for name, (plan, adapt) in plans.items()}
    for one in done.values():
        for batch in (*batches, None):
            one.take(batch)
    answers = {(one.checksum, tuple(sorted(one.counts.items()))) for one in done.values()}
    assert len(answers) == 1, {name: sum(one.counts.values()) for name, one in done.items()}
    return done


def run(out: Path, data: Path | None, args: list[str]) -> int:  # noqa: ARG001 - an experiment's interface
    given = _options().parse_args(args)
    rng = np.random.default_rng(given.seed)
    count = given.events // 5
    workload = workload_of(given.queries, rng)
    old = events_of(count, shares("ABCD", "EF"), 0, rng)
    new = events_of(given.events - count, shares("EFGH", "AB"), old["ts"][-1].value, rng)
    before, after = (optimize(workload, Stats.of(part, workload=workload)) for part in (old, new))
    plans = {"stays": (before, False), "adapts": (before, AdaptOptions()), "made for it": (after, False)}
    batches = [batch for part in (old, new) for batch in part.combine_chunks().to_batches(BATCH)]
    changed = -(-len(old) // BATCH)
    tenth = -(-len(new) // BATCH // 10)
    rounds = [one_round(plans, batches) for _ in range(given.repeat)]
    rows, ratios = [], {}
    for name in plans:  # whole rounds: where planning falls differs from one to the next
        spent = min((one[name].seconds[changed:] for one in rounds), key=sum)
        rows.append((name, sum(spent[:tenth]), sum(spent[tenth:]), sum(spent)))
    wanted = rows[-1]
    for name, *spent in rows:
        ratios[name] = [one / whole for one, whole in zip(spent, wanted[1:], strict=True)]
    return _report(out, given, rows, ratios, rounds)


def _report(out: Path, given: argparse.Namespace, rows, ratios, rounds) -> int:
    adaptations = [
        {"events": one.events, "seconds": one.seconds, "switched": one.switched}
        for one in rounds[0]["adapts"].engine.adaptations
    ]
    table = [
        ("", "first tenth", "by made for it", "the rest", "by made for it", "whole change", "by made for it")
    ]
    for name, *spent in rows:
        cells = zip(spent, ratios[name], strict=True)
        table.append((name, *(text for s, r in cells for text in (f"{s:.3f}s", f"{r:.2f}"))))
    matches = sum(rounds[0]["adapts"].counts.values())
    text = [
        (
            f"adapting: {given.events:,} events, {given.queries} queries, {matches:,} matches, seed {given.seed},"
            f" best of {given.repeat}; {machine()}; seconds of the processor"
        ),
        *aligned(table),
        *(
            f"planned anew after {one['events']:,} events, in {one['seconds']:.2f} s"
            f", {'another plan' if one['switched'] else 'the same plan'}"
            for one in adaptations
        ),
        (
            f"behind the first tenth of the change, planning included: {ratios['adapts'][1]:.2f} times"
            f" the plan made for the new rates (goal {GOAL}); it stays: {ratios['stays'][1]:.2f}"
        ),
    ]
    print("\n".join(text))
    record = {"options": vars(given), "seconds": {name: spent for name, *spent in rows}}
    keep(out, "adapting", "\n".join(text), record | {"ratios": ratios, "planned": adaptations})
    return 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="adapting", description=__doc__)
    parser.add_argument("--events", type=int, default=2_000_000)
    parser.add_argument("--queries", type=int, default=10)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    return parser
