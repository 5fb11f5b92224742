"""Queries that are alike but for constants are one family, whoever wrote them and however; the oracle judges them."""

from random import Random

import pyarrow as pa
import pytest
from tests.exactness.test_derived_streams import expected_of
from tests.support.comparison import assert_same_matches
from tests.support.random_events import SCHEMA, random_events
from tests.support.runners import RUNNERS
from tests.support.stream_strategies import StreamSample

import stretto
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.families import gathering
from stretto.plan.ops import Emit
from stretto.plan.optimize import optimize
from stretto.schema import Kind, Schema

READINGS = Schema({"v": Kind.FLOAT, "k": Kind.INT, "host": Kind.STRING}, frozenset({"R", "S"}))

PATTERNS = (
    ("A a", "ANY"),
    ("SEQ(A a, B b)", "ANY"),
    ("SEQ(A a, B b)", "NEXT"),
    ("SEQ(A a, B b)", "STRICT"),
    ("SEQ(A a, B b+)", "ANY"),
    ("SEQ(A a, B b+)", "NEXT"),
    ("AND(A a, B b)", "ANY"),
    ("SEQ(A a, NOT(C c), B b)", "ANY"),
)
COMPARED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
CONSTANTS = {"x": ("0.5", "1", "-2.0", "-0.0", "-1.5"), "k": ("0", "1", "2"), "s": ("'a'", "'b'", "'ü'")}


def respelled(rng: Random, terms: list[tuple[str, str, str]]) -> str:
    """Terms in any order, with constants of this query's own on either side."""
    written = []
    for variable, attribute, sign in rng.sample(terms, len(terms)):
        constant, name = rng.choice(CONSTANTS[attribute]), f"{variable}.{attribute}"
        plain, turned = f"{name} {sign} {constant}", f"{constant} {COMPARED[sign]} {name}"
        written.append(rng.choice((plain, turned, f"NOT NOT ({plain})")))
    return " AND ".join(written)


def alike_queries(rng: Random) -> str:
    pattern, policy = rng.choice(PATTERNS)
    names = [name for name in "ab" if f" {name}" in pattern]
    signs = (*COMPARED, "!=", ">=", "<=")
    terms = [
        (rng.choice(names), rng.choice(("x", "x", "k", "s")), rng.choice(signs))
        for _ in range(rng.choice((1, 1, 2)))
    ]
    texts = []
    for number in range(6):
        own, where = f"x > {rng.choice(CONSTANTS['x'])}", respelled(rng, terms)
        chosen = pattern
        if rng.random() < 0.3:
            texts.append(f"CREATE EVENT E{number} AS SELECT * FROM A WHERE {own};")
            chosen = pattern.replace("A a", f"E{number} a")
        else:
            where += f" AND a.{own}"
        window = rng.choice((4, 8, 20))
        texts.append(f"QUERY q{number} PATTERN {chosen} WHERE {where} WITHIN {window} us SELECT {policy};")
    return "\n".join(texts)


def families_of(plan: Plan) -> list[int]:
    """How many queries each family has."""
    sides = () if plan.front is None else (side.plan for side in plan.front.sides)
    emits = [op for one in (plan, *sides) for op in one.ops if isinstance(op, Emit)]
    routes = [op.route for op in emits if op.route is not None]
    return [len(route.members) for route in routes]


@pytest.mark.parametrize("start", [0, 10, 20])
def test_families_of_queries_in_other_words_are_what_the_oracle_says(
    start: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gathering, "FEWEST", 2)
    whole, matched = 0, 0
    for seed in range(start, start + 10):
        rng = Random(seed)
        sample = StreamSample(
            alike_queries(rng), SCHEMA, tuple(random_events(rng, ("A", "B", "C"), most=20)), {}
        )
        workload = sample.workload()
        optimizer = rng.choice(("none", "auto"))
        plan = optimize(workload, SCHEMA, optimizer, budget=0.5)
        expected = expected_of(workload.bind(SCHEMA), sample)
        queries = tuple(query for query, _ in expected.values())
        for runner in RUNNERS:
            found = runner(plan, sample, queries, Random(seed + 1))
            for name, (_, matches) in expected.items():
                about = f"{name} of seed {seed}, {runner.__name__}\n{sample.text}"
                assert_same_matches(found[name], matches, about=about)
        whole += families_of(plan) == ([6] if optimizer == "auto" else [])
        matched += any(matches for _, matches in expected.values())
    assert whole >= 7
    assert matched >= 4


def test_queries_built_in_python_are_one_family() -> None:
    workload = Workload()
    for number in range(80):
        a, b = stretto.E("R", "a"), stretto.E("S", "b")
        terms = (a.v < 0.5 * number, b.host == a.host, b.k == number % 7)
        built = stretto.query(f"rule{number}", stretto.SEQ(a, b)).where(*terms)
        workload = workload.add(built.within(f"{1 + number % 3} minutes"))
    plan = stretto.optimize(workload, READINGS)
    assert families_of(plan) == [80]
    assert set(plan.names) == {f"rule{number}" for number in range(80)}


def test_other_patterns_variables_and_returns_are_other_families(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "FEWEST", 2)
    texts = [
        "QUERY a{} PATTERN SEQ(R a, S b) WHERE a.v > {} WITHIN 1 MINUTE;",
        "QUERY b{} PATTERN SEQ(R a, S c) WHERE a.v > {} WITHIN 1 MINUTE;",
        "QUERY c{} PATTERN SEQ(R a, S b) WHERE a.v >= {} WITHIN 1 MINUTE;",
        "QUERY d{} PATTERN SEQ(R a, S b) WHERE a.v > {} WITHIN 1 MINUTE RETURN a.v AS v;",
        "QUERY e{} PATTERN SEQ(R a, S b) WHERE b.v > {} WITHIN 1 MINUTE;",
        "QUERY f{} PATTERN SEQ(R a, S b) WHERE a.v > {} WITHIN 9 EVENTS;",
        "QUERY g{} PATTERN SEQ(R a, S b) WHERE a.v > {} WITHIN 1 MINUTE SELECT NEXT;",
    ]
    written = "\n".join(text.format(n, n) for text in texts for n in range(3))
    assert families_of(optimize(Workload.parse(written), READINGS)) == [3] * len(texts)


def test_families_of_a_text_meet_each_other_and_single_queries() -> None:
    """The text is read as three shapes, by its integers, its doubles and its order; to a plan it is one."""
    shapes = ("a.v > {}", "a.v > {}.5", "{} < a.v")
    texts = [
        f"QUERY q{number} PATTERN SEQ(R a, S b) WHERE {shapes[number % 3].format(number)} WITHIN 1 MINUTE;"
        for number in range(300)
    ]
    plan = optimize(Workload.parse("\n".join(texts)), READINGS)
    assert families_of(plan) == [300]
    ts = pa.array([1, 2], pa.timestamp("us"))
    events = pa.table({"ts": ts, "type": ["R", "S"], "v": [7.25, 0.0], "k": [0, 0], "host": ["h", "h"]})
    expected = {f"q{n}" for n in range(300) if (n + 0.5 if n % 3 == 1 else n) < 7.25}
    assert set(stretto.run(plan, events).to_arrow()["query"].to_pylist()) == expected
