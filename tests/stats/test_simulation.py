"""Estimates against the truth: streams with known laws, matches counted by the engine."""

import numpy as np
import pyarrow as pa
import pytest
from tests.stats.worlds import poisson, q_errors

PLAIN = [
    "SEQ(A a, B b) WITHIN 1s",
    "AND(A a, B b) WITHIN 1s",
    "AND(A a, A b) WITHIN 1s",
    "SEQ(A a, B b, C c) WITHIN 500ms",
    "AND(A a, SEQ(B b, C c)) WITHIN 400ms",
    "AND(A a, B b, C c) WITHIN 300ms",
    "SEQ(A a, B b, C c, D d) WITHIN 500ms",
    "AND(SEQ(A a, B b), SEQ(C c, D d)) WITHIN 250ms",
    "SEQ(A a, B b, C c) WITHIN 40 EVENTS",
    "AND(A a, B b, C c) WITHIN 4 EVENTS",
]
TERMS = [
    "SEQ(A a, B b) WHERE a.x < b.x WITHIN 1s",
    "SEQ(A a, B b) WHERE a.x > 0.8 AND a.x < b.x WITHIN 2s",
    "SEQ(A a, B b) WHERE a.x + b.x < 0.1 WITHIN 3s",
    "SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x AND a.x < c.x WITHIN 600ms",
    "SEQ(A a, B b, C c, D d) WHERE a.x < b.x AND b.x < c.x AND c.x < d.x WITHIN 500ms",
    "AND(A a, B b, C c) WHERE a.x + b.x < 0.3 AND b.x + c.x < 0.3 WITHIN 600ms",
    "SEQ(A a, B b, C c) WHERE [k] WITHIN 2s",
    "AND(A a, B b, C c) WHERE [w] WITHIN 300ms",
    "SEQ(A a, B b) WHERE a.k = b.k AND a.x < b.x AND a.w = 'red' WITHIN 4s",
    "SEQ(A a, B b, C c) WHERE a.ts + 200ms < c.ts WITHIN 500ms",
    "SEQ(A a, B b, C c) WITHIN 10s SELECT STRICT",
]
NEGATIONS = [
    "SEQ(A a, NOT(B b), C c) WITHIN 1s",
    "SEQ(NOT(B b), A a, C c) WITHIN 200ms",
    "SEQ(A a, C c, NOT(B b)) WITHIN 200ms",
    "AND(SEQ(A a, C c), NOT(B b)) WITHIN 100ms",
    "SEQ(A a, NOT(B b), C c) WHERE b.x < a.x WITHIN 1s",
    "SEQ(A a, NOT(B b), C c) WHERE b.k = a.k WITHIN 2s",
    "SEQ(A a, NOT(B b), C c, D d) WHERE [k] WITHIN 3s",
]
REPETITIONS = [
    "A a+ WITHIN 120ms",
    "SEQ(A a, B b+, C c) WITHIN 200ms",
    "SEQ(A a, B b{2,3}, C c) WITHIN 300ms",
    "SEQ(A a, B b+) WHERE b[i].x > b[i-1].x WITHIN 300ms",
    "SEQ(A a, B b+) WHERE b.x > a.x WITHIN 200ms",
    "SEQ(A a, SEQ(B b, C c)+, D d) WITHIN 250ms",
    "SEQ(A a, B b+, C c) WITHIN 10s SELECT STRICT",
    "SEQ(A a, OR(B b, C c)+) WITHIN 120ms",
]


@pytest.mark.parametrize(
    "patterns", [PLAIN, TERMS, NEGATIONS, REPETITIONS], ids=["plain", "terms", "not", "kleene"]
)
def test_independent_events(patterns) -> None:
    table = poisson(20_000, seed=11)
    assert {pattern: q for pattern, q in q_errors(table, patterns).items() if q > 1.5} == {}


def test_correlated_events() -> None:
    """Prices walk, keys live for two seconds, values are skewed."""
    events, random = 20_000, np.random.default_rng(12)
    kinds = random.integers(0, 3, events)
    price = np.empty(events)
    for kind in range(3):
        mine = np.flatnonzero(kinds == kind)
        price[mine] = 100 + np.cumsum(random.normal(0, 0.1, len(mine)))
    table = pa.table(
        {
            "ts": np.cumsum(random.exponential(10_000, events)).astype(np.int64),
            "type": np.array(["A", "B", "C"])[kinds],
            "price": price,
            "session": np.arange(events) // 200 * 5 + random.integers(0, 5, events),
            "zipf": np.minimum(random.zipf(1.5, events), 10_000),
        }
    )
    patterns = [
        "SEQ(A a, A b) WHERE ABS(a.price - b.price) < 0.05 WITHIN 1s",
        "SEQ(A a, A b, A c) WHERE a.price < b.price AND b.price < c.price WITHIN 500ms",
        "SEQ(A a, B b) WHERE a.price < b.price WITHIN 1s",
        "SEQ(A a, B b, C c) WHERE [session] WITHIN 1s",
        "SEQ(A a, B b, C c) WHERE [session] AND a.price < b.price WITHIN 1s",
        "SEQ(A a, B b, C c) WHERE [zipf] WITHIN 500ms",
        "SEQ(A a, NOT(B b), C c) WHERE [session] WITHIN 1s",
    ]
    assert {pattern: q for pattern, q in q_errors(table, patterns).items() if q > 1.5} == {}
