"""The mechanism that runs every way of loops is checked: a fault in one way alone is found, and the way is named."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from tests.exactness import test_join_orders, test_switching
from tests.support import runners
from tests.support.comparison import matches_of
from tests.support.keeps import Matrix, rows_of
from tests.support.loops import WAYS, in_every_way
from tests.support.random_events import SCHEMA
from tests.support.strategies import Event, Sample

from stretto.engine.kernels import when_to_compile
from stretto.oracle.detections import Match
from stretto.pattern.workload import Workload
from stretto.plan.optimize import optimize

ALWAYS = {"compiled": True, "twins": False, "later": None}
EVENTS = tuple(Event(number, number, "AB"[number % 2], {"x": 1.0}) for number in range(12))
SAMPLE = Sample("QUERY q PATTERN SEQ(A a, B b) WITHIN 5 us;", SCHEMA, EVENTS)
DAMAGE: dict[str, Callable[[list[Match]], list[Match]]] = {
    "drop": lambda found: found[1:],
    "repeat": lambda found: [*found[:1], *found],
    "rebind": lambda found: [replace(one, events=one.events | {"a": (99,)}) for one in found],
    "shift": lambda found: [replace(one, detected=one.detected + 1) for one in found],
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
@pytest.mark.parametrize("way", WAYS[1:])
@pytest.mark.parametrize("runner", runners.RUNNERS, ids=lambda runner: runner.__name__)
def test_a_runner_compares_the_ways(
    runner: runners.Runner,
    way: str,
    damage: Callable[[list[Match]], list[Match]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = optimize(Workload.parse(SAMPLE.text), SCHEMA, "none")
    queries = Workload.parse(SAMPLE.text).bind(SCHEMA).detections
    assert runner(plan, SAMPLE, queries, Random(1))["q"]

    def damaged(table, query) -> list[Match]:
        found = matches_of(table, query)
        return damage(found) if when_to_compile.always is ALWAYS[way] else found

    monkeypatch.setattr(runners, "matches_of", damaged)
    with pytest.raises(AssertionError, match=f"q: {way} against compiled, {runner.__name__}"):
        runner(plan, SAMPLE, queries, Random(1))


@pytest.mark.parametrize("way", WAYS)
def test_a_check_names_the_way_that_fails(way: str) -> None:
    seen = []

    @in_every_way
    def check(seed: int) -> int:
        seen.append(when_to_compile.always)
        assert when_to_compile.always is not ALWAYS[way]
        return seed

    with pytest.raises(AssertionError) as failure:
        check(7)
    assert failure.value.__notes__ == [f"loops: {way}"]
    assert seen == [ALWAYS[before] for before in WAYS[: WAYS.index(way) + 1]]


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
@pytest.mark.parametrize("way", WAYS)
def test_engines_that_change_plans_are_compared_in_every_way(
    way: str, damage: Callable[[list[Match]], list[Match]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(table, query) -> list[Match]:
        found = matches_of(table, query)
        return damage(found) if when_to_compile.always is ALWAYS[way] else found

    assert test_switching.switch_plans(SAMPLE, 1)
    monkeypatch.setattr(test_switching, "matches_of", damaged)
    with pytest.raises(AssertionError, match="q of seed 1") as failure:
        test_switching.switch_plans(SAMPLE, 1)
    assert failure.value.__notes__ == [f"loops: {way}"]


ROWS: dict[str, Callable[[Matrix], Matrix]] = {
    "drop": lambda rows: rows[1:],
    "repeat": lambda rows: rows[[0, *range(len(rows))]],
    "rebind": lambda rows: rows + (np.arange(rows.shape[1]) > 2),
    "shift": lambda rows: rows + (np.arange(rows.shape[1]) == 0),
}


@pytest.mark.parametrize("damage", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("way", ["compiled", "later"])
def test_the_walk_over_long_streams_is_compared_in_every_way(
    way: str, damage: Callable[[Matrix], Matrix], monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(table, variables: tuple[str, ...]) -> Matrix:
        rows = rows_of(table, variables)
        return damage(rows) if when_to_compile.always is ALWAYS[way] and len(rows) else rows

    seed = next(seed for seed in range(99) if test_join_orders.check_long(seed, 300, 1))
    monkeypatch.setattr(test_join_orders, "rows_of", damaged)
    with pytest.raises(AssertionError, match=f", {way}: "):
        test_join_orders.check_long(seed, 300, 1)
