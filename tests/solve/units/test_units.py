"""Allocation is exact, and so is the choice of split and units together: held against trying everything."""

from collections.abc import Iterator
from itertools import product
from random import Random

import pytest

from stretto.solve.common.budget import Budget
from stretto.solve.units.allocation import allocate, grid_of
from stretto.solve.units.loads import Capacity, MakingStep
from stretto.solve.units.rates import RatedQuery, SubQuery, Tree
from stretto.solve.units.splits import Split, choices, is_event, left_deep
from stretto.solve.units.together import fastest


def random_query(rng: Random, slots: int) -> RatedQuery:
    rates = [10 ** rng.uniform(-0.5, 3.5) for _ in range(slots)]
    kind = rng.choice(("SEQ", "AND"))
    pairs = {(i, j): rng.choice((1.0, 0.1, 0.01)) for i in range(slots) for j in range(i, slots)}
    repeated = 1 << rng.randrange(slots) if rng.random() < 0.3 else 0
    rates = [min(rate, 20.0) if repeated >> i & 1 else rate for i, rate in enumerate(rates)]
    return RatedQuery(Tree(kind, tuple(range(slots))), tuple(rates), pairs, repeated)


def all_splits(query: RatedQuery, needed: frozenset[SubQuery], made: Split) -> Iterator[Split]:
    """Every choice of ways for what is needed."""
    open_parts = sorted(part for part in needed if part not in made and not is_event(part))
    if not open_parts:
        yield made
        return
    part = open_parts[0]
    for choice in choices(query, part):
        yield from all_splits(query, needed | frozenset(choice.inputs), {**made, part: choice})


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("beyond", [False, True])
def test_split_and_units_together(seed: int, beyond: bool) -> None:
    rng = Random(seed)
    query, capacity, units = random_query(rng, 3), Capacity(2_000.0, 50_000.0), rng.choice((2, 3, 5, 8))
    found = fastest(query, units, capacity, Budget(600.0), beyond=beyond)
    speeds = [
        allocated.speed
        for split in all_splits(query, frozenset({query.whole}), {})
        if (allocated := allocate(split, units, capacity, beyond=beyond)) is not None
    ]
    if not speeds:
        assert found is None
        return
    assert found is not None
    assert found.speed == found.bound == pytest.approx(max(speeds))
    assert found.units <= units


@pytest.mark.parametrize("seed", range(10))
def test_greedy_allocation_is_exact(seed: int) -> None:
    rng = Random(seed)
    query, capacity = random_query(rng, 4), Capacity(2_000.0, 50_000.0)
    order = rng.sample(range(4), 4)
    split = left_deep(query, order)
    assert query.whole in split
    units = len(split) + 4
    found = allocate(split, units, capacity)
    assert found is not None
    given = (counts for counts in product(range(1, 6), repeat=len(split)) if sum(counts) <= units)
    best = min(
        max(
            grid_of(split, part, n, capacity, beyond=False).load
            for part, n in zip(split, counts, strict=True)
        )
        for counts in given
    )
    assert found.speed == pytest.approx(1 / best)


def test_too_few_units() -> None:
    query = random_query(Random(1), 4)
    assert allocate(left_deep(query, range(4)), 2, Capacity(1.0, 1.0)) is None
    assert fastest(query, 0, Capacity(1.0, 1.0), Budget(1.0)) is None


def test_a_shared_event_divides_both_inputs() -> None:
    step = MakingStep("join", 900.0, 900.0, shared=30.0)
    grid = step.best(9, Capacity(250.0, 1e9))
    assert (grid.groups, grid.left, grid.right) == (9, 1, 1)
    assert grid.load == pytest.approx(200.0 / 250.0)


def test_two_large_inputs_make_a_square() -> None:
    grid = MakingStep("join", 900.0, 900.0).best(9, Capacity(250.0, 1e9))
    assert (grid.left, grid.right) == (3, 3)


def test_a_long_query_is_no_slower_than_a_known_split() -> None:
    rng = Random(3)
    rates = tuple(1000.0 / rank**1.2 for rank in range(1, 8))
    query = RatedQuery.even(Tree("AND", tuple(range(7))), rates, 0.05)
    capacity = Capacity(6_500.0, 60_000.0)
    known = left_deep(query, rng.sample(range(7), 7))
    found, before = fastest(query, 12, capacity, Budget(0.3), known=[known]), allocate(known, 12, capacity)
    assert found is not None
    assert before is not None
    assert query.whole in found.split
    assert found.units <= 12
    assert found.speed >= before.speed
    assert found.bound is not None
    assert found.bound >= found.speed * (1 - 1e-9)
