"""Solutions: what is shared is one object and counts once."""

from tests.support.random_events import SCHEMA

from stretto.memo.explore import Rules, explore
from stretto.memo.memo import Memo, build_memo
from stretto.memo.rules.split_in_two import split_in_two
from stretto.memo.ways import Way, WayKind
from stretto.pattern.workload import Workload
from stretto.solve.common.problem import Problem
from stretto.solve.common.solution import Solution, each_alone, one_way_each

TEXT = "QUERY p PATTERN SEQ(A a, B b, C c) WITHIN 5 s; QUERY q PATTERN SEQ(A a, B b, D d) WITHIN 5 s;"


class PerJoin:
    """Every join costs one."""

    def rows(self, memo: Memo, number: int) -> float:
        return float(len(memo.pieces[number].slots))

    def cost(self, memo: Memo, number: int, way: Way) -> float:
        return float(way.kind is WayKind.JOIN and number < len(memo))


def memo_of(text: str) -> Memo:
    memo = build_memo(Workload.parse(text).bind(SCHEMA).normal_forms())
    explore(memo, Rules((split_in_two,)))
    return memo


def with_prefix(memo: Memo) -> dict[int, int]:
    """The ways that join the first two slots first."""
    wanted = {core: memo.part(core, (0, 1)).piece for core in memo.cores()}
    return {
        core: next(i for i, way in enumerate(memo.ways[core]) if prefix in way.pieces)
        for core, prefix in wanted.items()
    }


def test_shared_nodes_count_once() -> None:
    memo = memo_of(TEXT)
    chosen = with_prefix(memo)
    shared, alone = Solution(one_way_each(memo, chosen)), Solution(each_alone(memo, chosen))
    assert shared.cost(memo, PerJoin()) == 3
    assert alone.cost(memo, PerJoin()) == 4
    assert Problem.of(memo, PerJoin()).cost(chosen) == 3


def test_inputs_come_before_their_readers() -> None:
    memo = memo_of(TEXT)
    seen: set[int] = set()
    for node in Solution(one_way_each(memo, with_prefix(memo))).nodes():
        assert all(id(part) in seen for part in node.inputs)
        assert id(node) not in seen
        seen.add(id(node))


def test_a_problem_reaches_only_what_it_computes() -> None:
    memo = memo_of(TEXT)
    problem = Problem.of(memo, PerJoin())
    reached = problem.reached(with_prefix(memo))
    assert sum(memo.is_core(number) for number in reached) == 3
    assert len(reached) == 3 + 4
