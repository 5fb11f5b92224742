"""KEEP and LIMIT under every order of joins, by compiled loops, by their twins, and by twins that loops take over from.

Short streams are judged by the oracle. Streams of thousands of events are judged by a plain walk over all matches,
which the plan of `none` finds without KEEP and LIMIT.

STRETTO_ORDERS says how many random workloads are tried on short streams, STRETTO_LONG on long ones, STRETTO_EVENTS how
long these are, and STRETTO_SEED from which seed on; a failure names the seed.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.support.comparison import assert_same_matches, matches_of
from tests.support.join_orders import join_trees, plan_of_any_joins, rates_of_every_order
from tests.support.keeps import Keep, Matrix, random_keep, reported, rows_of
from tests.support.loops import LONG as LATE
from tests.support.loops import WAYS, loops
from tests.support.random_events import in_batches

from stretto import Engine, Schema, Stats, Workload, optimize, oracle
from stretto.engine.operators import join
from stretto.engine.rows import band
from stretto.oracle.detections import Event
from stretto.plan.dag import Plan
from stretto.schema import Kind

WORKLOADS = int(os.environ.get("STRETTO_ORDERS", "60"))
LONG = int(os.environ.get("STRETTO_LONG", "12"))
EVENTS = int(os.environ.get("STRETTO_EVENTS", "3000"))
SEED = int(os.environ.get("STRETTO_SEED", "20261120"))
CHUNK = 10
MOST_MATCHES = 60 * EVENTS
TYPES = ("A", "B", "C", "D")
SCHEMA = Schema({"x": Kind.FLOAT, "k": Kind.INT}, frozenset(TYPES))
NAMES = ("auto", "mcep", "motto", "reorder")
PATTERNS = (
    "SEQ(A a, B b, C c, D d)",
    "SEQ(A a, B b, C c, D d)",
    "SEQ(A a, B b, C c)",
    "SEQ(A a, B b, C c)",
    "SEQ(A a, B b)",
    "AND(A a, B b)",
    "AND(A a, B b, C c)",
    "SEQ(A a, AND(B b, C c), D d)",
    "AND(SEQ(A a, B b), C c)",
    "SEQ(AND(A a, B b), C c)",
)


@dataclass(frozen=True, slots=True)
class Task:
    """One query, with KEEP and LIMIT aside; `window` in microseconds, or in events."""

    text: str
    keep: Keep
    variables: tuple[str, ...]
    window: int

    def workload(self, *, thinned: bool = True) -> Workload:
        return Workload.parse(f"{self.text} {self.keep if thinned else ''};")


def random_task(rng: Random, windows: tuple[int, ...], *, by_events: bool) -> Task:
    pattern = rng.choice(PATTERNS)
    variables = tuple(name for name in "abcd" if f" {name}" in pattern)
    pairs = [(one, other) for one in variables for other in variables if one < other]
    terms = [f"{one}.x {rng.choice(('<=', '<', '>'))} {other}.x" for one, other in pairs]
    terms += [f"{one}.k <= {other}.k" for one, other in pairs] + [
        f"{one}.x < {other}.x + 0.5" for one, other in pairs
    ]
    where = " AND ".join(rng.sample(terms, min(len(terms), rng.choice((0, 0, 1, 1, 2, 3)))))
    window = rng.choice(windows)
    unit = "EVENTS" if by_events and rng.random() < 0.2 else "us"
    keep = random_keep(rng, variables, (1, window // 2 or 1, window, 5 * window))
    if keep.word == "LONGEST" and unit == "EVENTS":
        keep = replace(keep, word="APART")
    text = f"QUERY q PATTERN {pattern} {'WHERE ' + where if where else ''} WITHIN {window} {unit}"
    return Task(text, keep, variables, window)


def plans(task: Task, stats: Stats, rng: Random, orders: int) -> Iterator[tuple[str, Plan]]:
    """Yield plans with their names: by rates that force `orders` orders of joins, by chance, and by optimizers."""
    workload = task.workload()
    yield "none", optimize(workload, stats, "none")
    for rates in rng.sample([*rates_of_every_order(TYPES)], orders):
        name = rng.choice(NAMES)
        yield f"{name} by {rates}", optimize(workload, stats.with_rates(rates), name, 0.05)
    yield "any joins", plan_of_any_joins(workload, SCHEMA, rng)


def table_of(columns: Mapping[str, Any]) -> pa.Table:
    kinds = {
        "ts": pa.timestamp("us"),
        "type": pa.string(),
        "id": pa.int64(),
        "x": pa.float64(),
        "k": pa.int64(),
    }
    return pa.table({name: pa.array(columns[name], kind) for name, kind in kinds.items()})


# ---- short streams, judged by the oracle ---------------------------------------------------------------------------


def short_stream(rng: Random) -> list[Event]:
    """Draw a few dozen events, many of one time, with ids in any order."""
    size, ts = rng.randint(20, 45), rng.choice((0, -9, 10**15))
    ids = rng.sample(range(size), size) if rng.random() < 0.5 else list(range(size))
    gaps = rng.choice(((0, 0, 1, 1, 2), (1, 1, 2), (0, 1, 5)))
    events = []
    for number in ids:
        ts += rng.choice(gaps)
        values = {"x": rng.choice((0.0, 0.5, 1.0)), "k": None if rng.random() < 0.02 else rng.randint(-1, 1)}
        events.append(Event(number, ts, rng.choice(TYPES), values))
    return events


def check_short(seed: int) -> int:
    """Compare plans with the oracle, in all ways of loops; return how many results were compared."""
    rng = Random(seed)
    events, task = short_stream(rng), random_task(rng, (3, 6, 9, 14), by_events=True)
    (query,) = task.workload().bind(SCHEMA).detections
    (plain,) = task.workload(thinned=False).bind(SCHEMA).detections
    expected = oracle.matches(query, events)
    dropped = len(oracle.matches(plain, events)) - len(expected)
    names = {"ts": "ts", "type": "type", "id": "id"}
    columns: dict[str, Any] = {name: [getattr(event, own) for event in events] for name, own in names.items()}
    table = table_of(columns | {name: [event.attributes[name] for event in events] for name in ("x", "k")})
    count = 0
    for name, plan in plans(task, Stats.of(table), rng, 2):
        cuts = rng.getrandbits(32)
        for way in WAYS:
            about = f"seed {seed}, {name}, {way}\n{task}\n" + "\n".join(map(str, events))
            with loops(way, rng):
                engine = Engine(plan)
                parts = [engine.push(batch) for batch in in_batches(Random(cuts), table)]
                parts.append(engine.flush())
            assert_same_matches([m for part in parts for m in matches_of(part["q"], query)], expected, about)
            assert engine.dropped == {"q": dropped}, about
            count += 1
    return count


@pytest.mark.parametrize("start", range(SEED, SEED + WORKLOADS, CHUNK))
def test_short_streams(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(start, min(start + CHUNK, SEED + WORKLOADS)):
        monkeypatch.setattr(band, "PAIRS", (3, 1 << 12)[seed % 2])
        check_short(seed)


# ---- long streams, judged by a walk over all matches -----------------------------------------------------------------


def long_stream(rng: Random, size: int) -> pa.Table:
    """Draw events of which some types are rare, with times that many or few of them share."""
    random = np.random.default_rng(rng.getrandbits(32))
    weights = np.array(
        rng.choice(((1, 1, 1, 1), (1, 2, 4, 8), (8, 1, 1, 1), (1, 8, 8, 4), (4, 8, 8, 1))), float
    )
    times = np.cumsum(random.integers(*rng.choice(((0, 2), (0, 4), (1, 3), (0, 20))), size))
    ids = random.permutation(size) if rng.random() < 0.3 else np.arange(size)
    columns = {
        "ts": times.astype("datetime64[us]"),
        "type": np.array(TYPES)[
            random.choice(len(TYPES), size, p=rng.sample(list(weights), 4) / weights.sum())
        ],
        "id": ids,
        "x": random.random(size),
        "k": random.integers(0, rng.choice((2, 50, 5_000)), size),
    }
    return table_of(columns)


def found_by(plan: Plan, table: pa.Table, variables: tuple[str, ...], cuts: Random) -> tuple[Matrix, int]:
    """Run a plan over batches of any size; return the matches as rows, and how many were dropped."""
    engine, parts, begin = Engine(plan), [], 0
    while begin < table.num_rows:
        size = round(table.num_rows ** cuts.random())
        parts.append(engine.push(table.slice(begin, size))["q"])
        begin += size
    parts.append(engine.flush()["q"])
    return rows_of(pa.concat_tables(parts), variables), sum(engine.dropped.values())


def check_long(seed: int, size: int = EVENTS, orders: int = 2) -> int:
    """Compare plans with the walk, in all ways of loops; return how many results were compared."""
    rng = Random(seed)
    table = long_stream(rng, size)
    gap = max(1, (table["ts"][-1].value - table["ts"][0].value) // size)
    task = random_task(rng, tuple(gap * events for events in (6, 12, 20, 40)), by_events=False)
    with loops("compiled"):
        plain = optimize(task.workload(thinned=False), SCHEMA, "none")
        if sum(len(rows) for rows in _first_rows(plain, table, task)) > MOST_MATCHES / 10:
            return 0  # the walk would take too long
    with loops("twins"):
        every, _ = found_by(plain, table, task.variables, Random(seed))
    place = np.empty(size, np.int64)
    place[table["id"].to_numpy()] = np.arange(size)
    columns = [place[every[:, 3 + task.variables.index(name)]] for name in task.keep.per]
    keys = np.column_stack([table["k"].to_numpy()[column] for column in columns]) if columns else every[:, :0]
    expected = reported(task.keep, every, keys, task.window)
    count = 0
    for name, plan in plans(task, Stats.of(table), rng, orders):
        cuts = rng.getrandbits(32)
        for way in WAYS:
            with loops(way, rng, LATE):
                rows, dropped = found_by(plan, table, task.variables, Random(cuts))
            about = f"seed {seed}, {name}, {way}: {len(rows):,} matches, {len(expected):,} expected\n{task}"
            assert np.array_equal(rows, expected), about
            assert dropped == len(every) - len(expected), about
            count += 1
    return count


def _first_rows(plan: Plan, table: pa.Table, task: Task) -> Iterator[Matrix]:
    """Yield the matches of a tenth of the stream."""
    yield found_by(plan, table.slice(0, table.num_rows // 10), task.variables, Random(0))[0]


@pytest.mark.parametrize("seed", range(SEED, SEED + LONG))
def test_long_streams(seed: int) -> None:
    check_long(seed)


# ---- the orders of joins, and faults that must be found ------------------------------------------------------------


def _trees(text: str) -> set[str]:
    workload, rng = Workload.parse(text), Random(1)
    stats = Stats.of(long_stream(Random(3), 400))
    known = [stats.with_rates(rates) for rates in rates_of_every_order(TYPES)]
    plans = [optimize(workload, one, name) for one in known for name in ("auto", "reorder")]
    plans += [plan_of_any_joins(workload, SCHEMA, rng) for _ in range(60)]
    return {tree for plan in plans for tree in join_trees(plan)}


def test_every_order_of_joins_is_tried() -> None:
    assert _trees("QUERY q PATTERN SEQ(A a, B b, C c) WITHIN 9 us;") == {
        "((A B) C)",
        "((A C) B)",
        "((B C) A)",
    }
    assert len(_trees("QUERY q PATTERN SEQ(A a, B b, C c, D d) WITHIN 9 us;")) == 15


RARE_D = {"A": 10_000.0, "B": 12_500.0, "C": 33_000.0, "D": 200.0}
STEPS = (
    ("A", 0),
    ("B", 10),
    ("C", 20),
    ("D", 30),
    ("A", 100),
    ("B", 101),
    ("C", 105),
    ("B", 108),
    ("D", 120),
)


@pytest.mark.parametrize("way", WAYS)
def test_apart_keeps_matches_whose_ranges_begin_earlier_than_those_before(way: str) -> None:
    """Where C is joined last, a later row of A, B and D may look further back for a C than an earlier row does."""
    table = pa.table(
        {"ts": pa.array([ts for _, ts in STEPS], pa.timestamp("us")), "type": [kind for kind, _ in STEPS]}
    )
    workload = Workload.parse("QUERY q PATTERN SEQ(A a, B b, C c, D d) WITHIN 130 us KEEP APART;")
    plan = optimize(workload, Stats.of(table).with_rates(RARE_D))
    assert join_trees(plan) == ["(((A D) B) C)"]
    with loops(way):
        engine = Engine(plan)
        found = engine.push(table) + engine.flush()
    assert [found["q"][name].to_pylist() for name in "abcd"] == [[0, 4], [1, 5], [2, 6], [3, 8]]


def test_no_match_is_left_out_after_some_that_the_sieve_did_not_see(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin writes the first pairs of a step. The sieve, which does not know them, drops none of the next pairs."""
    monkeypatch.setattr(join, "FEW_ROWS", 0)
    monkeypatch.setattr(band, "_FIRST_CAPACITY", 1)
    events = [("A", 0), ("B", 1), ("D", 5), ("B", 6), ("D", 8), ("B", 9), ("D", 16), ("C", 17)]
    columns = {"ts": [ts for _, ts in events], "type": [kind for kind, _ in events]}
    table = table_of(columns | {"id": range(len(events)), "x": [0.0] * len(events), "k": [0] * len(events)})
    workload = Workload.parse(
        "QUERY q PATTERN SEQ(A a, B b, D d) WHERE a.x <= d.x WITHIN 20 us KEEP FIRST FOR 10 us;"
    )
    (query,) = workload.bind(SCHEMA).detections
    stream = [Event(number, ts, kind, {"x": 0.0, "k": 0}) for number, (kind, ts) in enumerate(events)]
    expected = [match.detected for match in oracle.matches(query, stream)]
    plan = optimize(workload, Stats.of(table).with_rates({"A": 1.0, "D": 50.0, "B": 10_000.0}), "reorder")
    assert join_trees(plan) == ["((A D) B)"]
    for patience in range(12):
        with loops("later", patience=(patience,)):
            engine = Engine(plan)
            found = engine.push(table) + engine.flush()
        assert sorted(found["q"]["detected"].cast(pa.int64()).to_pylist()) == expected, patience


@pytest.mark.parametrize("check", [check_short, check_long])
def test_a_sieve_that_drops_one_match_more_is_found(
    check: Callable[[int], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = band.sieved_rows

    def damaged(*arguments: Any) -> tuple[int, int, int]:
        n, i, j = rows(*arguments)
        return max(n - 1, 0), i, j

    monkeypatch.setattr(band, "sieved_rows", damaged)
    with pytest.raises(AssertionError, match="compiled"):
        list(map(check, range(SEED, SEED + 12)))


def test_a_twin_that_finds_one_pair_less_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = band.band_rows_reference

    def damaged(*arguments: Any, **more: Any) -> Any:
        return pairs(*arguments, **more)[:, 1:]

    monkeypatch.setattr(band, "band_rows_reference", damaged)
    with pytest.raises(AssertionError, match="twins"):
        list(map(check_short, range(SEED, SEED + 12)))
