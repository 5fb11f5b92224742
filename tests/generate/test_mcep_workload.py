"""MCEP's workloads: proportions as in the paper, and what density and rate difference do."""

from collections import Counter
from functools import cache

import numpy as np
import pytest

from stretto.errors import StrettoError
from stretto.generate.mcep_patterns import McepPattern
from stretto.generate.mcep_workload import STOCKS, TRAFFIC, McepOptions, McepSubject, density, patterns

SUBJECTS = {"stocks": STOCKS, "traffic": TRAFFIC}


@cache
def made(subject: McepSubject = STOCKS, queries: int = 60, seed: int = 1, **options) -> list[McepPattern]:
    return patterns(subject, queries, seed, McepOptions(**options))


@pytest.fixture(params=SUBJECTS)
def subject(request) -> McepSubject:
    return SUBJECTS[request.param]


def test_one_in_five_has_a_not_or_a_kleene(subject: McepSubject) -> None:
    marks = Counter(pattern.mark for pattern in made(subject))
    assert marks[""] == 48
    assert marks["NOT"] + marks["+"] == 12
    assert min(marks["NOT"], marks["+"]) >= 2


def test_a_not_stands_inside(subject: McepSubject) -> None:
    for pattern in made(subject, unusual=1.0):
        if pattern.mark == "NOT":
            assert 0 < pattern.types.index(pattern.unusual) < len(pattern.types) - 1


@pytest.mark.parametrize("length", [3, 5, 8])
def test_length_and_half_as_many_comparisons(subject: McepSubject, length: int) -> None:
    found = made(subject, length=length)
    sizes = [len(pattern.types) for pattern in found]
    assert np.mean(sizes) == length
    comparisons = sum(len(pattern.comparisons) for pattern in found)
    assert comparisons == pytest.approx(sum(sizes) / 2, abs=0.5)
    for pattern in found:
        assert len(set(pattern.types)) == len(pattern.types)
        assert len({frozenset(c) for c in pattern.comparisons}) == len(pattern.comparisons)
        assert all(set(c) <= set(pattern.types) for c in pattern.comparisons)


def test_no_circle_of_comparisons() -> None:
    for pattern in made(length=8, unusual=0.0):
        left = set(pattern.comparisons)
        while left:
            ends = {second for _, second in left}
            first = {c for c in left if c[0] not in ends}
            assert first, pattern
            left -= first


def test_operators() -> None:
    assert Counter(pattern.operator for pattern in made()) == {"SEQ": 30, "AND": 30}
    assert {pattern.operator for pattern in made(operator="seq")} == {"SEQ"}
    assert {pattern.operator for pattern in made(operator="and")} == {"AND"}


def test_no_pattern_twice() -> None:
    found = made(queries=200, length=3)
    keys = {(p.operator, frozenset(p.comparisons), p.types, p.mark, p.unusual) for p in found}
    assert len(keys) == 200


@pytest.mark.parametrize("wanted", [0.05, 0.2, 0.5, 0.8])
def test_density(subject: McepSubject, wanted: float) -> None:
    assert density(made(subject, density=wanted, operator="seq")) == pytest.approx(wanted, abs=0.08)


def test_what_is_a_neighbour() -> None:
    one = McepPattern("SEQ", (1, 2, 3), ((1, 3),))
    assert density([one, McepPattern("SEQ", (1, 9, 3), ((1, 3),))]) == 1.0
    assert density([one, McepPattern("SEQ", (1, 9, 3), ((3, 1),))]) == 0.0
    assert density([one, McepPattern("SEQ", (3, 9, 1), ((1, 3),))]) == 0.0
    assert density([one, McepPattern("AND", (1, 2, 3), ((1, 3),))]) == 0.0
    assert density([one, McepPattern("SEQ", (1, 8, 9), ((8, 9),))]) == 0.0
    assert density([one, McepPattern("SEQ", (1, 9, 3), ((1, 3),), "NOT", 3)]) == 0.0
    assert density([one, McepPattern("SEQ", (1, 9, 3), ((1, 3),), "+", 3)]) == 0.0
    assert density([one, McepPattern("SEQ", (1, 9, 3), ((1, 3),), "+", 9)]) == 1.0
    thirds = density([one, McepPattern("SEQ", (1, 9, 3), ((1, 3),)), McepPattern("SEQ", (5, 6), ())])
    assert thirds == pytest.approx(1 / 3)


def test_rate_difference(subject: McepSubject) -> None:
    rates = np.array(subject.sources(None).rates)

    def widest(limit: float) -> float:
        found = made(subject, rate_difference=limit)
        return max(float(np.ptp(rates[list(pattern.types)])) for pattern in found)

    assert widest(0.2) <= 0.2 * 45
    assert widest(0.5) <= 0.5 * 45
    assert widest(1.0) > 0.5 * 45


def test_patterns_with_many_matches_are_drawn_again() -> None:
    rates = np.array(STOCKS.sources(None).rates)

    def volume(**options) -> float:
        return float(np.mean([np.log(rates[list(p.types)]).sum() for p in made(**options)]))

    assert volume(matches=1.0, partial=1_000.0) < volume(matches=1e9, partial=1e12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"length": 1}, "2 to 12 types on average"),
        ({"density": 0.0}, "density must be above 0"),
        ({"rate_difference": 2.0}, "rate_difference must be above 0 and at most 1"),
        ({"unusual": 1.1}, "unusual must be between 0 and 1"),
        ({"types": 0}, "types must be at least 1"),
        ({"matches": 0.0}, "matches must be above 0"),
        ({"operator": "sequence"}, "unknown operator `sequence`"),
        ({"window": "soon"}, "neither a duration nor a number of events"),
    ],
)
def test_refused_options(options, message: str) -> None:
    with pytest.raises(StrettoError, match=message):
        McepOptions(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"subject": TRAFFIC, "length": 2}, "at least 3 types"),
        ({"density": 0.9}, "a density of 0.9 is out of reach"),
        ({"rate_difference": 0.001}, "need as many whose rates differ by at most"),
        ({"types": 4}, "at most 4 do"),
    ],
)
def test_what_cannot_be_met_is_refused(options, message: str) -> None:
    with pytest.raises(StrettoError, match=message):
        made(**options)
