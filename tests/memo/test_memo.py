"""The memo: every piece once, and its ways."""

from itertools import combinations, permutations

import pytest
from tests.support.random_events import SCHEMA

from stretto.memo.explore import Rules, explore
from stretto.memo.memo import Memo, build_memo
from stretto.memo.rules.join_left_to_right import join_left_to_right
from stretto.memo.rules.split_in_two import split_in_two
from stretto.memo.ways import Input, Way, WayKind
from stretto.pattern.project import project
from stretto.pattern.workload import Workload


def memo_of(text: str, *rules: object) -> Memo:
    memo = build_memo(Workload.parse(text).bind(SCHEMA).normal_forms())
    explore(memo, Rules(tuple(rules)))  # type: ignore[arg-type]
    return memo


def test_equal_queries_under_other_names_have_one_piece() -> None:
    memo = memo_of(
        "QUERY p PATTERN AND(A a, B b) WHERE a.x < b.x WITHIN 5 s;"
        "QUERY q PATTERN AND(B u, A v) WHERE u.x > v.x WITHIN 5 s;"
    )
    first, second = memo.roots
    assert first.piece == second.piece
    assert first.columns == (0, 1)
    assert second.columns == (1, 0)


def test_parts_of_different_queries_are_one_piece() -> None:
    memo = memo_of(
        "QUERY p PATTERN SEQ(A a, B b, C c) WITHIN 5 s; QUERY q PATTERN SEQ(A a, B b, D d) WITHIN 5 s;",
        split_in_two,
    )
    prefixes = {memo.part(core, (0, 1)).piece for core in memo.cores()}
    assert len(prefixes) == 1
    assert sum(memo.is_core(number) for number in range(len(memo))) == 2 + 5  # AB, AC, BC, AD, BD


def test_one_event_is_one_piece_whatever_the_window() -> None:
    memo = memo_of("QUERY p PATTERN SEQ(A a, B b) WITHIN 5 s; QUERY q PATTERN SEQ(A a, B b) WITHIN 9 s;")
    assert len(memo.cores()) == 2
    assert len(memo) == 4


def test_repetitions_and_waiting_negations_stand_on_the_core() -> None:
    memo = memo_of(
        "QUERY p PATTERN SEQ(A a, B b+) WITHIN 5 s;"
        "QUERY q PATTERN SEQ(A a, B b, NOT(C n)) WITHIN 5 s;"
        "QUERY r PATTERN SEQ(A a, B b) WITHIN 5 s;"
    )
    grown, waiting, plain = (root.piece for root in memo.roots)
    assert memo.cores() == [plain]
    for number in (grown, waiting):
        (way,) = memo.ways[number]
        assert (way.kind, way.pieces) == (WayKind.GROW, (plain,))


def test_a_repeated_group_is_united_from_its_alternatives() -> None:
    memo = memo_of("QUERY q PATTERN SEQ(A a, OR(SEQ(B b, C c), D d)+) WITHIN 5 s;")
    (grow,) = memo.ways[memo.roots[0].piece]
    assert grow.kind is WayKind.GROW
    (unite,) = memo.ways[grow.inputs[1].piece]
    assert unite.kind is WayKind.UNITE
    assert len(unite.inputs) == 2
    assert len(memo.cores()) == 2  # the query's own, and SEQ(B, C)


def test_the_order_of_the_text_is_known() -> None:
    memo = memo_of("QUERY q PATTERN AND(D d, B b, C c) WITHIN 5 s;", join_left_to_right)
    (way,) = memo.ways[memo.roots[0].piece]
    slots = [memo.pieces[part.piece].slots[0].source for part in way.inputs]
    assert [getattr(source, "type", None) for source in slots] == ["D", "B", "C"]


@pytest.mark.parametrize(
    "pattern",
    [
        "SEQ(A a, B b+) WHERE LAST(b).x >= b.x",
        "SEQ(A a, B b+) WHERE NOT (NOT (b.x > a.x AND SUM(b.x) > 3))",
        "SEQ(ANY(ANY(A a, A b), AND(B c, A d)){0,2}, C e)",
        "SEQ(A a, OR(SEQ(C c, B b), SEQ(C d, B b)){1,2}, A f) WHERE NOT (NOT (b.x > 1 AND b.n > 1))",
    ],
)
def test_the_order_of_the_text_is_known_of_every_core_that_is_needed(pattern: str) -> None:
    memo = build_memo(Workload.parse(f"QUERY q PATTERN {pattern} WITHIN 5 s;").bind(SCHEMA).normal_forms())
    assert memo.cores()
    for core in memo.cores():
        assert sorted(memo.own_order[core]) == [*range(len(memo.pieces[core].slots))]
    for root in memo.roots:
        if memo.is_core(root.piece):
            columns = [
                root.columns[memo.pieces[root.piece].columns(s).start] for s in memo.own_order[root.piece]
            ]
            assert columns == sorted(columns)


def test_a_way_is_added_once() -> None:
    memo = memo_of("QUERY q PATTERN SEQ(A a, B b) WITHIN 5 s;", split_in_two)
    (way,) = memo.ways[memo.roots[0].piece]
    assert not memo.add(memo.roots[0].piece, Way(way.kind, way.inputs, "another rule"))
    assert memo.add(memo.roots[0].piece, Way(way.kind, way.inputs[::-1], "another rule"))
    assert all(isinstance(part, Input) for part in way.inputs)


def test_when_the_time_is_over_every_piece_still_has_a_way() -> None:
    text = "QUERY p PATTERN SEQ(A a, B b, C c, D d) WITHIN 5 s;"
    for few, found in ((False, 1), (True, 7)):
        memo = build_memo(Workload.parse(text).bind(SCHEMA).normal_forms())
        explore(memo, Rules((split_in_two,), few=few), over=lambda: True)
        assert all(memo.ways)
        (core,) = {root.piece for root in memo.roots}
        assert len(memo.ways[core]) == found


@pytest.mark.parametrize(
    "pattern",
    [
        "SEQ(A a, B b, A c, C d) WHERE a.x < c.x AND b.x = d.x AND c.x = d.x",
        "AND(A a, A b, B c, C d) WHERE a.x < b.x AND c.x < d.x",
        "SEQ(A a, NOT(C n), B b, D d, A e) WHERE n.x < a.x",
        "AND(SEQ(A a, B b), C c, SEQ(D d, A e)) WHERE a.x < e.x",
    ],
)
def test_a_part_of_a_part_is_the_part_that_its_own_projection_gives(pattern: str) -> None:
    memo = memo_of(f"QUERY q PATTERN {pattern} WITHIN 1 s;")
    (core,) = memo.cores()
    count = len(memo.pieces[core].slots)
    for size in range(2, count + 1):
        for slots in combinations(range(count), size):
            number = memo.part(core, slots).piece
            piece = memo.pieces[number]
            for inner in range(1, size + 1):
                for chosen in permutations(range(size), inner):
                    found = memo.part(number, chosen)
                    assert found.piece == memo.input(project(piece, chosen)).piece
                    assert {
                        slot for slot in range(size) for c in piece.columns(slot) if c in found.columns
                    } == {*chosen}
                    columns = {column: i for i, column in enumerate(found.columns)}
                    order = {
                        (columns[i], columns[j]) for i, j in piece.order if i in columns and j in columns
                    }
                    assert order == {*memo.pieces[found.piece].order}
