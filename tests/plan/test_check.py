"""The checker accepts a sound plan and names the culprit of every damaged one."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from stretto.errors import PlanError
from stretto.pattern.nodes import Return, Stream, Window
from stretto.pattern.piece import Place
from stretto.pattern.predicates import Apply, Const, Expr, Reduce, Ref, Which
from stretto.plan.check import check
from stretto.plan.dag import Plan
from stretto.plan.ops import Emit, Filter, Forbid, Join, Next, Op, Repeat, Scan, Union
from stretto.plan.record import Record
from stretto.schema import Kind, Schema

WINDOW = Window(10)


def x(column: int, which: Which = Which.EACH) -> Ref:
    return Ref(column, "x", Kind.FLOAT, which)


def less(left: Expr, right: Expr) -> Expr:
    return Apply("<", (left, right), Kind.BOOL)


COUNT = less(Const(2, Kind.INT), Reduce("COUNT", 1, "", Kind.INT))

OPS: tuple[Op, ...] = (
    Scan(Stream("A", (less(x(0), Const(5.0, Kind.FLOAT)),))),
    Scan(Stream("B")),
    Scan(Stream("N")),
    Join(0, 1, WINDOW, "before", (less(x(0), x(1)),), ((0, 0),)),
    Repeat(3, 1, (1,), 1, None, WINDOW, (less(x(0), x(2)),), (less(x(2), x(3)),), (less(x(0), x(2)),)),
    Filter(4, (COUNT, less(x(1, Which.PREVIOUS), x(1, Which.CURRENT)))),
    Forbid(5, 2, Place.BETWEEN, WINDOW, (0,), (1,), (less(x(0), x(2)),), (0,)),
    Next((0, 1), ((1, 1), (1, None)), WINDOW, (less(x(1, Which.PREVIOUS), x(1, Which.CURRENT)),)),
    Union((6, 7), ((0, 1), (0, 1)), 2, (False, True), distinct=True),
    Emit("q1", ("a", "b"), (False, True), (8,), ((0, 1),), (False,), WINDOW),
    Forbid(3, 2, Place.LAST, WINDOW, after=(1,)),
    Emit(
        "q2",
        ("a", "b"),
        (False, False),
        (10, 3),
        ((0, 1), (1, 0)),
        (True, False),
        WINDOW,
        distinct=True,
        returns=(Return("y", x(0), Kind.FLOAT),),
    ),
)
PLAN = Plan(
    OPS, {"q1": 9, "q2": 11}, tuple(Record(f"rule{i}") for i in range(12)), Schema({"x": Kind.FLOAT}), "none"
)


def test_a_sound_plan_passes() -> None:
    assert check(PLAN) is PLAN


DAMAGES: list[tuple[int, dict[str, object], str]] = [
    (0, {"stream": Stream("A", (x(0),))}, "no condition but of kind double"),
    (0, {"stream": Stream("A", (less(x(0), x(1)),))}, "conditions read column 1 of 1"),
    (3, {"right": 3}, "reads operator 3, which does not stand before it"),
    (3, {"left": -1}, "reads operator -1"),
    (3, {"order": "after"}, "order is `after`"),
    (3, {"terms": (less(x(0), x(2)),)}, "terms read column 2 of 2"),
    (
        3,
        {"terms": (less(x(0), x(1, Which.CURRENT)),)},
        "neighbours of column 1, which belongs into `adjacent`",
    ),
    (3, {"distinct": ((0, 1),)}, "`distinct` names column 1 of 1"),
    (3, {"window": Window(0)}, "window is 0 us"),
    (4, {"window": Window(-3, "events")}, "window is -3 events"),
    (4, {"final": (0, 1)}, "does not name one column"),
    (4, {"final": (2,)}, "`final` names column 2 of 2"),
    (4, {"low": 0}, "bounds are"),
    (4, {"low": 3, "high": 2}, "bounds are"),
    (4, {"terms": (less(x(0), x(3)),)}, "terms read column 3 of 3"),
    (4, {"adjacent": (less(x(0), x(4)),)}, "adjacent read column 4 of 4"),
    (4, {"start": (less(x(0), x(2, Which.PREVIOUS)),)}, "start read neighbours"),
    (4, {"distinct": ((2, 0),)}, "`distinct` names column 2 of 2"),
    (5, {"terms": ()}, "neither terms"),
    (5, {"terms": (less(x(0, Which.PREVIOUS), x(0, Which.CURRENT)),)}, "column 0, which is no set"),
    (6, {"events": 3}, "`events` is operator 3, which is no Scan"),
    (6, {"before": ()}, "the place `between` does not go with"),
    (6, {"after": (2,)}, "`after` names column 2 of 2"),
    (6, {"terms": (less(x(0), x(3)),)}, "terms read column 3 of 3"),
    (6, {"distinct": (4,)}, "`distinct` names column 4 of 2"),
    (6, {"place": Place.LAST, "before": ()}, "reads rows that come out only when their interval has passed"),
    (7, {"steps": (0, 3)}, "`steps` is operator 3, which is no Scan"),
    (7, {"steps": ()}, "has no inputs"),
    (7, {"bounds": ((1, 1),)}, "2 steps with 1 bounds"),
    (7, {"bounds": ((1, 1), (2, 1))}, "a step's bounds are (2, 1)"),
    (7, {"bounds": ((1, 1), (1, 1))}, "column 1, which is no set"),
    (8, {"columns": ((0, 0), (0, 1))}, "two columns of operator 6 become one"),
    (8, {"columns": ((0,), (0, 1))}, "operator 6 has 2 columns, 1 are mapped"),
    (8, {"columns": ((0, 1),)}, "2 parts, but columns for 1"),
    (8, {"columns": ((0, 1), (0, 2))}, "`columns` names column 2 of 2"),
    (8, {"sets": (False, False)}, "becomes column 1, which is single"),
    (8, {"width": 3}, "width is 3"),
    (9, {"kleene": (False, False)}, "a set of operator 8 becomes column 1, which is single"),
    (9, {"kleene": (False,)}, "2 variables, but `kleene` has 1"),
    (9, {"variables": ("a", "a")}, "two of its variables have one name"),
    (9, {"waits": (True,)}, "`waits` is (True,)"),
    (9, {"waits": ()}, "1 parts, but `waits` has 0"),
    (9, {"query": "q2"}, "emits query q2, which is answered by 11"),
    (11, {"parts": (3, 9)}, "reads operator 9, an Emit"),
    (11, {"parts": (3, 3), "waits": (False, False)}, "no operator reads it"),
    (11, {"returns": (Return("y", x(2), Kind.FLOAT),)}, "RETURN y reads variable 2 of 2"),
    (11, {"returns": (Return("y", x(1, Which.CURRENT), Kind.FLOAT),)}, "RETURN y reads neighbours"),
]


@pytest.mark.parametrize(("number", "changes", "message"), DAMAGES)
def test_a_damaged_operator_is_named(number: int, changes: dict[str, object], message: str) -> None:
    damaged = replace(OPS[number], **changes)
    plan = replace(PLAN, ops=(*OPS[:number], damaged, *OPS[number + 1 :]))
    with pytest.raises(PlanError, match=re.escape(message)) as raised:
        check(plan)
    assert re.search(r"operator (\d+) \(\w+, because rule\1\)", str(raised.value))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda plan: replace(plan, records=plan.records[1:]), "11 records"),
        (lambda plan: replace(plan, queries={"q1": 9}), "emits query q2, which is answered by None"),
        (
            lambda plan: replace(plan, queries={**plan.queries, "q3": 11}),
            "answered by operator 11, which is not its Emit",
        ),
        (lambda plan: replace(plan, queries={**plan.queries, "q3": 3}), "operator 3, which is not its Emit"),
        (lambda plan: replace(plan, ops=(*plan.ops[:2], Op(), *plan.ops[3:])), "not an operator"),
    ],
)
def test_a_damaged_plan_is_refused(change: Callable[[Plan], Plan], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        check(change(PLAN))


def test_shapes_readers_and_horizons() -> None:
    assert [PLAN.width(i) for i in range(12)] == [1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2]
    assert PLAN.sets(3) == (False, False)
    assert PLAN.sets(6) == PLAN.sets(7) == PLAN.sets(8) == (False, True)
    assert PLAN.readers(1) == (3, 4, 7)
    assert PLAN.serves(0) == ("q1", "q2")
    assert PLAN.serves(4) == ("q1",)
    assert PLAN.serves(11) == ("q2",)
    assert (PLAN.horizon_us, PLAN.horizon_events) == (10, 0)
    assert PLAN.attributes() == {"x"}
    assert PLAN.specials() == frozenset()
