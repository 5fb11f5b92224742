"""Two plans of one workload made by hand, with estimates: `q1`, `q2` share SEQ(A, B) in one, nothing in the other."""

from stretto.pattern.nodes import Stream, Window
from stretto.pattern.predicates import Apply, Const, Expr, Ref
from stretto.plan.check import check
from stretto.plan.dag import Estimate, Plan
from stretto.plan.ops import Emit, Filter, Join, Op, Scan
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


def plan(ops: tuple[Op, ...], optimizer: str, estimate: Estimate | None = None) -> Plan:
    queries = {op.query: number for number, op in enumerate(ops) if isinstance(op, Emit)}
    return check(Plan(ops, queries, tuple(f"rule_{i}" for i in range(len(ops))), SCHEMA, optimizer, estimate))


SHARED = plan(
    SHARED_OPS,
    "auto",
    Estimate(
        rows=(1200.0, 340.0, 12.5, 0.4, 0.4, 8.0, 0.0003, None),
        costs=(12_000.0, 3_400.0, 1_500_000.0, 200.0, 50.0, 80.0, 4_270.0, None),
        cost=1_520_000.0,
        alone=21_280_000.0,
        lower_bound=1_513_920.0,
        seconds=0.31,
    ),
)
ALONE = plan(
    ALONE_OPS,
    "none",
    Estimate(
        rows=(1200.0, 340.0, 0.4, 0.4, 8.0, 900.0, 0.0003, None),
        costs=(12_000.0, 3_400.0, 280_000.0, 50.0, 80.0, 20_000_000.0, 984_470.0, None),
        cost=21_280_000.0,
        alone=21_280_000.0,
        lower_bound=None,
        seconds=0.002,
    ),
)
