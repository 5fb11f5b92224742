"""Queries over texts, times, lists and structs find what the oracle finds, in every way to run them.

STRETTO_TEXT_QUERIES says how many random workloads are tried, STRETTO_SEED from which seed on.
"""

import os
from random import Random

import pyarrow as pa
import pytest
from tests.support import text_terms
from tests.support.comparison import assert_same_matches, matches_of
from tests.support.random_events import in_batches

from stretto import Engine, Schema, Workload, optimize, oracle, run
from stretto.engine.stream.scan_index import _divide
from stretto.plan.ops import Scan
from stretto.values import text_functions
from stretto.values.strings import Strings

WORKLOADS = int(os.environ.get("STRETTO_TEXT_QUERIES", "100"))
SEED = int(os.environ.get("STRETTO_SEED", "0"))
CHUNK = 25


def check(seed: int) -> None:
    """One workload, run at once and in batches with a restored snapshot between them."""
    rng = Random(seed)
    text = "\n".join(text_terms.random_text_query(rng, f"q{i}") for i in range(rng.choice((1, 2, 3))))
    events = text_terms.random_events(rng, rng.randint(0, 14))
    table = text_terms.to_table(events)
    workload = Workload.parse(text)
    plan = optimize(workload, text_terms.SCHEMA, rng.choice(("none", "share")))
    whole = run(plan, table)
    engine, parts = Engine(plan), []
    for batch in in_batches(rng, table):
        parts.append(engine.push(batch))
        if rng.random() < 0.3:
            engine = Engine.restore(plan, engine.snapshot())
    parts.append(engine.flush())
    for query in workload.bind(text_terms.SCHEMA).detections:
        expected = oracle.matches(query, events)
        assert_same_matches(matches_of(whole[query.name], query), expected, f"{seed}\n{text}")
        found = [match for part in parts for match in matches_of(part[query.name], query)]
        assert_same_matches(found, expected, f"{seed} in batches\n{text}")


@pytest.mark.parametrize("first", range(SEED, SEED + WORKLOADS, CHUNK))
def test_random_text_queries_find_what_the_oracle_finds(first: int) -> None:
    for seed in range(first, min(first + CHUNK, SEED + WORKLOADS)):
        check(seed)


@pytest.mark.parametrize("form", ["STARTS_WITH(a.s, '{}')", "ENDS_WITH(a.s, '{}')", "a.s CONTAINS '{}'"])
def test_alike_rules_about_texts_are_judged_by_distinct_texts(form: str) -> None:
    """A template would hold every event against the constant of every rule."""
    text = "".join(f"QUERY q{i} PATTERN A a WHERE {form.format(i)} WITHIN 1 s;\n" for i in range(100))
    bound = Workload.parse(text).bind(text_terms.SCHEMA)
    assert (len(bound.detections), bound.templates) == (100, ())
    lines = enumerate(text.splitlines())
    numbered = "\n".join(line.replace("WHERE", f"WHERE a.n = {i} AND") for i, line in lines)
    assert len(Workload.parse(numbered).bind(text_terms.SCHEMA).templates) == 1  # found by the number


def test_many_prefixes_are_looked_up_at_once() -> None:
    """LIKE 'ab%' and STARTS_WITH are equalities of the beginning, which the index of scans sorts once."""
    rng = Random(5)
    texts = [
        rng.choice((None, "", *("".join(rng.choices("ab%é𝄞", k=n)) for n in (1, 2, 3, 4))))
        for _ in range(300)
    ]
    table = pa.table(
        {
            "ts": pa.array(range(300), pa.timestamp("us")),
            "type": ["A"] * 300,
            "s": pa.array(texts, pa.string()),
        }
    )
    prefixes = ["ab", "é𝄞", "aa", "ba", "b𝄞", "éa", "a", "b", "é", "𝄞", "ab%"]
    terms = [f"STARTS_WITH(a.s, '{one}')" for one in prefixes]
    terms[::2] = [f"a.s LIKE '{one.replace('%', '!%')}%' ESCAPE '!'" for one in prefixes[::2]]
    terms += ["LOWER(a.s) = 'ab'", "LOWER(a.s) = 'ba'", "LOWER(a.s) IN ('a', 'b')", "LOWER(a.s) = 'é'"]
    text = "\n".join(f"QUERY q{i} PATTERN A a WHERE {term} WITHIN 1 us;" for i, term in enumerate(terms))
    plan = optimize(Workload.parse(text), Schema.of(table.schema), "none")
    scans = [(number, op.stream) for number, op in enumerate(plan.ops) if isinstance(op, Scan)]
    plain, looked = _divide(scans, Strings())
    assert len(looked) == 3  # two characters, one, and LOWER
    assert len(plain) == 1  # three
    found = run(plan, table)
    for i, one in enumerate(prefixes):
        expected = [n for n, other in enumerate(texts) if other is not None and other.startswith(one)]
        assert sorted(found[f"q{i}"]["a"].to_pylist()) == expected, one
    assert sorted(found[f"q{len(prefixes) + 2}"]["a"].to_pylist()) == [
        n for n, one in enumerate(texts) if one in ("a", "b")
    ]


def test_parts_of_texts_are_cut_alike_by_arrow_and_one_by_one() -> None:
    strings = Strings()
    texts = ["", "a", "é𝄞b", "abcdef"]
    for start in (-2, 0, 1, 2, 3, 9):
        for length in (None, -1, 0, 1, 2, 9):
            given = (start,) if length is None else (start, length)
            cut = strings.texts(
                text_functions._cut(pa.array(texts), *given, strings=strings).data
            ).to_pylist()
            assert cut == [text_functions._substr(None, text, start, length) for text in texts], (
                start,
                length,
            )
