from itertools import combinations, permutations

import pytest
from tests.papers.mcep.patterns import (
    RATES,
    Whims,
    conj,
    mask_of,
    memo_of_patterns,
    paper_cost,
    patterns_of,
    seq,
    shape_letters,
    slots_of,
)

from stretto.memo.memo import Memo
from stretto.papers.mcep.local_plans import LocalPlans, OrderPlans, Placed, TreePlans
from stretto.papers.mcep.sub_patterns import CoreParts, SubPatterns
from stretto.papers.mcep.trees import Trees


def plans_of(memo: Memo, kind: type[LocalPlans] = TreePlans, core: int = 0) -> LocalPlans:
    trees = Trees(SubPatterns(memo), paper_cost(RATES))
    return kind(trees, CoreParts(trees.shapes, memo.cores()[core]))


def whimsical(memo: Memo, kind: type[LocalPlans] = TreePlans) -> LocalPlans:
    trees = Trees(SubPatterns(memo), Whims())
    return kind(trees, CoreParts(trees.shapes, memo.cores()[0]))


@pytest.mark.parametrize("types", ["ABC", "ABCD", "EDCBA"])
def test_every_split_is_looked_at(types: str) -> None:
    plans = whimsical(memo_of_patterns(seq(types)))
    best = min(cost(plans, tree) for _, tree in all_trees(plans, plans.parts.full))
    assert cost(plans, plans.best()) == pytest.approx(best)


@pytest.mark.parametrize("types", ["ABC", "EDCBA"])
def test_every_order_is_looked_at(types: str) -> None:
    plans = whimsical(memo_of_patterns(seq(types)), OrderPlans)
    best = min(cost(plans, plans.in_order(order)) for order in permutations(range(len(types))))
    assert cost(plans, plans.best()) == pytest.approx(best)


def cost(plans: LocalPlans, tree: int) -> float:
    trees, size = plans.trees, plans.parts.size
    return sum(trees.join_price(*trees.last_join(join, size, lambda _: size)) for join in trees.inner[tree])


def all_trees(plans: LocalPlans, mask: int) -> list[Placed]:
    """Every binary tree over some slots."""
    slots = [1 << i for i in range(plans.parts.count) if mask >> i & 1]
    if len(slots) == 1:
        return [(mask, plans._leaf(slots[0].bit_length() - 1))]
    found = []
    for size in range(len(slots) - 1):
        for rest in combinations(slots[1:], size):
            left = slots[0] + sum(rest)
            found += [
                plans._join(a, b) for a in all_trees(plans, left) for b in all_trees(plans, mask ^ left)
            ]
    return found


TERMS = " WHERE a.x < c.x AND b.k = d.k"


@pytest.mark.parametrize("pattern", [seq("ABCD"), conj("ABCD") + TERMS, seq("DCBA") + TERMS])
def test_no_tree_is_cheaper(pattern: str) -> None:
    plans = plans_of(memo_of_patterns(pattern))
    assert cost(plans, plans.best()) == min(
        cost(plans, tree) for _, tree in all_trees(plans, plans.parts.full)
    )


@pytest.mark.parametrize("pattern", [seq("ABCD"), conj("ABCD") + TERMS])
def test_no_tree_with_the_given_ones_is_cheaper(pattern: str) -> None:
    memo = memo_of_patterns(pattern)
    plans = plans_of(memo)
    for types in ("AC", "BD", "ABC"):
        mask = mask_of(plans.parts, memo, types)
        for given in all_trees(plans, mask):
            wanted = [t for _, t in all_trees(plans, plans.parts.full) if given[1] in plans.trees.inner[t]]
            found = plans.best((given,))
            assert given[1] in plans.trees.inner[found]
            assert cost(plans, found) == min(cost(plans, tree) for tree in wanted)


def test_two_given_trees() -> None:
    memo = memo_of_patterns(seq("ABCDE"))
    plans = plans_of(memo)
    given = tuple(
        (mask, plans.best(within=mask)) for mask in (mask_of(plans.parts, memo, t) for t in ("AC", "BD"))
    )
    found = plans.best(given)
    assert {tree for _, tree in given} < set(plans.trees.inner[found])


def test_no_order_is_cheaper() -> None:
    memo = memo_of_patterns(conj("ABCDE") + TERMS)
    orders, trees = plans_of(memo, OrderPlans), plans_of(memo)
    best = min(cost(orders, orders.in_order(order)) for order in permutations(range(5)))
    assert cost(orders, orders.best()) == pytest.approx(best)
    assert cost(trees, trees.best()) <= best


def test_an_order_starts_as_it_is_told() -> None:
    memo = memo_of_patterns(seq("ABCDE"))
    plans = plans_of(memo, OrderPlans)
    start = slots_of(plans.parts, memo, "CA")
    given = mask_of(plans.parts, memo, "CA"), plans.in_order(start)
    found = plans.best((given,))
    assert plans.trees.inner[found][0] == given[1]
    assert len(plans.trees.inner[found]) == 4
    assert plans.best((given,), given[0]) == given[1]


def test_equal_trees_of_different_patterns_are_one() -> None:
    memo = memo_of_patterns(seq("ABC"), seq("ABD"))
    found = patterns_of(memo, RATES)
    one, other = found.plans.values()
    trees = [plans.in_order(slots_of(plans.parts, memo, "AB")) for plans in (one, other)]
    assert trees[0] == trees[1]
    turned = one.in_order(slots_of(one.parts, memo, "BA"))
    assert turned == trees[0]


def test_joins_of_a_tree_stand_where_they_are() -> None:
    memo = memo_of_patterns(seq("ABCDE"))
    plans = plans_of(memo)
    tree = plans.best()
    for mask, join in plans.joins(tree):
        assert shape_letters(plans.trees, plans.trees.shape[join]) == shape_letters(
            plans.trees, plans.parts[mask][0]
        )
    assert plans.joins(tree)[0] == (plans.parts.full, tree)


@pytest.mark.parametrize("kind", [TreePlans, OrderPlans])
@pytest.mark.parametrize("count", [11, 22])
def test_many_slots(kind: type[LocalPlans], count: int) -> None:
    slots = ", ".join(f"T{i} v{i}" for i in range(count))
    plans = plans_of(memo_of_patterns(f"SEQ({slots})", within=1), kind)
    tree = plans.best()
    assert len(plans.trees.inner[tree]) == count - 1
    mask = 0b1001
    given = mask, plans.best(within=mask)
    with_given = plans.best((given,))
    assert given[1] in plans.trees.inner[with_given]
    assert cost(plans, tree) <= cost(plans, plans.in_order(plans.parts.own_order))


def test_of_shared_joins_the_outermost_are_kept_together() -> None:
    plans = plans_of(memo_of_patterns(seq("ABCDE")))
    shared = [(0b00111, 1), (0b00011, 2), (0b11000, 3)]
    assert plans.maximal(shared, 0b11111) == ((0b00111, 1), (0b11000, 3))
    assert plans.maximal(shared, 0b11011) == ((0b00011, 2), (0b11000, 3))
    assert plans.beside(shared, 0b00100) == ((0b00011, 2), (0b11000, 3))


def test_an_order_keeps_one_start() -> None:
    plans = plans_of(memo_of_patterns(seq("ABCDE")), OrderPlans)
    shared = [(0b00111, 1), (0b00011, 2)]
    assert plans.maximal(shared, 0b11111) == ((0b00111, 1),)
    assert plans.beside(shared, 0b11000) == ()
