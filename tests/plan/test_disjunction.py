"""An ANY is a chain of joins, from which AND and SEQ are read where that is cheaper; all find what the oracle finds."""

from collections.abc import Sequence
from itertools import combinations
from random import Random

import pytest
from tests.memo.disjunctions import disjunctions
from tests.support.comparison import assert_same_matches
from tests.support.random_events import SCHEMA
from tests.support.runners import Runner, batched, disordered, restored, whole

from stretto import oracle
from stretto.memo.rules.unite_disjunction import RULE
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.ops import Join
from stretto.plan.optimize import optimize
from stretto.stats.profile import Stats

OPTIMIZERS = ("auto", "motto", "motto-paper", "motto-anneal")
RUNNERS: tuple[Runner, ...] = (whole, batched, disordered, restored)


def planned(*patterns: str, optimizer: str = "auto") -> Plan:
    text = "".join(f"QUERY q{number} PATTERN {one};\n" for number, one in enumerate(patterns))
    return optimize(Workload.parse(text), SCHEMA, optimizer)


def joins(plan: Plan) -> list[str]:
    """The rules of all joins."""
    return [record.because for op, record in zip(plan.ops, plan.records, strict=True) if isinstance(op, Join)]


def alternatives(streams: Sequence[str]) -> int:
    return sum(1 for size in range(2, len(streams) + 1) for _ in combinations(streams, size))


def any_of(streams: str, word: str = "ANY", window: str = "9 MICROSECONDS") -> str:
    return f"{word}({', '.join(f'{one} {one.lower()}' for one in streams)}) WITHIN {window}"


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("streams", ["ABC", "ABCD", "ABCDE"])
def test_a_chain_has_a_join_per_stream(streams: str, optimizer: str) -> None:
    first, *others = joins(planned(any_of(streams), optimizer=optimizer))
    assert first == "join_left_to_right"
    assert others == [RULE] * (len(streams) - 2)
    assert len(joins(planned(any_of(streams), optimizer="none"))) >= alternatives(streams)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_chain_is_found_however_short_the_time(optimizer: str) -> None:
    text = f"QUERY q PATTERN {any_of('ABCDE')};"
    assert len(joins(optimize(Workload.parse(text), SCHEMA, optimizer, budget=0.0))) == 4


def test_equal_disjunctions_are_one_chain() -> None:
    plan = planned(any_of("ABC"), any_of("CAB"))
    assert len(joins(plan)) == 2
    assert plan.serves(next(n for n, op in enumerate(plan.ops) if isinstance(op, Join))) == ("q0", "q1")


@pytest.mark.parametrize(
    "optimizer", ["auto", "motto", "motto-anneal"]
)  # by partial matches a filter is dearer
@pytest.mark.parametrize("word", ["AND", "SEQ"])
def test_conjunctions_and_sequences_are_read_from_the_chain(word: str, optimizer: str) -> None:
    """Table I: no join is made for them, and EXPLAIN says by what they came."""
    plan = planned(any_of("ABCDE"), any_of("CADEB", word), optimizer=optimizer)
    assert len(joins(plan)) == 4
    kept = next(n for n, record in enumerate(plan.records) if record.because == "keep_complete")
    assert plan.serves(kept) == ("q1",)
    assert "with all of" in str(plan.explain()).splitlines()[kept + 1]


def test_a_chain_comes_by_the_streams_that_others_read() -> None:
    plan = planned(any_of("ABCDE"), any_of("DEC", "AND"))
    assert len(joins(plan)) == 4
    assert any(record.because == "keep_complete" for record in plan.records)


def test_a_larger_disjunction_reads_a_smaller_one() -> None:
    assert len(joins(planned(any_of("ABCDE"), any_of("CDE"), any_of("CDEA")))) == 4


@pytest.mark.parametrize("optimizer", ["auto", "motto"])
def test_costs_decide_who_reads_the_chain(optimizer: str) -> None:
    """Where a window holds ten events of each stream, a sequence is not filtered from all sets of them."""
    stats = Stats(SCHEMA, 1000.0, dict.fromkeys("ABCDE", 500.0), 2_500_000)
    found = {}
    for window in ("200 MICROSECONDS", "20 MILLISECONDS"):
        patterns = (any_of("ABCDE", window=window), any_of("CADEB", "SEQ", window))
        text = "".join(f"QUERY q{i} PATTERN {one};\n" for i, one in enumerate(patterns))
        plan = optimize(Workload.parse(text), stats, optimizer)
        found[window] = any(record.because == "keep_complete" for record in plan.records)
    assert found == {"200 MICROSECONDS": True, "20 MILLISECONDS": False}


def test_without_an_any_nothing_is_kept_complete() -> None:
    plan = planned(any_of("ABC", "AND"), any_of("CAB", "SEQ"))
    assert all(record.because not in (RULE, "keep_complete") for record in plan.records)


@pytest.mark.parametrize(
    "pattern",
    [
        "ANY(A a, B b) WITHIN 9 MICROSECONDS",
        "ANY(A a, A b, C c) WITHIN 9 MICROSECONDS",
        "ANY(A a, B b+, C c) WITHIN 9 MICROSECONDS",
        "ANY(A a, B b, C c) WHERE a.x < b.x WITHIN 9 MICROSECONDS",
        "ANY(A a, B b, C c) WHERE [k] WITHIN 9 MICROSECONDS",
        "SEQ(D d, ANY(A a, B b, C c)) WITHIN 9 MICROSECONDS",
    ],
)
def test_what_is_no_chain(pattern: str) -> None:
    assert RULE not in joins(planned(pattern))


@pytest.mark.parametrize("seed", range(40))
def test_disjunctions_are_those_of_the_oracle(seed: int) -> None:
    rng = Random(seed)
    sample = disjunctions(rng)
    workload = Workload.parse(sample.text)
    queries = workload.bind(sample.schema).detections
    plan = optimize(workload, sample.schema, rng.choice(("auto", "motto")), budget=0.1)
    for runner in RUNNERS:
        found = runner(plan, sample, queries, rng)
        for query in queries:
            assert_same_matches(found[query.name], oracle.matches(query, sample.events), sample.text)
