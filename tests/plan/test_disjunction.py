"""An ANY is one chain of joins where nobody else reads its alternatives, and finds what the oracle finds."""

from collections.abc import Sequence
from itertools import combinations
from random import Random

import pytest
from tests.support.comparison import assert_same_matches
from tests.support.runners import Runner, batched, disordered, restored, whole
from tests.support.strategies import SCHEMA, Sample, random_events

from stretto import oracle
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.disjunction import RULE
from stretto.plan.ops import Join
from stretto.plan.optimize import optimize

RUNNERS: tuple[Runner, ...] = (whole, batched, disordered, restored)


def planned(*patterns: str, optimizer: str = "auto") -> Plan:
    text = "".join(f"QUERY q{number} PATTERN {one};\n" for number, one in enumerate(patterns))
    return optimize(Workload.parse(text), SCHEMA, optimizer)


def joins(plan: Plan) -> list[str]:
    """The rules of all joins."""
    return [record.because for op, record in zip(plan.ops, plan.records, strict=True) if isinstance(op, Join)]


def alternatives(streams: Sequence[str]) -> int:
    return sum(1 for size in range(2, len(streams) + 1) for _ in combinations(streams, size))


@pytest.mark.parametrize("optimizer", ["auto", "motto", "motto-paper", "motto-anneal"])
@pytest.mark.parametrize("streams", ["ABC", "ABCD", "ABCDE"])
def test_a_chain_has_a_join_per_stream(streams: str, optimizer: str) -> None:
    pattern = f"ANY({', '.join(f'{one} {one.lower()}' for one in streams)}) WITHIN 9 MICROSECONDS"
    assert joins(planned(pattern, optimizer=optimizer)) == [RULE] * (len(streams) - 1)
    assert len(joins(planned(pattern, optimizer="none"))) >= alternatives(streams)


def test_equal_disjunctions_are_one_chain() -> None:
    plan = planned("ANY(A a, B b, C c) WITHIN 9 MICROSECONDS", "ANY(C x, A y, B z) WITHIN 9 MICROSECONDS")
    assert joins(plan) == [RULE, RULE]
    assert plan.serves(next(n for n, op in enumerate(plan.ops) if isinstance(op, Join))) == ("q0", "q1")


def test_a_conjunction_is_the_alternative_with_all_streams() -> None:
    """Table I, CONJ to DISJ: no join is made for the conjunction alone."""
    one, both = "ANY(A a, B b, C c) WITHIN 9 MICROSECONDS", "AND(A a, B b, C c) WITHIN 9 MICROSECONDS"
    plan = planned(one, both)
    assert RULE not in joins(plan)
    emits = {query: plan.ops[number] for query, number in plan.queries.items()}
    assert emits["q1"].inputs[0] in emits["q0"].inputs
    assert len(joins(plan)) == alternatives("ABC")


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


def random_disjunctions(rng: Random) -> Sample:
    """One to three queries over three to five streams, some with filters; most are ANYs."""
    texts = []
    for number in range(rng.choice((1, 1, 2, 3))):
        streams = rng.sample("ABCDE", rng.randint(3, 5))
        word = rng.choice(("ANY", "ANY", "ANY", "AND", "SEQ"))
        where = rng.choice(("", "", f"WHERE {streams[0].lower()}.x > 0"))
        window = rng.choice(("3 MICROSECONDS", "6 MICROSECONDS", "4 EVENTS"))
        parts = ", ".join(f"{one} {one.lower()}" for one in streams)
        texts.append(f"QUERY q{number} PATTERN {word}({parts}) {where} WITHIN {window};")
    return Sample("\n".join(texts), SCHEMA, random_events(rng, "ABCDE", most=20))


@pytest.mark.parametrize("seed", range(60))
def test_disjunctions_are_those_of_the_oracle(seed: int) -> None:
    rng = Random(seed)
    sample = random_disjunctions(rng)
    workload = Workload.parse(sample.text)
    queries = workload.bind(sample.schema).detections
    plan = optimize(workload, sample.schema, rng.choice(("auto", "motto")), budget=0.1)
    for runner in RUNNERS:
        found = runner(plan, sample, queries, rng)
        for query in queries:
            assert_same_matches(found[query.name], oracle.matches(query, sample.events), sample.text)
