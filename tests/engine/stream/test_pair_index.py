"""Rows paired with constants are those that a comparison of every row with every constant finds."""

from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.events import arena_of

from stretto.engine.kernels import when_to_compile
from stretto.engine.kernels.three_sided import found_in_prefixes, found_in_prefixes_reference, minima
from stretto.engine.rows.next_moves import EVENT
from stretto.engine.stream.constants import WithConstants, over_constants, vectors
from stretto.engine.stream.pair_index import DenseNumbers, PairIndex
from stretto.pattern.predicates import Apply, Expr, Param, Ref
from stretto.plan.families.members import Constants
from stretto.schema import Kind
from stretto.values.evaluate import holds
from stretto.values.vector import Vector

VALUES = [0.0, -0.0, 1.0, 2.5, 4.0, float("nan"), float("inf"), -float("inf"), None]
X, LOW, HIGH = Ref(0, "x", Kind.FLOAT), Param("low", Kind.FLOAT), Param("high", Kind.FLOAT)


def compared(op: str, left: Expr, right: Expr) -> Expr:
    return Apply(op, (left, right), Kind.BOOL)


TERMS = (
    compared("=", X, LOW),
    compared("=", HIGH, X),
    compared(">=", X, LOW),
    compared("<", X, HIGH),
    compared(">", LOW, X),
    Apply("and", (compared(">=", X, LOW), compared("<=", X, HIGH)), Kind.BOOL),
    Apply("in", (X, LOW, HIGH), Kind.BOOL),
    compared("!=", X, LOW),
    compared("<", Apply("+", (X, LOW), Kind.FLOAT), HIGH),
    compared("<", X, Apply("+", (LOW, HIGH), Kind.FLOAT)),
    compared("<", LOW, HIGH),
)


@pytest.mark.parametrize("seed", range(40))
def test_pairs_are_those_that_pass(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(when_to_compile, "always", seed % 2 == 0)
    rng = Random(seed)
    terms = rng.choices(TERMS, k=rng.choice((1, 2, 3)))
    some = [rng.choice(VALUES) for _ in range(rng.choice((0, 1, 30)))]
    low, high = ([rng.choice(VALUES) for _ in range(20)] for _ in range(2))
    columns = {"low": pa.array(low, pa.float64()), "high": pa.array(high, pa.float64())}
    constants = Constants(columns, dict.fromkeys(columns, Kind.FLOAT), 20)
    arena = arena_of(range(len(some)), [1] * len(some), x=some)
    index = PairIndex(terms, EVENT, constants, arena.strings)
    rows, numbers = index.pairs((np.arange(len(some)),), len(some), arena)
    left, right = (axis.ravel() for axis in np.meshgrid(np.arange(len(some)), np.arange(20), indexing="ij"))
    known = WithConstants(arena, vectors(constants, arena.strings))
    wanted = holds([over_constants(term, 1) for term in terms], (left, right), len(left), known)
    expected = list(zip(left[wanted].tolist(), right[wanted].tolist(), strict=True))
    assert sorted(zip(rows.tolist(), numbers.tolist(), strict=True)) == expected


TEXTS = ["", "a", "ab", "b", "a\0", "ü", "\ud7ff", "\U0001d11e", "\uffff"]
NAME, LEAST, MOST = Ref(0, "s", Kind.STRING), Param("least", Kind.STRING), Param("most", Kind.STRING)
OF_TEXTS = (
    compared(">=", NAME, LEAST),
    compared("<", NAME, MOST),
    compared(">", MOST, NAME),
    compared("<=", NAME, LEAST),
    compared("=", NAME, MOST),
    Apply("and", (compared(">=", NAME, LEAST), compared("<=", NAME, MOST)), Kind.BOOL),
)


@pytest.mark.parametrize("seed", range(20))
def test_texts_are_looked_up_by_their_order(seed: int) -> None:
    """Texts come that were not there when the index was made; nothing is left to be judged on pairs."""
    rng = Random(seed)
    terms = rng.sample(OF_TEXTS[:5], 2) if seed % 2 else [rng.choice(OF_TEXTS)]
    first, later = [None, *TEXTS[:6]], [None, *TEXTS]
    drawn = {name: [rng.choice(first) for _ in range(12)] for name in ("least", "most")}
    columns = {name: pa.array(texts, pa.string()) for name, texts in drawn.items()}
    constants = Constants(columns, dict.fromkeys(columns, Kind.STRING), 12)
    some = [rng.choice(first) for _ in range(8)] + [rng.choice(later) for _ in range(16)]
    arena = arena_of(range(24), [1] * 24, s=[None if text is None else TEXTS.index(text) for text in some])
    assert [arena.strings.code(text) for text in TEXTS[:6]] == list(range(6))
    index = PairIndex(terms, EVENT, constants, arena.strings)
    assert not index._rest
    found = set()
    for part in (np.arange(8), np.arange(8, 24)):
        rows, numbers = index.pairs((part,), len(part), arena)
        found |= set(zip(part[rows].tolist(), numbers.tolist(), strict=True))
        assert [arena.strings.code(text) for text in TEXTS] == list(range(len(TEXTS)))
    left, right = (axis.ravel() for axis in np.meshgrid(np.arange(24), np.arange(12), indexing="ij"))
    known = WithConstants(arena, vectors(constants, arena.strings))
    wanted = holds([over_constants(term, 1) for term in terms], (left, right), len(left), known)
    assert found == set(zip(left[wanted].tolist(), right[wanted].tolist(), strict=True))


@given(
    st.lists(st.integers(-5, 5), max_size=40),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(-6, 6))),
)
def test_what_is_found_in_prefixes(keys: list[int], asked: list[tuple[int, int, int]]) -> None:
    asked = [(min(a, len(keys)), min(b, len(keys)), bound) for a, b, bound in asked]
    low, high, bounds = np.array(asked, np.int64).reshape(len(asked), 3).T.copy()
    tree = minima(np.array(keys, np.int64))
    rows, places = found_in_prefixes_reference(tree, low, high, bounds)
    for room in (0, len(rows) + 3):
        into = np.empty(room, np.int64), np.empty(room, np.int64)
        count = found_in_prefixes(tree, low, high, bounds, *into)
        assert count == len(rows)
        if room:
            assert into[0][:count].tolist() == rows.tolist()
            assert into[1][:count].tolist() == places.tolist()


@given(st.lists(st.integers(-50, 50), min_size=1), st.lists(st.integers(-60, 60)), st.data())
def test_keys_with_places_of_their_own(keys: list[int], asked: list[int], data: st.DataObject) -> None:
    numbers = DenseNumbers(np.array(keys))
    valid = np.array([data.draw(st.booleans()) for _ in asked], np.bool_)
    found = numbers.find([Vector(np.array(asked, np.int64), valid)], len(asked)).tolist()
    rank = {key: number for number, key in enumerate(sorted(set(keys)))}
    assert found == [rank.get(key, -1) if ok else -1 for key, ok in zip(asked, valid.tolist(), strict=True)]


def test_keys_that_are_far_apart_have_none() -> None:
    assert not DenseNumbers.fits(np.array([-(2**63), 2**63 - 1]))
    assert not DenseNumbers.fits(np.zeros(0, np.int64))
    assert DenseNumbers.fits(np.array([5, 60_000]))
