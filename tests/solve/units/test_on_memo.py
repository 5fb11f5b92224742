"""`units` over a memo: no slower than the plan it starts from, proven where it says so, shared parts counted once."""

import pytest

from stretto.generate.streams import generate
from stretto.memo.prices import Prices
from stretto.pattern.workload import Workload
from stretto.plan.optimize import named_for, optimize, recipe_of
from stretto.plan.optimizers import RECIPES
from stretto.plan.placement.placing import place
from stretto.stats.profile import Stats

EVENTS = generate("zipf", 4_000, seed=3, rate=20.0, types=5)
STATS = Stats.of(EVENTS)
PART = "a.x < b.x AND b.x < c.x"
ONE = f"QUERY one PATTERN SEQ(A a, B b, C c) WHERE {PART} WITHIN 30 s;"
OTHER = f"QUERY other PATTERN SEQ(A a, B b, C c, D d) WHERE {PART} AND a.x < d.x WITHIN 30 s;"


def speed(text: str, name: str, units: int) -> float:
    replay = optimize(Workload.parse(text), STATS, named_for(name, units)).replay
    assert replay is not None
    assert replay.units == units
    assert replay.bound is not None
    assert replay.speed <= replay.bound * (1 + 1e-9)
    return replay.speed


def test_more_units_are_no_slower_and_few_queries_are_proven() -> None:
    found = [speed(OTHER, "units", units) for units in (3, 8, 20)]
    assert found == sorted(found)
    replay = optimize(Workload.parse(ONE), STATS, "units on 8").replay
    assert replay is not None
    assert replay.gap == pytest.approx(0.0)


def test_what_two_queries_share_is_counted_once() -> None:
    twice = ONE + ONE.replace("one", "two")
    assert speed(twice, "units", 6) == pytest.approx(speed(ONE, "units", 6))


def test_names_with_a_number_of_units() -> None:
    assert named_for("auto", 5) == "auto"
    assert named_for("hybrid", None) == "hybrid"
    assert named_for("decopa", 5) == "decopa on 5"
    assert recipe_of("decopa on 5").allocation == "proportional"
    assert optimize(Workload.parse(ONE), STATS, "decopa on 5").optimizer == "decopa on 5"


def test_rivals_give_units_in_their_ways() -> None:
    speeds = {}
    for name in ("centralized", "state-parallel", "hybrid", "rip", "decopa"):
        plan = optimize(Workload.parse(OTHER), STATS, named_for(name, 12))
        speeds[name] = place(plan, STATS, 12, Prices(), allocation=RECIPES[name].allocation).speed
    assert speeds["rip"] == pytest.approx(6 * speeds["centralized"])
    assert speeds["centralized"] <= speeds["state-parallel"] <= speeds["hybrid"]
    best = place(optimize(Workload.parse(OTHER), STATS, "hybrid"), STATS, 12, Prices())
    assert best.speed >= speeds["hybrid"] * (1 - 1e-9)
