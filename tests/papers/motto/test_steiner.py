"""MOTTO's planner against all plans in which every query has one source."""

from itertools import product
from math import isclose, prod
from random import Random

import pytest
from tests.memo.related import related_workload
from tests.memo.rule_cases import memo_of
from tests.papers.mcep.partial_matches import MottoCost

from stretto.generate.streams import generate
from stretto.generate.workloads import workload
from stretto.memo.explore import Rules, explore
from stretto.memo.memo import Memo, build_memo
from stretto.memo.rules.split_in_two import split_in_two
from stretto.papers.motto import rules
from stretto.papers.motto.steiner import steiner, unbounded_steiner
from stretto.pattern.workload import Workload
from stretto.plan.optimize import optimize
from stretto.solve.common.budget import Budget
from stretto.solve.common.problem import Problem
from stretto.solve.common.solution import Solution
from stretto.stats.profile import Stats

MOST_PLANS = 20_000


def pricing(seed: int) -> MottoCost:
    random = Random(seed)
    return MottoCost({kind: random.choice((0.3, 1.0, 3.0, 10.0)) * 1e5 for kind in "ABCDE"})


def related_memo(seed: int, used: Rules) -> Memo:
    sample = related_workload(Random(seed))
    memo = build_memo(Workload.parse(sample.text).bind(sample.schema).normal_forms())
    explore(memo, used)
    return memo


def all_costs(memo: Memo, cost: MottoCost) -> list[float] | None:
    """The costs of all choices of one way per piece; None if there are too many."""
    cores = [n for n in range(len(memo)) if memo.is_core(n)]
    counts = [len(memo.ways[n]) for n in cores]
    if prod(counts) > MOST_PLANS:
        return None
    problem = Problem.of(memo, cost)
    choices = product(*(range(count) for count in counts))
    return [problem.cost(dict(zip(cores, ways, strict=True))) for ways in choices]


def check_shape(memo: Memo, solution: Solution) -> None:
    """A node per root, every piece computed once, and each way's inputs in their places."""
    assert [node.piece for node in solution.roots] == [root.piece for root in memo.roots]
    nodes = list(solution.nodes())
    assert len({node.piece for node in nodes}) == len(nodes)
    for node in nodes:
        assert tuple(part.piece for part in node.inputs) == node.way.pieces


@pytest.mark.parametrize("name", ["MOTTO", "MOTTO_MST", "LCSE"])
def test_no_plan_is_cheaper(name: str) -> None:
    compared = 0
    for seed in range(60):
        memo = related_memo(seed, getattr(rules, name))
        cost = pricing(seed)
        costs = all_costs(memo, cost)
        if costs is None:
            continue
        compared += 1
        solution = steiner(memo, cost, Budget(60))
        check_shape(memo, solution)
        assert isclose(solution.cost(memo, cost), min(costs))
        assert solution.lower_bound is not None
        assert isclose(solution.lower_bound, min(costs))
    assert compared > 30


@pytest.mark.parametrize("seconds", [0.0, 0.001, 0.01, 0.1])
def test_any_time_gives_a_plan_no_worse_than_from_scratch(seconds: float) -> None:
    for seed in range(10):
        memo = related_memo(seed, rules.MOTTO)
        cost = pricing(seed)
        solution = steiner(memo, cost, Budget(seconds))
        check_shape(memo, solution)
        scratch = sum(cost.cost(memo, n, memo.ways[n][0]) for n in memo.needed())
        assert solution.cost(memo, cost) <= scratch * (1 + 1e-9)
        assert solution.lower_bound is not None
        assert solution.lower_bound <= solution.cost(memo, cost) * (1 + 1e-9)


def test_ways_with_several_sources_are_left_out() -> None:
    """Such as a join of two sub-queries; what remains is a tree."""
    text = "QUERY q PATTERN SEQ(A, B, C, D) WITHIN 1 s; QUERY r PATTERN SEQ(A, B, C, E) WITHIN 1 s;"
    memo = memo_of(text)
    explore(memo, Rules(rules.MOTTO.pieces, (*rules.MOTTO.workload,)))
    wide = memo_of(text)
    explore(wide, Rules((split_in_two,)))
    cost = MottoCost(dict.fromkeys("ABCDE", 10.0))
    solution = steiner(wide, cost, Budget(10))
    check_shape(wide, solution)
    for node in solution.nodes():
        assert sum(len(wide.pieces[part.piece].slots) > 1 for part in node.inputs) < 2
    assert solution.cost(wide, cost) <= steiner(memo, cost, Budget(10)).cost(memo, cost)


def test_repetitions_groups_and_next_have_their_one_way() -> None:
    memo = memo_of(
        "QUERY q PATTERN SEQ(A a, SEQ(B b, C c)+, D d) WITHIN 9 s;"
        "QUERY r PATTERN SEQ(B b, C c, D d) WITHIN 9 s;"
        "QUERY s PATTERN SEQ(A a, B b) WITHIN 9 s SELECT NEXT;"
        "QUERY t PATTERN A a WITHIN 9 s;"
    )
    explore(memo, rules.MOTTO)
    cost = MottoCost(dict.fromkeys("ABCD", 2.0))
    solution = steiner(memo, cost, Budget(10))
    check_shape(memo, solution)
    kinds = {node.way.kind.value for node in solution.nodes()}
    assert kinds >= {"grow", "unite", "join", "next", "scan"}
    inner = [node for node in solution.nodes() if len(memo.pieces[node.piece].slots) == 2 and node.inputs]
    assert len(inner) == 1, "the group's sequence and the query's prefix are one"


def test_the_same_twice() -> None:
    memo = related_memo(3, rules.MOTTO)
    cost = pricing(3)
    one, two = (steiner(memo, cost, Budget(30)) for _ in range(2))
    assert [(n.piece, n.way) for n in one.nodes()] == [(n.piece, n.way) for n in two.nodes()]


@pytest.mark.parametrize("seed", range(4))
def test_annealing_alone_proves_nothing_and_is_no_better(seed: int) -> None:
    memo, cost = related_memo(seed, rules.MOTTO), pricing(seed)
    annealed = steiner(memo, cost, Budget(10), exact_share=0.0)
    check_shape(memo, annealed)
    best = steiner(memo, cost, Budget(10)).cost(memo, cost)
    assert annealed.cost(memo, cost) >= best * (1 - 1e-9)
    assert annealed.lower_bound < best


def test_the_bound_of_trees_is_none_of_all_plans() -> None:
    memo, cost = related_memo(1, rules.MOTTO), pricing(1)
    assert steiner(memo, cost, Budget(10)).lower_bound is not None
    assert unbounded_steiner(memo, cost, Budget(10)).lower_bound is None


def test_a_wide_source_is_not_free() -> None:
    """By the number of partial matches it is: the filter behind it costs next to nothing."""
    text = workload("motto-stocks", 10, 1, ratio=1.0, window_ratio="4:1")
    events = generate("stocks", 4_000, 1, 2.0)
    parsed = Workload.parse(text)
    stats = Stats.of(events, workload=parsed)
    costs = {
        name: optimize(parsed, stats, optimizer=name, budget=30.0).estimate.cost
        for name in ("motto", "motto-paper", "lcse", "none")
    }
    assert costs["motto"] < costs["motto-paper"]
    assert costs["motto"] <= costs["lcse"] * (1 + 1e-9)
    assert costs["lcse"] <= costs["none"] * (1 + 1e-9)
