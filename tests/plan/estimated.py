"""Two plans of one workload made by hand, with estimates: `q1`, `q2` share SEQ(A, B) in one, nothing in the other."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from stretto.explain.model import Estimate
from stretto.pattern.nodes import Stream, Window
from stretto.pattern.piece import Piece
from stretto.pattern.predicates import Apply, Const, Expr, Ref
from stretto.pattern.project import rearrange
from stretto.pattern.workload import Workload
from stretto.plan.check import check
from stretto.plan.dag import Plan
from stretto.plan.ops import Emit, Filter, Join, Op, Scan
from stretto.plan.record import Computed, Record
from stretto.schema import Kind, Schema

WINDOW, NARROW = Window(60_000_000), Window(5_000_000)
SCHEMA = Schema({"x": Kind.FLOAT, "s": Kind.STRING})


def x(column: int) -> Ref:
    return Ref(column, "x", Kind.FLOAT)


def ts(column: int) -> Ref:
    return Ref(column, "ts", Kind.TIME)


def less(left: Expr, right: Expr) -> Expr:
    return Apply("<", (left, right), Kind.BOOL)


BIG = Stream("A", (less(Const(100.0, Kind.FLOAT), x(0)),))
QUOTED = Apply("=", (Ref(0, "s", Kind.STRING), Const('"<#>"', Kind.STRING)), Kind.BOOL)


def emit(query: str, part: int, variables: tuple[str, ...], columns: tuple[int, ...]) -> Emit:
    plain = (False,) * len(variables)
    return Emit(query, variables, plain, (part,), (columns,), (False,), WINDOW)


SHARED_OPS: tuple[Op, ...] = (
    Scan(BIG),
    Scan(Stream("B")),
    Join(0, 1, WINDOW, "before", (less(x(0), x(1)),)),
    Filter(2, (), NARROW),
    emit("q1", 3, ("a", "b"), (0, 1)),
    Scan(Stream("C")),
    Join(2, 5, WINDOW, "before"),
    emit("q2", 6, ("a", "b", "c"), (0, 1, 2)),
)
ALONE_OPS: tuple[Op, ...] = (
    Scan(BIG),
    Scan(Stream("B")),
    Join(0, 1, NARROW, "before", (less(x(0), x(1)),)),
    emit("q1", 2, ("a", "b"), (0, 1)),
    Scan(Stream("C")),
    Join(0, 4, WINDOW, "before"),
    Join(5, 1, WINDOW, "any", (less(ts(0), ts(2)), less(ts(2), ts(1)), less(x(0), x(2)))),
    emit("q2", 6, ("a", "c", "b"), (0, 1, 2)),
)


def piece(pattern: str) -> Piece:
    """The piece of a pattern with its conditions and window; its columns are as written."""
    (found,) = Workload.parse(f"QUERY q PATTERN {pattern};").bind(SCHEMA).normal_forms()
    (branch,) = found.branches
    return branch.piece


def plan(
    ops: tuple[Op, ...],
    optimizer: str,
    estimate: Estimate | None = None,
    pieces: Mapping[int, str | Piece] = MappingProxyType({}),
    figures: Mapping[int, tuple[float, float]] = MappingProxyType({}),
) -> Plan:
    """A plan by the rules rule_0, rule_1, ..; scans need no piece. `figures` are rows and costs."""
    queries = {op.query: number for number, op in enumerate(ops) if isinstance(op, Emit)}
    records = []
    for number, op in enumerate(ops):
        computed = Computed.event(op.stream) if isinstance(op, Scan) else None
        if number in pieces:
            given = pieces[number]
            computed = Computed.whole(piece(given) if isinstance(given, str) else given)
        records.append(Record(f"rule_{number}", computed, *figures.get(number, ())))
    return check(Plan(ops, queries, tuple(records), SCHEMA, optimizer, estimate))


def without_figures(found: Plan) -> Plan:
    """The same plan as if there were no statistics."""
    records = tuple(replace(record, rows=None, cost=None) for record in found.records)
    return replace(found, records=records, estimate=None)


def numbered(rows: tuple[float, ...], costs: tuple[float, ...]) -> dict[int, tuple[float, float]]:
    return dict(enumerate(zip(rows, costs, strict=True)))


ABC = "SEQ(A a, B b, C c) WHERE a.x > 100.0 AND a.x < b.x WITHIN 1 MINUTE"
AB = "SEQ(A a, B b) WHERE a.x > 100.0 AND a.x < b.x WITHIN"
SHARED = plan(
    SHARED_OPS,
    "auto",
    Estimate(
        cost=1_520_000.0,
        alone=21_280_000.0,
        lower_bound=1_513_920.0,
        seconds=0.31,
        events=5_000,
        rate=2_500.0,
    ),
    {
        2: f"{AB} 1 MINUTE",
        3: f"{AB} 5 s",
        6: ABC,
    },
    numbered(
        (1200.0, 340.0, 12.5, 0.4, 0.4, 8.0, 0.0003),
        (12_000.0, 3_400.0, 1_500_000.0, 200.0, 50.0, 80.0, 4_270.0),
    ),
)
ALONE = plan(
    ALONE_OPS,
    "none",
    Estimate(
        cost=21_280_000.0, alone=21_280_000.0, lower_bound=None, seconds=0.002, events=5_000, rate=2_500.0
    ),
    {
        2: f"{AB} 5 s",
        5: "SEQ(A a, C c) WHERE a.x > 100.0 WITHIN 1 MINUTE",
        6: rearrange(piece(ABC), (0, 2, 1)),
    },
    numbered(
        (1200.0, 340.0, 0.4, 0.4, 8.0, 900.0, 0.0003),
        (12_000.0, 3_400.0, 280_000.0, 50.0, 80.0, 20_000_000.0, 984_470.0),
    ),
)
