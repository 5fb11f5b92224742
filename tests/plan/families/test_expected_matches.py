"""The matches expected of a family are those that a run counts, whatever its constants are compared with."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from stretto.engine.expected_matches import expected_matches, too_many
from stretto.engine.planning import optimize
from stretto.engine.run import Engine
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.ops import Emit
from stretto.stats.profile import Stats

SIZE = 3_000
FACTOR, FEW = 3.0, 10
"""How far an estimate may be from the count, and matches that it may be off in any case."""
WHERE = {
    "first": "a.x = {c}",
    "both": "a.x = {c} AND b.y = {d}",
    "same": "a.x = {c} AND b.x = {c}",
    "joined": "a.x = {c} AND b.x = a.x",
    "ranges": "a.v > {low} AND b.v < {high}",
    "equal and range": "a.x = {c} AND b.v < {high}",
    "texts": "a.s = {text} AND b.y = {d}",
    "same text": "a.s = {text} AND b.s = {text}",
    "like": "a.s LIKE {pattern} AND b.y = {d}",
    "two of one event": "a.x = {c} AND a.y = {d} AND b.v < {high}",
    "differences": "b.v - a.v > {low}",
}


def values(count: int, seed: int, skewed: bool) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.minimum(rng.zipf(1.3, count), 400) if skewed else rng.integers(0, 400, count)


def texts(numbers: np.ndarray) -> list[str]:
    return [f"host{number}" for number in numbers.tolist()]


def events_of(skewed: bool, size: int = SIZE) -> pa.Table:
    rng = np.random.default_rng(1)
    x = values(size, 2, skewed)
    return pa.table(
        {
            "ts": pa.array(np.arange(size) * 100_000, pa.timestamp("us")),
            "type": rng.choice(["A", "B", "C"], size),
            "x": x,
            "y": values(size, 3, skewed),
            "s": texts(x),
            "v": rng.random(size) * 100,
        }
    )


EVENTS = {skewed: events_of(skewed) for skewed in (False, True)}


def constants(count: int, skewed: bool) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    limits = np.round(rng.random(count) * 20, 3)
    c = values(count, 5, skewed)
    rows = {"c": c, "d": values(count, 6, skewed), "low": 80 + limits, "high": limits}
    return rows | {"text": np.array(texts(c)), "w": 1 + np.arange(count) % 5}


def alike(where: str, count: int, skewed: bool) -> Workload:
    """Queries that were written one by one."""
    rows = constants(count, skewed)
    queries = []
    for number in range(count):
        row = {name: column[number] for name, column in rows.items()}
        row |= {"text": f"'{row['text']}'", "pattern": f"'{row['text']}%'"}
        window = f"{row.pop('w')} SECONDS"
        queries.append(f"QUERY q{number} PATTERN SEQ(A a, B b) WHERE {where.format(**row)} WITHIN {window};")
    return Workload.parse("\n".join(queries))


def each(where: str, count: int, skewed: bool, tail: str = "WITHIN r.w") -> Workload:
    """The rows of a table."""
    rows = constants(count, skewed)
    columns = {**rows, "w": pa.array(rows["w"] * 1_000_000, pa.duration("us"))}
    names = {name: f"r.{name}" for name in rows}
    text = f"QUERY q FOR EACH rows r PATTERN SEQ(A a, B b) WHERE {where.format(**names)} {tail};"
    return Workload.parse(text).table("rows", pa.table(columns))


def templates(plan: Plan) -> int:
    return sum(isinstance(op, Emit) and op.route is not None and not op.route.alone for op in plan.ops)


def check(workload: Workload, events: pa.Table, optimizer: str, factor: float = FACTOR) -> Plan:
    stats = Stats.of(events)
    plan = optimize(workload, stats, optimizer)
    expected = sum(expected_matches(plan, stats.seconds).values())
    engine = Engine(plan)
    counted = len(engine.push(events)) + len(engine.flush())
    assert counted / factor - FEW < expected < factor * counted + FEW, (expected, counted)
    return plan


@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize("where", [where for name, where in WHERE.items() if name != "like"])
def test_rows_of_a_table(where: str, skewed: bool) -> None:
    assert templates(check(each(where, 1_000, skewed), EVENTS[skewed], "auto"))


@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize("where", WHERE.values(), ids=WHERE)
def test_alike_queries(where: str, skewed: bool) -> None:
    check(alike(where, 100, skewed), EVENTS[skewed], "auto")


@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize("where", WHERE.values(), ids=WHERE)
def test_alike_queries_that_are_planned_one_by_one(where: str, skewed: bool) -> None:
    assert not templates(check(alike(where, 100, skewed), EVENTS[skewed], "none"))


@pytest.mark.parametrize(
    "tail", ["WITHIN r.w SELECT NEXT", "WITHIN 20 EVENTS", "WITHIN 2 SECONDS SELECT STRICT"]
)
@pytest.mark.parametrize("where", ["a.x = {c}", "a.x = {c} AND b.v < {high}"])
def test_other_policies_and_windows(where: str, tail: str) -> None:
    check(each(where, 1_000, False, tail), EVENTS[False], "auto")


@pytest.mark.parametrize("where", ["a.x = {c} AND b.y = {d}", "b.v - a.v > {low}"])
def test_a_table_without_rows_has_no_matches(where: str) -> None:
    check(each(where, 0, skewed=False), EVENTS[False], "auto")


@pytest.mark.parametrize("make", [alike, each])
def test_many_alike_queries_of_few_matches_are_no_reason_for_a_warning(
    make: Callable[[str, int, bool], Workload],
) -> None:
    events, workload = EVENTS[False], make("a.s = {text} AND b.y = {d}", 4_000, False)
    plan = check(workload, events, "auto")
    assert templates(plan)
    assert not list(too_many(plan, events.num_rows, Stats.of(events).seconds, 1 << 30))


def test_families_are_warned_about_by_the_mean_of_their_members() -> None:
    stats = Stats.of(events_of(skewed=False, size=2 * SIZE))
    wide = optimize(each("a.v > {high}", 3, False, "WITHIN 1 HOUR"), stats)
    narrow = optimize(each("a.v > {high}", 200, False, "WITHIN 10 SECONDS"), stats)
    # The members of `narrow` have more matches together than those of `wide`, but few each.
    assert sum(expected_matches(narrow, stats.seconds).values()) > 2e6
    assert not list(too_many(narrow, 1_500, stats.seconds))
    (remark,) = too_many(wide, 1_500, stats.seconds)
    assert "for each of 3 alike queries on average" in remark.text
