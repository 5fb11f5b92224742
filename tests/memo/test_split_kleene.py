"""Sets that have grown before they meet other rows: what the oracle finds, on one core and on units; where it pays."""

import os
from dataclasses import replace
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from tests.memo.on_units import assert_finds_what_the_oracle_finds
from tests.memo.test_rules_oracle import plan_of
from tests.support.comparison import assert_same_matches
from tests.support.random_events import SCHEMA, random_events, to_table
from tests.support.runners import RUNNERS
from tests.support.strategies import Sample

from stretto import oracle
from stretto.engine.run import Engine
from stretto.memo.explore import Rules, explore
from stretto.memo.memo import build_memo
from stretto.memo.rules.forbid_after_growth import forbid_after_growth
from stretto.memo.rules.join_left_to_right import join_left_to_right
from stretto.memo.rules.split_kleene import split_kleene
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.optimize import optimize, plannable
from stretto.stats.profile import Stats

WORKLOADS = int(os.environ.get("STRETTO_RULE_WORKLOADS", "60"))
SEED = int(os.environ.get("STRETTO_SEED", "32000"))
TYPES = ("A", "B", "C")
OWN = ("v{s}[i-1].n <= v{s}[i].n", "FIRST(v{s}).n <= LAST(v{s}).n", "SUM(v{s}.n) < 9", "COUNT(v{s}) <= 3")
ACROSS = (
    "v{s}.n <= v{o}.n",
    "v{s}.n = v{o}.n",
    "v{s}.x + v{o}.x < 3",
    "FIRST(v{s}).n <= v{o}.n",
    "LAST(v{s}).k = v{o}.k",
    "v{s}[i].n >= v{s}[i-1].n + v{o}.n - 3",
    "AVG(v{s}.n) >= v{o}.n",
    "[k]",
)


def kleene_workload(rng: Random) -> Sample:
    """One query of two to four slots, one or two of which repeat, with terms on the sets and across; some forbid."""
    count = rng.choice((2, 3, 3, 4))
    repeated = rng.sample(range(count), rng.choice((1, 1, 2)))
    types = [rng.choice(TYPES) for _ in range(count)]
    parts = [
        f"{kind} v{i}{rng.choice(('+', '{1,2}', '{2,3}', '{2,}')) if i in repeated else ''}"
        for i, kind in enumerate(types)
    ]
    slot, other = repeated[0], rng.choice([i for i in range(count) if i != repeated[0]])
    terms = [one.format(s=slot) for one in rng.sample(OWN, rng.choice((0, 1, 2)))]
    if other not in repeated:
        terms += [one.format(s=slot, o=other) for one in rng.sample(ACROSS, rng.choice((0, 1, 2)))]
    word = rng.choice(("SEQ", "SEQ", "AND"))
    if word == "SEQ" and rng.random() < 0.3:
        parts.insert(rng.randint(0, count), "NOT(D w)")
    inside = f"SEQ({parts[0]}, {parts[1]}), {', '.join(parts[2:])}"
    pattern = f"{word}({inside if word == 'AND' and count > 2 else ', '.join(parts)})"
    where = f"WHERE {' AND '.join(terms)} " if terms else ""
    text = f"QUERY q PATTERN {pattern} {where}WITHIN {rng.choice((4, 6, 8))} us;"
    return Sample(text, SCHEMA, random_events(rng, [*TYPES, "D"], most=11))


def test_sets_that_meet_other_rows() -> None:
    used = 0
    for seed in range(SEED, SEED + WORKLOADS):
        rng = Random(seed)
        sample = kleene_workload(rng)
        bound = Workload.parse(sample.text).bind(sample.schema)
        detections = plannable(bound)
        memo = build_memo(detections)
        explore(memo, Rules((join_left_to_right,), grown=(forbid_after_growth, split_kleene)))
        chosen = {}
        for number, ways in enumerate(memo.ways):
            wanted = [i for i, way in enumerate(ways) if way.rule in ("split_kleene", "forbid_after_growth")]
            if wanted:
                chosen[number] = rng.choice(wanted)
        plan = plan_of(detections, memo, chosen, sample.schema)
        used += "split_kleene" in rules_of(plan)
        assert_finds_what_the_oracle_finds(plan, sample, bound, seed, rng)
    assert used > WORKLOADS // 2


@pytest.mark.parametrize("optimizer", ["decopa", "units", "auto"])
def test_optimizers_that_may_choose_it(optimizer: str) -> None:
    used = 0
    for seed in range(SEED, SEED + WORKLOADS // 2):
        rng = Random(seed)
        sample = kleene_workload(rng)
        workload = Workload.parse(sample.text)
        bound = workload.bind(sample.schema)
        stats = replace(Stats.of(to_table(sample.events)), schema=sample.schema)
        plan = optimize(workload, stats, optimizer=optimizer, budget=0.2)
        used += "split_kleene" in rules_of(plan)
        found = RUNNERS[seed % len(RUNNERS)](plan, sample, bound.detections, rng)["q"]
        expected = oracle.matches(bound.detections[0], sample.events)
        assert_same_matches(found, expected, about=f"seed {seed}\n{sample}\n{plan}")
    assert used or optimizer == "auto"


def rules_of(plan: Plan) -> set[str]:
    return {record.because for record in plan.records}


RUNS_OF_THREE = """QUERY q PATTERN SEQ(A a, B b{3,}, C c)
WHERE b[i].x > b[i-1].x + 0.25 AND b[i].x < b[i-1].x + 0.3 WITHIN 100 s;"""


def runs_of_three(count: int) -> pa.Table:
    """Events of three types, one a second, whose runs of three are rare."""
    random = np.random.default_rng(5)
    return pa.table(
        {
            "ts": pa.array(np.arange(count) * 1_000_000).cast(pa.timestamp("us")),
            "type": random.choice(["A", "B", "C"], count),
            "x": random.random(count),
        }
    )


def test_auto_chooses_it_where_few_sets_are_left() -> None:
    events = runs_of_three(3_000)
    stats = Stats.of(events)
    plan = optimize(Workload.parse(RUNS_OF_THREE), stats, optimizer="auto")
    assert "split_kleene" in rules_of(plan)
    assert "split_kleene" in str(plan)
    looked, found = {}, {}
    for name, one in (
        ("auto", plan),
        ("none", optimize(Workload.parse(RUNS_OF_THREE), stats, optimizer="none")),
    ):
        engine = Engine(one)
        found[name] = len(engine.push(events)["q"]) + len(engine.flush()["q"])
        looked[name] = sum(engine.counters.candidates)
    assert found["auto"] == found["none"] > 0
    assert looked["auto"] * 5 < looked["none"]
