"""Trend queries from short shapes, random ones too: "B", ("+", shape), ("seq", shape, shape, ...)."""

from typing import Any

from hypothesis import strategies as st

from stretto.pattern.nodes import Aggregate, Atom, Combine, Pattern, Repeat, Stream, TrendQuery, Variable
from stretto.pattern.workload import Workload
from stretto.schema import Kind, Schema

SCHEMA = Schema({"x": Kind.INT, "y": Kind.FLOAT, "k": Kind.STRING}, frozenset("ABCD"))
COUNT = Aggregate("COUNT(*)", "COUNT", None, "", Kind.INT)
SECOND = 1_000_000

B_PLUS = ("+", "B")
FIGURE = (B_PLUS, ("seq", "A", B_PLUS), ("+", ("seq", "A", B_PLUS)))


def pattern_of(shape: Any, variables: list[Variable], *, repeated: bool = False) -> Pattern:
    """The bound pattern; its variables are numbered in the order of the shape."""
    if isinstance(shape, str):
        variables.append(Variable(f"v{len(variables)}", kleene=repeated))
        return Atom(len(variables) - 1, Stream(shape))
    if shape[0] == "+":
        return Repeat(pattern_of(shape[1], variables, repeated=isinstance(shape[1], str)), 1, None)
    return Combine("SEQ", tuple(pattern_of(part, variables) for part in shape[1:]))


def trend(shape: Any, name: str = "q", **changes: Any) -> TrendQuery:
    variables: list[Variable] = []
    pattern = pattern_of(shape, variables)
    known = {
        "terms": (),
        "same": (),
        "groups": (),
        "window_us": 100 * SECOND,
        "slide_us": 100 * SECOND,
        "aggregates": (COUNT,),
        **changes,
    }
    return TrendQuery(name, pattern, tuple(variables), **known)


def figure_queries() -> list[TrendQuery]:
    """q1 = B+, q2 = SEQ(A, B+), q3 = SEQ(A, B+)+ of the paper's figures."""
    return [trend(shape, f"q{number + 1}") for number, shape in enumerate(FIGURE)]


def parsed(text: str) -> tuple[TrendQuery, ...]:
    return Workload.parse(text).bind(SCHEMA).trends


def shapes(types: str = "ABC", most: int = 5) -> st.SearchStrategy[Any]:
    """Patterns of types, SEQ and `+`, nested."""
    return st.recursive(
        st.sampled_from(types),
        lambda inner: st.one_of(
            st.tuples(st.just("+"), inner),
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: ("seq", *parts)),
        ),
        max_leaves=most,
    )
