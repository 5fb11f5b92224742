"""Cores: what joins compute of a piece, and what is left for later."""

import pytest
from tests.support.random_events import SCHEMA

from stretto.pattern.core import core_of, repetition_sets
from stretto.pattern.piece import Piece
from stretto.pattern.repetition_terms import tighten
from stretto.pattern.workload import Workload


def piece_of(text: str) -> Piece:
    (found,) = Workload.parse(f"QUERY q {text};").bind(SCHEMA).normal_forms()
    return tighten(found.branches[0].piece)


def test_a_piece_without_repetitions_is_its_own_core() -> None:
    piece = piece_of("PATTERN SEQ(A a, NOT(B n), C c) WHERE a.x < c.x WITHIN 5 s")
    assert core_of(piece) is piece


def test_a_repeated_slot_is_its_last_repetition() -> None:
    repeated = piece_of("PATTERN SEQ(A a, B b+, C c) WHERE a.x < c.x AND LAST(b).x < c.x WITHIN 5 s")
    plain = piece_of("PATTERN SEQ(A a, B b, C c) WHERE a.x < c.x AND b.x < c.x WITHIN 5 s")
    assert core_of(repeated) == plain


def test_a_term_over_the_last_repetition_alone_narrows_its_stream() -> None:
    core = core_of(piece_of("PATTERN SEQ(A a, B b+) WHERE LAST(b).x > 1 WITHIN 5 s"))
    assert core == piece_of("PATTERN SEQ(A a, B b) WHERE b.x > 1 WITHIN 5 s")


@pytest.mark.parametrize("one", ["COUNT(b) = 1", "COUNT(b) < 2"])
def test_terms_of_a_set_that_may_have_one_event_only_narrow_its_stream(one: str) -> None:
    piece = piece_of(f"PATTERN B b+ WHERE {one} AND MAX(b.x) > 1 AND b[i].x > b[i-1].x WITHIN 5 s")
    assert piece == piece_of("PATTERN B b WHERE b.x > 1 WITHIN 5 s")


@pytest.mark.parametrize(
    "condition", ["FIRST(b).x > a.x", "COUNT(b) != 3", "b[i].x > b[i-1].x", "SUM(b.x) > a.x"]
)
def test_terms_over_the_whole_set_come_later(condition: str) -> None:
    core = core_of(piece_of(f"PATTERN SEQ(A a, B b+) WHERE {condition} WITHIN 5 s"))
    assert core.terms == ()


def test_negations_that_wait_or_depend_on_repetitions_come_later() -> None:
    kept = core_of(piece_of("PATTERN SEQ(A a, NOT(C n), B b, D d+) WITHIN 5 s"))
    assert len(kept.negations) == 1
    for pattern in ("SEQ(A a, NOT(C n), B b+)", "SEQ(A a, B b, NOT(C n))", "SEQ(NOT(C n), A a, B b)"):
        assert core_of(piece_of(f"PATTERN {pattern} WITHIN 5 s")).negations == ()


def test_a_negation_after_a_repeated_slot_needs_its_last_repetition_only() -> None:
    assert len(core_of(piece_of("PATTERN SEQ(A a+, NOT(C n), B b) WITHIN 5 s")).negations) == 1


def test_sets_inside_a_repetition_stay_sets() -> None:
    piece = piece_of("PATTERN SEQ(A a, SEQ(B b, C c+)+) WITHIN 5 s")
    assert repetition_sets(piece.slots[0]) == (False,)
    assert repetition_sets(piece.slots[1]) == (False, True)
