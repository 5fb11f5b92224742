"""The bound on memory: steps past it are undone and run in parts, with the same matches; what cannot be is named."""

import pytest
from tests.engine.memory import bounded
from tests.engine.memory.bounded import AFTER, QUERIES, TRENDS, found, plan_of

from stretto.engine.memory import reuse
from stretto.engine.run import Engine
from stretto.engine.stream import arena
from stretto.engine.whole_table import run
from stretto.errors import EngineError

EVERY = {**QUERIES, **AFTER, **TRENDS}
MANY = {"scan": 60_000, "next": 12_000, "running": 6_000, "windowed": 6_000}
"""Events, where it takes more of them for a step to make more than what is held."""
STATE = {"scan": 0.9, "next": 0.8, "running": 0.8, "windowed": 0.9}
"""The part of what a step takes, where most of that is held anyway."""


def bounded_run(kind: str, least: float = 0.0):
    """What is found without a bound and with half of the memory that this takes, the engine, and the bound.

    `least`: the part of the memory that it takes in any case.
    """
    table = bounded.events(MANY.get(kind, bounded.N))
    plan = plan_of(EVERY[kind], table)
    expected, free, _ = found(plan, table, 1 << 40)
    bound = int(free.peak_bytes * max(STATE.get(kind, 0.5), least))
    rows, engine, parts = found(plan, table, bound)
    return expected, rows, engine, bound, parts


@pytest.mark.parametrize("kind", EVERY)
def test_parts_of_a_step_find_what_the_whole_finds(kind, monkeypatch):
    if kind == "scan":  # events are all that it holds, and those that are lent take no more than they must
        monkeypatch.setattr(arena, "LENT_FROM", 1 << 30)
    expected, rows, engine, bound, parts = bounded_run(kind)
    assert rows.equals(expected)
    assert len(rows) > 0
    assert engine.peak_bytes <= 1.25 * bound
    assert parts > 2, "the step was not cut"


@pytest.mark.parametrize("kind", EVERY)
def test_parts_of_a_step_keep_no_view_for_too_long(kind, monkeypatch):
    monkeypatch.setattr(reuse, "debug", True)
    # The events of a scan are all that it holds, and buffers that move at every change are larger.
    expected, rows, *_ = bounded_run(kind, least=0.98 if kind == "scan" else 0.0)
    assert rows.equals(expected)


@pytest.mark.parametrize("kind", [kind for kind in (*QUERIES, *AFTER) if kind not in MANY])
def test_what_was_counted_does_not_depend_on_the_parts(kind):
    table = bounded.events()
    plan = plan_of(EVERY[kind], table)
    _, free, _ = found(plan, table, 1 << 40)
    _, engine, _ = found(plan, table, free.peak_bytes // 2)
    assert engine.counters.rows == free.counters.rows
    assert engine.counts == free.counts


@pytest.mark.parametrize("kind", [kind for kind in QUERIES if kind not in MANY])
def test_where_one_time_does_not_fit_the_operator_is_named(kind):
    """Nearly all events at few times: there is nothing to cut between."""
    table = bounded.events(900, times=12)
    text = QUERIES[kind].split(" WITHIN ")[0] + " WITHIN 12 us"
    if "EVENTS" in QUERIES[kind]:
        text = text.replace("12 us", "900 EVENTS")
    plan = plan_of(text, table)
    bound = 900_000
    with pytest.raises(
        EngineError, match=r"out of memory: .* operator n\d+ \(.*\) .* rows in one step; it serves q\."
    ) as stop:
        found(plan, table, bound)
    assert "Give more memory, a shorter window, or a more selective pattern" in str(stop.value)


@pytest.mark.parametrize("kind", TRENDS)
def test_where_totals_do_not_fit_the_error_says_so(kind):
    table = bounded.events(4_000)
    plan = plan_of(EVERY[kind].replace("SLIDE 10 us", "SLIDE 1 us").replace("100 us", "3000 us"), table)
    with pytest.raises(
        EngineError,
        match=r"out of memory: .*(totals of trends|events in the window) went past it|windows open at a time",
    ):
        found(plan, table, 450_000)


def test_matches_that_are_kept_count():
    table = bounded.events()
    plan = plan_of(QUERIES["join"], table)
    kept = run(plan, table)
    # Three ids and two times of 32 bits each.
    assert kept.peak_bytes >= kept.held > 20 * len(kept)
    with pytest.raises(EngineError, match="out of memory"):
        run(plan, table, memory_bytes=kept.held)
    rows, _, parts = found(plan, table, kept.held)
    assert len(rows) == len(kept)
    assert parts > 2


def test_an_engine_can_be_restored_within_its_bound():
    """What it holds is run again in parts, too."""
    table = bounded.events()
    plan = plan_of(QUERIES["conjunction"], table)
    expected, free, _ = found(plan, table, 1 << 40)
    bound = free.peak_bytes // 2
    engine = Engine(plan, memory_bytes=bound)
    first, second = table.slice(0, 700), table.slice(700)
    parts = [bounded.rows_of(m) for m in engine.pushing(first)]
    engine = Engine.restore(plan, engine.snapshot(), memory_bytes=bound)
    parts += [bounded.rows_of(m) for m in engine.pushing(second)]
    parts += [bounded.rows_of(m) for m in engine.flushing()]
    assert sum(map(len, parts)) == len(expected)
    assert engine.peak_bytes <= 1.25 * bound
