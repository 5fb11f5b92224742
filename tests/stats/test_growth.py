"""Repetitions and groups as pieces of single events, and the sums over them."""

from itertools import product
from math import comb, exp, factorial

import numpy as np
import pytest
from tests.stats.worlds import piece_of

from stretto.pattern.describe import piece_text
from stretto.stats.growth import CAP, Law, grown, once, spread_of, thinned, with_earlier


def law(x: float, low: int = 1, high: int | None = None, **other: object) -> Law:
    given = {"width": 1, "gaps": (1.0, 1.0), "first": 1.0, "second": 1.0, **other}
    return Law(x=x, low=low, high=high, **given)


def test_subsets_of_a_window() -> None:
    # A+ alone: every set of the events in the window before the last one.
    assert grown([law(3.0)], 1)[0] == pytest.approx(exp(3.0))
    assert grown([law(3.0, 2, 3)], 1)[0] == pytest.approx(3.0 + 4.5)
    assert grown([law(3.0, 1, 1)], 1) == (1.0, 0.0)


def test_repetitions_in_a_sequence_are_longer_sequences() -> None:
    # j more events in one gap of k slots: W^j r^j (k - 1)! / (k - 1 + j)! times as many.
    expected = sum(2.0**j * factorial(2) / factorial(2 + j) for j in range(60))
    assert grown([law(2.0)], 3)[0] == pytest.approx(expected)


def test_two_repeated_slots_share_the_window() -> None:
    pairs = product(range(40), repeat=2)
    expected = sum(2.0**i * 3.0**j * factorial(1) / factorial(1 + i + j) for i, j in pairs)
    assert grown([law(2.0), law(3.0)], 2)[0] == pytest.approx(expected)


def test_rising_chains_are_rarer_than_independent_ones() -> None:
    rising = grown([law(4.0, first=1 / 2, second=1 / 3)], 1)[0]
    assert rising == pytest.approx(sum(4.0**j / factorial(j) / factorial(j + 1) for j in range(60)))
    # All above one event: that event is the least of j + 2.
    above = grown([law(4.0, first=2 / 3, second=3 / 4)], 1)[0]
    assert above == pytest.approx(sum(4.0**j / factorial(j) * 2 / (j + 2) for j in range(60)))


def test_huge_windows_are_cut_off() -> None:
    assert grown([law(1e6)], 1)[0] == pytest.approx(CAP)
    assert grown([law(1e200), law(1e200)], 2)[0] == pytest.approx(CAP)
    assert grown([law(0.0)], 1) == (1.0, 0.0)
    assert grown([law(0.0, low=2)], 1) == (0.0, 0.0)


def test_repetitions_of_groups_add_several_slots() -> None:
    expected = sum(5.0**j * factorial(1) / factorial(1 + 2 * j) for j in range(40))
    assert grown([law(5.0, width=2)], 2)[0] == pytest.approx(expected)


@pytest.mark.parametrize("x", [0.0, 0.3, 4.0, 59.0, 61.0, 300.0])
@pytest.mark.parametrize(("gaps", "slots"), [(1, 2), (1, 4), (2, 5), (3, 3)])
def test_thinned_is_the_mean_over_beta_gaps(gaps, slots, x) -> None:
    if gaps == slots:
        assert thinned(gaps, slots, x) == pytest.approx(exp(-x))
        return
    u = (np.arange(200_000) + 0.5) / 200_000
    density = u ** (gaps - 1) * (1 - u) ** (slots - gaps - 1) * comb(slots - 1, gaps) * gaps
    expected = float((density * np.exp(-x * u)).mean())
    assert thinned(gaps, slots, x) == pytest.approx(expected, rel=0.1 if x > 60 else 1e-4)


def test_spread_has_the_mean_it_was_asked_for() -> None:
    found = spread_of(0.5, 1 / 12)  # of a uniform share
    assert sum(weight for _, weight in found) == pytest.approx(1.0)
    assert sum(value * weight for value, weight in found) == pytest.approx(0.5)
    assert sum(value**2 * weight for value, weight in found) == pytest.approx(1 / 3, rel=0.02)
    assert spread_of(0.5, 0.0) == [(0.5, 1.0)]


def test_plain_pieces_stay_themselves() -> None:
    piece = piece_of("SEQ(A a, B b) WITHIN 1s")
    assert piece.is_plain
    (found,), times = once(piece)
    assert (found.piece, found.repeated, times) == (piece, (), 1.0)


def test_a_repeated_slot_is_its_last_repetition() -> None:
    (found,), _ = once(
        piece_of(
            "SEQ(A a, B b+, C c) WHERE a.x < b.x AND b[i].x < b[i-1].x AND LAST(b).x < c.x AND SUM(b.x) > 3"
            " WITHIN 1s"
        )
    )
    assert "SEQ(A, B, C) where 0.x < 1.x AND 1.x < 2.x" in piece_text(found.piece)
    (repeated,) = found.repeated
    assert (repeated.slots, len(repeated.each), len(repeated.adjacent)) == ((1,), 1, 1)
    assert len(found.whole) == 1
    earlier = with_earlier(found.piece, repeated, 2)
    # a, b, c, the b before it and the one before that.
    assert [slot.source.type for slot in earlier.slots] == ["A", "B", "C", "B", "B"]
    assert {(0, 4), (4, 3), (3, 1), (1, 2), (0, 2)} <= set(earlier.order)
    text = piece_text(earlier)
    assert "0.x < 3.x" in text
    assert "1.x < 3.x" in text
    assert "3.x < 4.x" in text
    assert "3.x < 2.x" not in text


def test_groups_are_unfolded() -> None:
    (found,), _ = once(piece_of("SEQ(A a, SEQ(B b, C c)+, D d) WHERE b.x < c.x AND a.x < b.x WITHIN 1s"))
    assert [slot.source.type for slot in found.piece.slots] == ["A", "B", "C", "D"]
    assert len(found.piece.order) == 6
    (repeated,) = found.repeated
    assert repeated.slots == (1, 2)
    assert len(repeated.each) == 2


def test_alternatives_of_groups_are_taken_one_by_one() -> None:
    found, times = once(piece_of("SEQ(A a, OR(B b, C c)+) WHERE b.x > a.x WITHIN 1s"))
    assert [[slot.source.type for slot in one.piece.slots] for one in found] == [["A", "B"], ["A", "C"]]
    assert [len(one.piece.terms) for one in found] == [1, 0]
    assert all(len(one.repeated[0].others) == 1 for one in found)
    assert times == 1.0
