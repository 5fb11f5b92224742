"""Labels: piece, conditions and window of every operator."""

from tests.plan.estimated import SHARED, WINDOW, emit, less, plan, ts, x

from stretto.pattern.nodes import Stream, Window
from stretto.pattern.piece import Place
from stretto.pattern.predicates import Apply, Expr
from stretto.plan.labels import labels
from stretto.plan.ops import Emit, Filter, Forbid, Join, Next, Repeat, Scan, Union
from stretto.schema import Kind


def either(left: Expr, right: Expr) -> Expr:
    return Apply("or", (left, right), Kind.BOOL)


def test_labels_of_joins_and_filters() -> None:
    assert labels(SHARED) == (
        "A c0 where 100.0 < c0.x",
        "B c0",
        "SEQ(A c0, B c1) where 100.0 < c0.x AND c0.x < c1.x within 1m",
        "SEQ(A c0, B c1) where 100.0 < c0.x AND c0.x < c1.x within 5s",
        "SEQ(A a, B b)",
        "C c0",
        "SEQ(A c0, B c1, C c2) where 100.0 < c0.x AND c0.x < c1.x within 1m",
        "SEQ(A a, B b, C c)",
    )


def test_labels_of_all_that_grows_and_forbids() -> None:
    ops = (
        Scan(Stream("A")),
        Scan(Stream("B", (Apply("=", (x(0), x(0)), Kind.BOOL),))),
        Scan(Stream("N", (less(x(0), x(0)),))),
        Join(1, 0, WINDOW, "any", (less(ts(1), ts(0)), either(less(x(0), x(1)), less(x(1), x(0))))),
        Repeat(
            *(3, 1, (0,), 1, None, WINDOW),
            terms=(less(ts(1), ts(2)), less(x(1), x(2))),
            adjacent=(less(x(2), x(3)),),
            start=(less(x(1), x(2)),),
        ),
        Forbid(4, 2, Place.BETWEEN, WINDOW, (1,), (0,), (less(x(1), x(2)),)),
        Next((0, 1), ((1, 1), (1, None)), Window(10, "events"), (less(x(0), x(1)),)),
        Union((5, 6), ((1, 0), (0, 1)), 2, (False, True), distinct=True),
        Filter(7, (less(x(0), x(0)),)),
        Emit("q", ("a", "b"), (False, True), (8,), ((0, 1),), (False,), WINDOW),
    )
    found = labels(plan(ops, "none"))
    assert found[1] == "B c0"
    assert found[3] == "SEQ(A c1, B c0) where (c0.x < c1.x OR c1.x < c0.x) within 1m"
    assert found[4] == (
        "SEQ(A c1, B c0+) where (c0.x < c1.x OR c1.x < c0.x) AND c1.x < c0.x"
        " AND c0[i-1].x < c0[i].x AND c1.x < FIRST(c0).x within 1m"
    )
    assert found[5].startswith("SEQ(A c1, B c0+) without N between c1 and c0 where")
    assert found[5].endswith("AND N.x < N.x AND c1.x < N.x within 1m")
    assert found[6] == "NEXT SEQ(A c0, B c1+) where c0.x < c1.x within 10 events"
    assert found[7].startswith("OR(")
    assert "c0.x < FIRST(c1).x" in found[7]
    assert found[8].endswith("AND c0.x < c0.x")
    assert found[9].startswith("OR(")


def test_an_event_alone_has_no_window() -> None:
    ops = (Scan(Stream("A")), emit("q", 0, ("a",), (0,)))
    assert labels(plan(ops, "none")) == ("A c0", "A a")
