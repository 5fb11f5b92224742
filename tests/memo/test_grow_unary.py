"""Repetitions from rows that agree find what the oracle finds: ties, bounds, types in several slots, late negations."""

import os
from random import Random

from tests.memo.on_units import assert_finds_what_the_oracle_finds
from tests.memo.test_rules_oracle import plan_of
from tests.support.random_events import SCHEMA, random_events
from tests.support.strategies import Sample

from stretto.memo.explore import Rules, explore
from stretto.memo.memo import build_memo
from stretto.memo.rules.grow_unary import grow_unary
from stretto.memo.rules.join_left_to_right import join_left_to_right
from stretto.pattern.workload import Workload
from stretto.plan.ops import Repeat
from stretto.plan.optimize import plannable

WORKLOADS = int(os.environ.get("STRETTO_RULE_WORKLOADS", "60"))
SEED = int(os.environ.get("STRETTO_SEED", "31000"))
TYPES = ("A", "B", "C")
ENDINGS = ("", "", ", NOT(D w)", ", NOT(D w)")


def unary_workload(rng: Random) -> Sample:
    """One query of two or three slots, one of which repeats, with terms that relate its repetitions to others."""
    count = rng.choice((2, 3, 3))
    types = [rng.choice(TYPES) for _ in range(count)] if rng.random() < 0.4 else rng.sample(TYPES, count)
    slot = rng.randrange(count)
    bounds = rng.choice(("+", "+", "{1,2}", "{2,3}", "{2,}"))
    parts = [f"{kind} v{i}{bounds if i == slot else ''}" for i, kind in enumerate(types)]
    other = rng.choice([i for i in range(count) if i != slot])
    terms = [f"v{slot}.n {rng.choice(('<=', '!=', '>='))} v{other}.n"]
    if rng.random() < 0.4:
        terms.append(f"v{slot}.x + v{other}.x < 3")
    if rng.random() < 0.3:
        terms.append(f"FIRST(v{slot}).n <= v{other}.n")
    if rng.random() < 0.2:
        terms.append(f"COUNT(v{slot}) <= 2")
    word = rng.choice(("SEQ", "SEQ", "AND"))
    inside = ", ".join(parts) if count < 3 or word == "SEQ" else f"SEQ({parts[0]}, {parts[1]}), {parts[2]}"
    end = rng.choice(ENDINGS) if word == "SEQ" else ""
    size = rng.choice((4, 6, 8))
    text = f"QUERY q PATTERN {word}({inside}{end}) WHERE {' AND '.join(terms)} WITHIN {size} us;"
    return Sample(text, SCHEMA, random_events(rng, [*TYPES, "D"], most=14))


def test_what_grows_from_rows_that_agree() -> None:
    used = 0
    for seed in range(SEED, SEED + WORKLOADS):
        rng = Random(seed)
        sample = unary_workload(rng)
        bound = Workload.parse(sample.text).bind(sample.schema)
        detections = plannable(bound)
        memo = build_memo(detections)
        explore(memo, Rules((join_left_to_right,), grown=(grow_unary,)))
        chosen = {
            number: i
            for number, ways in enumerate(memo.ways)
            for i, way in enumerate(ways)
            if way.rule == "grow_unary"
        }
        plan = plan_of(detections, memo, chosen, sample.schema)
        used += any(isinstance(op, Repeat) and op.agreeing for op in plan.ops)
        assert_finds_what_the_oracle_finds(plan, sample, bound, seed, rng)
    assert used > WORKLOADS // 2
