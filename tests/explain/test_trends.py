import json
from pathlib import Path

import pytest
from tests.support.golden import Golden
from tests.trends.planned import trend_plan
from tests.trends.shapes import figure_queries, parsed, trend

from stretto.explain.json import explanation_json
from stretto.explain.mermaid import to_mermaid
from stretto.explain.model import Explanation
from stretto.explain.text import explanation_text, label
from stretto.plan.dag import Plan
from stretto.plan.explanation import explanation
from stretto.schema import Schema
from stretto.trends.plan import TrendPlan

GOLDEN = Path(__file__).parents[1] / "golden" / "trends"


def figure_plan() -> TrendPlan:
    return trend_plan(figure_queries(), None, "muse")


def mixed_plan() -> TrendPlan:
    queries = parsed("""
        QUERY rising PATTERN SEQ(A a, B b+) WHERE b[i].x > b[i-1].x GROUP BY k WITHIN 10 s RETURN COUNT(*);
        QUERY again PATTERN SEQ(C c, B b+) WHERE b[i].x > b[i-1].x GROUP BY k WITHIN 10 s RETURN SUM(b.x);
        QUERY twice PATTERN SEQ(B b, A a, B c+)+ WHERE a.y > 1.5 WITHIN 10 s RETURN COUNT(*);
        QUERY slid PATTERN SEQ(A a, D d+) WITHIN 60 s SLIDE 1 s RETURN COUNT(*), MIN(d.x);
        QUERY odd PATTERN (B b+)+ WHERE b[i].x > b[i-1].x AND FIRST(b).y > 3 WITHIN 10 s RETURN COUNT(*);
    """)
    return trend_plan(queries, None, "auto")


def explained(trends: TrendPlan) -> Explanation:
    return explanation(Plan((), {}, (), Schema({}), trends.optimizer, trends=trends))


@pytest.mark.parametrize("plan", [figure_plan, mixed_plan], ids=["figure", "mixed"])
def test_golden(plan: object, request: pytest.FixtureRequest, golden: Golden) -> None:
    name = request.node.callspec.id
    found = explained(figure_plan() if name == "figure" else mixed_plan())
    golden.check(GOLDEN / f"{name}.plan", explanation_text(found))
    golden.check(GOLDEN / f"{name}.mmd", to_mermaid(found))
    golden.check(GOLDEN / f"{name}.json", json.dumps(explanation_json(found), indent=2) + "\n")


def test_the_labels_of_figure_1() -> None:
    shared, alone = explained(figure_plan()), explained(trend_plan(figure_queries(), None, "greta"))
    assert [label(edge) for edge in shared.edges] == ["(q1, q2, q3)", "(q2)(q3)", "(q3)"]
    assert [label(edge) for edge in alone.edges] == ["(q1)(q2)(q3)", "(q2)(q3)", "(q3)"]
    assert "MP:B" in explanation_text(shared)
    assert "MP" not in explanation_text(alone)


def test_hundreds_of_queries_are_counted() -> None:
    queries = [trend(("seq", f"T{number}", ("+", "B")), f"q{number}") for number in range(300)]
    (loop,) = (edge for edge in explained(trend_plan(queries, None)).edges if edge.loop)
    assert label(loop) == "(q0, q1, q2 and 297 more)"
    (loop,) = (edge for edge in explained(trend_plan(queries, None, "none")).edges if edge.loop)
    assert label(loop) == "(q0)(q1)(q2)(q3) and 296 more"
