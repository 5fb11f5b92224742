"""Families of runs whose first events alone are told apart by constants: their events have classes."""

from random import Random

import pytest
from tests.exactness.test_derived_streams import expected_of
from tests.support.comparison import assert_same_matches
from tests.support.random_events import SCHEMA, random_events
from tests.support.runners import RUNNERS
from tests.support.stream_strategies import StreamSample

from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.families import classes, gathering
from stretto.plan.front.stages import Encoding
from stretto.plan.ops import Next
from stretto.plan.optimize import optimize

SEEDS = range(12)
STREAM = "CREATE STREAM m AS SELECT k AS key, AVG(x) AS x FROM A GROUP BY k WITHIN 9 us;\n"
TERMS = (
    "(FLOOR(a.x * 4) + {0}) % 4 < 2",
    "a.x > {0}",
    "a.x BETWEEN {0} AND {1}",
    "a.x + {1} > {0} AND a.x != {1}",
)
RESTS = (
    "B b",
    "B b+",
    "m b+",
    "B b{{0,2}}, C c",
    "NOT(C c), B b",
)


def runs(rng: Random, count: int = 6) -> str:
    """Queries over a raw or a derived stream that differ in what begins them, and in windows."""
    derived = rng.random() < 0.5
    first, rest, term = ("m" if derived else "A"), rng.choice(RESTS), rng.choice(TERMS)
    more = rng.choice(("", " AND a.x > -1", " AND LAST(b).x >= a.x" if "b+" in rest else " AND a.x < 9"))
    having = rng.choice(("", "HAVING FIRST(b).x > a.x " if "b+" in rest else "", ""))
    returns = rng.choice(("", f" RETURN a.x AS x, a.{'key' if derived else 'k'} AS k"))
    windows = (20,) if rng.random() < 0.5 else (6, 20)
    texts = []
    for number in range(count):
        where = term.format(rng.choice((0, 1, 2, 3)), rng.choice((1, 3)))
        texts.append(
            f"QUERY q{number} PATTERN SEQ({first} a, {rest.format()}) WHERE {where}{more} {having}"
            f"WITHIN {rng.choice(windows)} us SELECT NEXT{returns};"
        )
    return STREAM + "\n".join(texts)


def encodings(plan: Plan) -> list[Encoding]:
    stages = () if plan.front is None else plan.front.stages
    return [stage for stage in stages if isinstance(stage, Encoding)]


def plan_of(text: str) -> Plan:
    return optimize(Workload.parse(text), SCHEMA, "auto", budget=0.3)


@pytest.mark.parametrize("seed", SEEDS)
def test_members_have_the_matches_that_they_have_alone(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "FEWEST", 3)
    rng = Random(seed)
    text = runs(rng)
    sample = StreamSample(text, SCHEMA, tuple(random_events(rng, ("A", "B", "C"), most=16)), {})
    plan = plan_of(text)
    assert len(encodings(plan)) == 1, plan.explain()
    assert sum(isinstance(op, Next) for op in plan.ops) == 1
    expected = expected_of(sample.workload().bind(SCHEMA), sample)
    queries = tuple(query for query, _ in expected.values())
    for runner in RUNNERS:
        found = runner(plan, sample, queries, Random(seed))
        for name, (_, matches) in expected.items():
            assert_same_matches(found[name], matches, about=f"{name}, {runner.__name__}\n{sample}")


def test_explain_says_how_the_members_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "FEWEST", 3)
    text = plan_of(f"{STREAM}{hybrid()}").explain()
    assert "by classify_events" in text
    assert "by the class of a" in text


def hybrid(rest: str = "m d+", policy: str = "NEXT", within: str = "9 us", constant: str = "a.x > {}") -> str:
    return "".join(
        f"QUERY q{n} PATTERN SEQ(m a, {rest}) WHERE {constant.format(n)} WITHIN {within} SELECT {policy};"
        for n in range(4)
    )


@pytest.mark.parametrize(
    "text",
    [
        hybrid(rest="B b", policy="ANY"),
        hybrid(within="9 EVENTS"),  # positions are counted among plain events
        hybrid(constant="LAST(d).x > {}"),  # a later step takes other events for each member
        hybrid(rest="NOT(m c), B b"),  # what is forbidden is of the stream that would have classes
    ],
)
def test_where_first_events_have_no_classes(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "FEWEST", 3)
    assert not encodings(plan_of(STREAM + text))


def test_classes_list_no_more_than_is_kept_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "FEWEST", 3)
    monkeypatch.setattr(classes, "MOST", 3)
    assert not encodings(plan_of(STREAM + hybrid()))


@pytest.mark.parametrize("policy", ["NEXT", "ANY"])
def test_events_are_paired_with_what_only_their_stream_has(
    policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`[key]` is of no raw event: a paired one has it from the stream that it is of."""
    monkeypatch.setattr(gathering, "FEWEST", 3)
    text = STREAM + "".join(
        f"QUERY q{n} PATTERN SEQ(m a, m b) WHERE [key] AND a.x > {n} AND b.x > {n} WITHIN 20 us SELECT {policy};"
        for n in range(4)
    )
    sample = StreamSample(text, SCHEMA, tuple(random_events(Random(3), ("A",), most=16)), {})
    expected = expected_of(sample.workload().bind(SCHEMA), sample)
    assert any(matches for _, matches in expected.values())
    for runner in RUNNERS:
        found = runner(plan_of(text), sample, tuple(query for query, _ in expected.values()), Random(1))
        for name, (_, matches) in expected.items():
            assert_same_matches(found[name], matches, about=f"{name}, {runner.__name__}")
