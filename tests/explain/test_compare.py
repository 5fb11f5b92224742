"""Two plans side by side."""

import json

import pytest
from tests.plan.estimated import ALONE, SHARED, emit, plan, without_figures

from stretto.errors import StrettoError
from stretto.explain.compare import ComputedBy, PlanComparison, compare, comparison_json
from stretto.explain.compare_text import SHOWN, comparison_text
from stretto.pattern.nodes import Stream
from stretto.plan.dag import Plan
from stretto.plan.explanation import explanation
from stretto.plan.ops import Op, Scan


def diff(left: Plan, right: Plan) -> PlanComparison:
    return compare(explanation(left), explanation(right))


def test_text() -> None:
    assert (
        comparison_text(diff(ALONE, SHARED))
        == """\
none and auto: two plans for 2 queries

                                    none    auto
CPU time for these 5,000 events    43 ms    3 ms  0.071x
may still be saved               unknown    0.4%
time to plan                        2 ms  310 ms
operators                              8       8
  emit                                 2       2
  filter                               0       1
  join                                 3       2
  scan                                 3       3
  for several queries                  2       3

only none computes (1 piece):
  SEQ(A[x > 100] c0, C c1) within 1m  1,800 rows, 40 ms  for q2

only auto computes (1 piece):
  SEQ(A[x > 100] c0, B c1) where c0.x < c1.x within 1m  25 rows, 3 ms  for q1, q2

both compute 5 pieces

CPU time of all operators a query needs, and its share of them:
        none  its share  auto  its share
  q2   42 ms      42 ms  3 ms     1.5 ms
  q1  591 us     576 us  3 ms     1.5 ms
"""
    )


def test_pieces_both_compute_may_be_shared_further() -> None:
    twice: tuple[Op, ...] = (*(Scan(Stream("A")), emit("q1", 0, ("a",), (0,)), emit("q2", 0, ("b",), (0,))),)
    apart: tuple[Op, ...] = (
        *(Scan(Stream("A")), Scan(Stream("A")), emit("q1", 0, ("a",), (0,)), emit("q2", 1, ("b",), (0,))),
    )
    found = diff(plan(apart, "none"), plan(twice, "share"))
    assert found.both()[0].left == ComputedBy((0, 1), ("q1", "q2"), 1, None, None)
    text = comparison_text(found)
    assert "both compute 1 piece\n  1 of them share shares among more queries:\n" in text
    assert "    A c0  2 instead of 1 by each of 2 operators\n" in text
    assert "operators a query needs, and those of them that serve no other:" in text
    assert "CPU time" not in text


def test_json_holds_everything() -> None:
    read = json.loads(json.dumps(comparison_json(diff(ALONE, SHARED))))
    assert list(read) == ["left", "right", "pieces", "queries"]
    assert read["left"]["optimizer"] == "none"
    assert read["right"]["kinds"] == {"emit": 2, "filter": 1, "join": 2, "scan": 3}
    only = [piece for piece in read["pieces"] if piece["left"] is None]
    assert [piece["piece"] for piece in only] == ["SEQ(A[x > 100] c0, B c1) where c0.x < c1.x within 1m"]
    assert only[0]["right"] == {"operators": [2], "serves": ["q1", "q2"], "rows": 12.5, "cost": 1_500_000.0}
    query = read["queries"]["q1"]["right"]
    assert query["operators"] == [0, 1, 2, 3, 4]
    assert query["pieces"][-1] == "SEQ(A[x > 100] c0, B c1) where c0.x < c1.x within 5s"
    assert query["share"] == pytest.approx((12_000 + 3_400 + 1_500_000) / 2 + 250)


def test_a_plan_and_itself() -> None:
    found = diff(SHARED, SHARED)
    assert not found.only_left()
    assert not found.only_right()
    text = comparison_text(found)
    assert text.startswith("auto (1) and auto (2): two plans")
    assert "only auto" not in text
    assert " more queries" not in text


def test_long_lists_are_cut() -> None:
    count = SHOWN + 3

    def wide(prefix: str) -> tuple[Op, ...]:
        scans = [Scan(Stream(f"{prefix}{i}")) for i in range(count)]
        return (*scans, *(emit(f"q{i}", i, ("a",), (0,)) for i in range(count)))

    text = comparison_text(diff(plan(wide("A"), "one"), plan(wide("B"), "two")))
    assert text.count("  .. and 3 more\n") == 3


def test_plans_of_different_queries_are_refused() -> None:
    other = plan((Scan(Stream("A")), emit("q9", 0, ("a",), (0,))), "none")
    with pytest.raises(StrettoError, match="their queries differ"):
        diff(SHARED, other)


def test_one_side_without_an_estimate() -> None:
    text = comparison_text(diff(without_figures(ALONE), SHARED))
    assert "CPU time for" not in text
    assert "25 rows, 3 ms  for q1, q2" in text
