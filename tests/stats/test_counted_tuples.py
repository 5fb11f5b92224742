"""Rows where events come in bursts: counted on the sample, against the truth."""

import json
from itertools import pairwise, product
from math import inf

import numpy as np
import pyarrow as pa
import pytest
from tests.stats.worlds import bursty, piece_of, poisson, q_errors, stats_with, workload

from stretto.engine.whole_table import run
from stretto.pattern.order import Order
from stretto.plan.optimize import optimize
from stretto.schema import Schema
from stretto.stats import counted_tuples
from stretto.stats.counted_tuples import TupleCounts
from stretto.stats.estimate import Estimator
from stretto.stats.profile import Stats
from stretto.stats.selectivity import Selectivities
from stretto.stats.term_clusters import relate, whole_cluster

TABLE = bursty(12_000, seed=21)
SCHEMA = Schema.of(TABLE.schema)
JOINS = [
    "SEQ(A a, B b) WITHIN 100ms",
    "AND(A a, B b, C c) WITHIN 50ms",
    "SEQ(A a, B b, C c) WITHIN 100ms",
    "SEQ(A a, B b) WITHIN 30s",
    "SEQ(A a, B b, C c) WITHIN 20 EVENTS",
]
TERMS = [
    "SEQ(A a, B b) WHERE a.x < b.x AND a.x > 0.7 WITHIN 200ms",
    "SEQ(A a, B b, C c) WHERE a.y < b.y AND b.y < c.y WITHIN 200ms",
    "SEQ(A a, B b) WHERE a.y > 0.5 AND b.y < 0.4 WITHIN 2 HOURS",
    "SEQ(A a, B b, C c) WHERE [k] WITHIN 100ms",
    "SEQ(A a, B b) WHERE [w] AND a.k != 0 WITHIN 1s",
    "SEQ(A a, B b) WHERE a.k = b.k AND a.k > 0 WITHIN 1 HOUR",
]
NEGATIONS = [
    "SEQ(A a, NOT(B b), C c) WITHIN 100ms",
    "SEQ(NOT(B b), A a, C c) WITHIN 50ms",
    "AND(SEQ(A a, C c), NOT(B b)) WITHIN 20ms",
    "SEQ(A a, NOT(B b), C c) WHERE b.x < a.x WITHIN 100ms",
    "SEQ(A a, NOT(B b), C c) WHERE b.k = a.k AND a.k > 0 WITHIN 500ms",
]
REPETITIONS = [
    "SEQ(A a, B b{1,3}, C c) WITHIN 30ms",
    "SEQ(A a, B b{2,3}) WITHIN 50ms",
    "SEQ(A a, B b+) WITHIN 20ms",
    "SEQ(A a, B b+, C c) WHERE b[i].x > b[i-1].x WITHIN 50ms",
    "SEQ(A a, B b{1,3}) WHERE b.x > a.x AND b[i].k = b[i-1].k WITHIN 50ms",
    "SEQ(A a{1,2}, B b{1,2}) WITHIN 50ms",
]


@pytest.mark.parametrize(
    "patterns", [JOINS, TERMS, NEGATIONS, REPETITIONS], ids=["plain", "terms", "not", "kleene"]
)
def test_bursts(patterns) -> None:
    assert {pattern: q for pattern, q in q_errors(TABLE, patterns).items() if q > 1.5} == {}


def test_rates_alone_would_miss_them() -> None:
    stats = Stats.of(TABLE, ts_unit="us")
    blind = Estimator(stats_with(dict(stats.rates), SCHEMA))
    piece = piece_of(JOINS[2], SCHEMA)
    assert blind.rows(piece) < Estimator(stats).rows(piece) / 100


def test_rates_suffice_for_even_streams() -> None:
    stats = Stats.of(poisson(8000, seed=22), ts_unit="us")
    stats.measured([piece_of("SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 1s")])
    assert {of for _, of in stats.selectivities.counts if of.startswith(counted_tuples.ROWS)} == set()


def exact(table: pa.Table, types: str, window: int) -> int:
    """Sequences of these types whose x rises, by definition."""
    rows = table.to_pylist()
    by_type = [[row for row in rows if row["type"] == kind] for kind in types]
    return sum(
        all(one["ts"] < other["ts"] and one["x"] < other["x"] for one, other in pairwise(found))
        and found[-1]["ts"] - found[0]["ts"] <= window
        for found in product(*by_type)
    )


@pytest.mark.parametrize("types", ["AB", "ABC", "AAB"])
def test_counts_are_unbiased(types) -> None:
    table = bursty(150, seed=23, types="ABC", bursts=4)
    names = "abc"[: len(types)]
    slots = ", ".join(f"{kind} {name}" for kind, name in zip(types, names, strict=True))
    terms = " AND ".join(f"{one}.x < {other}.x" for one, other in pairwise(names))
    piece = piece_of(f"SEQ({slots}) WHERE {terms} WITHIN 500ms", SCHEMA)
    cluster = whole_cluster(piece, relate(piece))
    stats = Stats.of(table, ts_unit="us")
    found = []
    for seed in range(30):
        counts = TupleCounts(Selectivities(stats.sample, seed, rates=stats.rates))
        found.append(counts.rows(cluster) * stats.seconds)
    truth = exact(table, types, 500_000)
    assert truth > 20
    error = float(np.std(found)) / len(found) ** 0.5
    assert abs(float(np.mean(found)) - truth) <= 4 * error + 0.02 * truth


@pytest.mark.parametrize("share", [0.9, 0.5])
def test_heavy_keys(share) -> None:
    random = np.random.default_rng(24)
    table = poisson(20_000, seed=24)
    keys = np.where(random.random(20_000) < share, 7, random.integers(100, 300, 20_000))
    table = table.set_column(3, "k", pa.array(keys))
    patterns = [
        "SEQ(A a, B b, C c) WHERE [k] WITHIN 300ms",
        "SEQ(A a, B b) WHERE [k] AND a.k > 50 WITHIN 20s",
    ]
    assert max(q_errors(table, patterns, least=20).values()) < 2
    estimator = Estimator(Stats.of(table, ts_unit="us"))
    piece = piece_of(patterns[0])
    agree = float(
        (np.unique(keys, return_counts=True)[1] / len(keys))
        @ (np.unique(keys, return_counts=True)[1] / len(keys))
    )
    assert estimator.selectivity_of_equalities(piece, (0,), (1,)) == pytest.approx(agree, rel=0.3)
    cubes = float(((np.unique(keys, return_counts=True)[1] / len(keys)) ** 3).sum())
    assert estimator.selectivity_of_equalities(piece, (0, 1), (2,)) == pytest.approx(cubes / agree, rel=0.3)


def test_heavy_keys_in_bursts() -> None:
    estimator = Estimator(Stats.of(TABLE, ts_unit="us"))
    piece = piece_of("SEQ(A a, B b) WHERE [k] WITHIN 100ms", SCHEMA)
    assert estimator.selectivity_of_equalities(piece, (0,), (1,)) == pytest.approx(0.81, rel=0.2)


# ---- samples that are not the whole stream ---------------------------------------------------------------------


@pytest.mark.parametrize("window", ["100ms", "2s", "10 MINUTES", "200 EVENTS"])
def test_ends_of_stretches_cut_no_tuples_off(window) -> None:
    table = bursty(60_000, seed=25, bursts=400)
    patterns = [f"SEQ(A a, B b) WHERE a.x > 0.9 AND b.x > 0.9 WITHIN {window}"]
    stats = Stats.of(table, sample=16_000, workload=workload(*patterns), ts_unit="us")
    assert max(q_errors(table, patterns, stats).values()) < 2


def test_what_most_windows_lack_is_not_counted() -> None:
    table = bursty(40_000, seed=26, bursts=300)
    stats = Stats.of(table, sample=4000, ts_unit="us")
    piece = piece_of("SEQ(A a, B b) WHERE a.x < 0.1 WITHIN 10 HOURS", SCHEMA)
    counts = TupleCounts(stats.selectivities)
    assert counts.rows(whole_cluster(piece, relate(piece))) is None
    assert 0.0 < Estimator(stats).rows(piece) < inf


def test_thin_samples_follow_the_pairs() -> None:
    table = bursty(12_000, seed=27)
    names = np.array(table["type"].to_pylist(), object)
    chosen = np.random.default_rng(27).random(len(names))
    names[chosen < 0.001] = "E"
    table = table.set_column(1, "type", pa.array(names.tolist()))
    stats = Stats.of(table, ts_unit="us")
    meetings = TupleCounts(stats.selectivities).meetings
    piece = piece_of("SEQ(E a, E b) WITHIN 100ms", Schema.of(table.schema))
    (one, other) = (slot.source for slot in piece.slots)
    factor = meetings.of_pair(one, other, Order.total(2), piece.window)
    assert factor == meetings.burst(piece.window) > 10


# ---- files, and wild events ------------------------------------------------------------------------------------


def test_a_file_says_the_same() -> None:
    patterns = [JOINS[2], TERMS[3], NEGATIONS[0], REPETITIONS[0], REPETITIONS[3]]
    queries = workload(*patterns)
    stats = Stats.of(TABLE, workload=queries, ts_unit="us")
    text = stats.to_json()
    read = Stats.from_json(text)
    assert read.selectivities.rates == stats.selectivities.rates
    assert len(text) < 60_000
    one, other = Estimator(stats), Estimator(read)
    for detection in queries.bind(stats.schema).normal_forms():
        for branch in detection.branches:
            assert one.rows(branch.piece) == other.rows(branch.piece)
    plans = [optimize(queries, known, "auto", 5.0) for known in (stats, read)]
    assert plans[0].ops == plans[1].ops


def test_older_files_work() -> None:
    queries = workload(*JOINS, NEGATIONS[0], REPETITIONS[0])
    read = json.loads(Stats.of(TABLE, workload=queries, ts_unit="us").to_json())
    del read["counts"]
    older = Stats.from_json(json.dumps(read))
    plan = optimize(queries, older, "auto")
    assert run(plan, TABLE).counts() == run(optimize(queries, SCHEMA, "none"), TABLE).counts()


WILD = {
    "one row": TABLE.slice(0, 1),
    "one time": TABLE.slice(0, 300).set_column(0, "ts", pa.array([5] * 300)),
    "nulls": TABLE.slice(0, 300).set_column(4, "k", pa.nulls(300, pa.int64())),
    "NaN": TABLE.slice(0, 300).set_column(2, "x", pa.array([float("nan")] * 300)),
}


@pytest.mark.parametrize("name", sorted(WILD))
def test_wild_events(name) -> None:
    estimator = Estimator(Stats.of(WILD[name], ts_unit="us"))
    for pattern in (*JOINS, *TERMS, *NEGATIONS, *REPETITIONS):
        piece = piece_of(pattern, SCHEMA)
        assert 0.0 <= estimator.rows(piece) < inf
        assert 0.0 <= estimator.extent(piece) < inf


def test_candidates_are_as_many_as_streams_meet() -> None:
    """Pairs that one window really holds, against those that Poisson streams of the same rates would have."""
    piece = piece_of("SEQ(A a, B b) WITHIN 100ms", SCHEMA)
    estimator = Estimator(Stats.of(TABLE, ts_unit="us"))
    rates = [estimator.rate(slot.source) for slot in piece.slots]
    plan = optimize(workload("SEQ(A a, B b) WITHIN 100ms"), SCHEMA, "none")
    pairs = len(run(plan, TABLE)) / estimator.stats.seconds
    assert estimator.crowding(piece, (0,), (1,)) == pytest.approx(
        pairs / (rates[0] * rates[1] * 0.1), rel=0.3
    )
    assert Estimator(Stats.of(poisson(12_000, seed=3), ts_unit="us")).crowding(piece, (0,), (1,)) == 1.0
