"""A memo in figures."""

import json

import pytest

from stretto.errors import StrettoError
from stretto.explain.memo_stage import describe, memo_as, memo_json, memo_text
from stretto.memo.explore import Rules, explore
from stretto.memo.memo import Memo, build_memo
from stretto.memo.rules.join_left_to_right import join_left_to_right
from stretto.memo.rules.split_in_two import split_in_two
from stretto.memo.ways import Way
from stretto.pattern.workload import Workload
from stretto.schema import Kind, Schema

SCHEMA = Schema({"x": Kind.FLOAT})
WORKLOAD = """
QUERY q1 PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 10 s;
QUERY q2 PATTERN SEQ(A a, B b, D d) WHERE a.x < b.x WITHIN 10 s;
QUERY q3 PATTERN SEQ(A p, B q) WHERE p.x < q.x WITHIN 10 s;
QUERY q4 PATTERN SEQ(A a, B b) WITHIN 5 s;
"""


class Flat:
    """Every piece has as many rows as slots, every way costs as many microseconds as it has inputs."""

    def rows(self, memo: Memo, number: int) -> float:
        return float(len(memo.pieces[number].slots))

    def cost(self, memo: Memo, number: int, way: Way) -> float:
        return 1000.0 * len(way.inputs)


def memo_of(text: str) -> Memo:
    memo = build_memo(Workload.parse(text).bind(SCHEMA).normal_forms())
    explore(memo, Rules((join_left_to_right, split_in_two)))
    return memo


def test_text() -> None:
    assert (
        memo_text(memo_of(WORKLOAD), Flat())
        == """\
memo of 4 queries: 12 pieces, 18 ways to compute them, 30 inputs of ways

slots  pieces  for several queries
1           4                    2
2           6                    1
3           2                    0

rule                ways
join_left_to_right     4
scan_stream            4
split_in_two          10

most shared of 3 pieces that could serve several queries, single events apart:
  SEQ(A c0, B c1) where c0.x < c1.x within 10s  1 way, 2/s, 2,000 partial matches/s at least  for 3: q1, q2, q3
"""
    )


def test_json() -> None:
    read = json.loads(memo_as(memo_of(WORKLOAD), Flat(), "json"))
    assert read["queries"] == 4
    assert read["pieces"]["all"] == 12
    assert read["pieces"]["by_slots"][1] == {"slots": 2, "pieces": 6, "shared": 1}
    assert read["ways"]["by_rule"]["split_in_two"] == 10
    (shared,) = read["most_shared"]
    assert shared["piece"] == "SEQ(A c0, B c1) where c0.x < c1.x within 10s"
    assert (shared["queries"], shared["rows"], shared["cost"]) == (["q1", "q2", "q3"], 2.0, 2000.0)


def test_without_a_pricing_there_are_no_figures() -> None:
    memo = memo_of(WORKLOAD)
    assert memo_json(memo)["most_shared"][0]["rows"] is None
    assert "SEQ(A c0, B c1) where c0.x < c1.x within 10s  1 way  for 3: q1, q2, q3\n" in memo_text(memo)


def test_nothing_shared() -> None:
    text = memo_text(memo_of("QUERY q PATTERN SEQ(A a, B b) WITHIN 5 s;"))
    assert "most shared" not in text


def test_many_queries_are_counted() -> None:
    text = "\n".join(f"QUERY q{i} PATTERN SEQ(A a, B b, T{i} t) WITHIN 5 s;" for i in range(30))
    found = describe(memo_of(text), most=1)
    assert len(found.most_shared) == 1
    assert found.most_shared[0].queries == tuple(f"q{i}" for i in range(30))
    assert "for 30: q0, q1, q2, q3 and 26 more\n" in memo_text(memo_of(text))


def test_the_ways_of_repetitions_count_too() -> None:
    memo = memo_of("QUERY q1 PATTERN SEQ(A a, B b+) WITHIN 5 s; QUERY q2 PATTERN SEQ(A a, B b) WITHIN 5 s;")
    (shared,) = describe(memo).most_shared
    assert shared.queries == ("q1", "q2")


def test_formats() -> None:
    with pytest.raises(StrettoError, match="unknown format `mermaid` of EXPLAIN"):
        memo_as(memo_of(WORKLOAD), None, "mermaid")
