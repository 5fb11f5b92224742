"""SELECT NEXT with NOTs beside steps that runs may leave out: the engine finds what the oracle finds.

STRETTO_NEXT says how many random workloads are tried, STRETTO_SEED from which seed on.
"""

import os
from dataclasses import replace
from random import Random

import pytest
from tests.exactness.test_engine import check, whole_with_ids
from tests.exactness.test_switching import switch_plans, update_queries
from tests.plan.spread import test_targets
from tests.support.random_events import SCHEMA, TYPES, random_events
from tests.support.runners import RUNNERS
from tests.support.strategies import PatternWriter, Sample, Terms, with_ties

from stretto.plan.spread.partition_keys import tying_attributes
from stretto.plan.spread.spreads import ByKey, ByTime

WORKLOADS = int(os.environ.get("STRETTO_NEXT", "60"))
SEED = int(os.environ.get("STRETTO_SEED", "8_200_000"))
CHUNK = 20
OPTIONAL = ("?", "*", "{,2}", "{0,2}")


def next_query(rng: Random, name: str, streams: tuple[str, ...], *, keep: bool) -> str:
    """A SEQ whose steps may mostly be left out, with a NOT at any place, sometimes in a SEQ inside."""
    writer = PatternWriter(rng, streams, sets=0)
    parts = []
    for _ in range(rng.choice((1, 2, 2, 3, 3, 4))):
        sign = rng.choice((*OPTIONAL, *OPTIONAL, "", "", "+"))
        many = sign not in ("", "?")
        parts.append(f"{rng.choice(streams)} {writer.new(many=many, near=many)}{sign}")
    for _ in range(rng.choice((1, 1, 2))):
        parts.insert(rng.randint(0, len(parts)), f"NOT({rng.choice(streams)} {writer.new(negated=True)})")
    if len(parts) > 2 and rng.random() < 0.3:
        first = rng.randrange(len(parts) - 1)
        inner = parts[first : first + rng.choice((2, 3))]
        if any(not part.startswith("NOT") for part in inner):
            parts[first : first + len(inner)] = [f"SEQ({', '.join(inner)})"]
    terms = Terms(rng, writer.variables)
    where = [terms.term() for _ in range(rng.choice((0, 0, 1, 1, 2)))]
    where += [f"[{rng.choice(('k', 's'))}]"] if rng.random() < 0.4 else []
    unit = rng.choice(("us", "us", "us", "EVENTS"))
    returned = f" RETURN {', '.join(terms.returned())}" if rng.random() < 0.3 else ""
    thinned = rng.choice(
        ("", "", " KEEP APART", " KEEP FIRST FOR 4 us", " KEEP LONGEST", " LIMIT 2 PER 5 us")
    )
    return (
        f"QUERY {name} PATTERN SEQ({', '.join(parts)}){' WHERE ' if where else ''}{' AND '.join(where)}"
        f" WITHIN {rng.choice((3, 5, 8, 12))} {unit} SELECT NEXT{returned}{thinned if keep and unit == 'us' else ''};"
    )


def next_workload(rng: Random, *, keep: bool = True) -> Sample:
    types = tuple(rng.sample(TYPES, rng.choice((2, 2, 3, 4))))
    text = "\n".join(next_query(rng, f"q{i}", types, keep=keep) for i in range(rng.choice((1, 1, 2))))
    return Sample(text, SCHEMA, random_events(rng, types, most=22))


@pytest.mark.parametrize("start", range(SEED, SEED + WORKLOADS, CHUNK))
def test_nots_beside_steps_that_may_be_left_out(start: int) -> None:
    found = []
    for seed in range(start, start + CHUNK):
        rng = Random(seed)
        sample = next_workload(rng)
        runners = RUNNERS
        if seed % 2:
            sample, runners = with_ties(rng, sample), (whole_with_ids, *RUNNERS[1:])
            # Ties may turn a window into one of events, which LONGEST does not take.
            sample = replace(sample, text=sample.text.replace(" KEEP LONGEST", ""))
        found.append(check(sample, seed, runners))
    assert -1 not in found
    assert sum(count > 0 for count in found) > CHUNK // 2


@pytest.mark.parametrize("start", range(SEED, SEED + WORKLOADS // 2, CHUNK))
def test_slices_of_time_and_keys_cut_nothing(start: int) -> None:
    for seed in range(start, start + CHUNK):
        rng = Random(seed)
        sample = next_workload(rng, keep=False)
        plan = test_targets.planned(sample, "auto" if seed % 2 else "none")
        times = test_targets.times_of_events(sample, rng.choice((1, 2, 5)))
        keys = tying_attributes(plan)
        spreads = [ByTime.of(plan, times, 2), ByTime.of(plan, times, 200)]
        test_targets.check(sample, plan, [*spreads, *([ByKey(keys, 3)] if keys else [])], rng)


@pytest.mark.parametrize("kind", [switch_plans, update_queries])
def test_plans_and_queries_that_change(kind) -> None:
    for seed in range(SEED, SEED + CHUNK):
        kind(next_workload(Random(seed), keep=False), seed)
