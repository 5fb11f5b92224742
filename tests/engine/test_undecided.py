"""Undecided matches: KEEP, families, trends, derived streams, memory, and what the engine counts."""

import pyarrow as pa
import pytest

import stretto
from stretto.engine.run import Engine
from stretto.errors import EngineError
from stretto.schema import Kind, Schema

LOST = "QUERY lost PATTERN SEQ(S s, NOT(X x)) WITHIN 5 us;"
SCHEMA = Schema({"k": Kind.INT}, frozenset("SXD"))


def table(*events: tuple[str, int], k: int = 1) -> pa.Table:
    times = pa.array([ts for _, ts in events], pa.timestamp("us"))
    return pa.table({"ts": times, "type": [kind for kind, _ in events], "k": [k] * len(events)})


def found(workload: str | stretto.Workload, events: pa.Table, **options: str) -> stretto.Matches:
    return stretto.run(stretto.optimize(workload, SCHEMA), events, **options)


def starts(matches: stretto.Matches, query: str) -> list[int]:
    return matches[query]["start"].cast(pa.int64()).to_pylist()


def test_matches_after_the_last_event_are_counted_and_reported_unless_they_are_dropped() -> None:
    events = table(("S", 0), ("X", 3), ("S", 4), ("S", 7), ("X", 9), ("S", 10), ("D", 15))
    kept = found(LOST, events)
    assert (starts(kept, "lost"), kept.undecided) == ([10], {})
    events = table(("S", 0), ("S", 4), ("S", 7), ("D", 9))
    kept, dropped = found(LOST, events), found(LOST, events, undecided="drop")
    assert (starts(kept, "lost"), starts(dropped, "lost")) == ([0, 4, 7], [0, 4])
    assert kept.undecided == dropped.undecided == {"lost": 1}
    assert dropped.undecided["other"] == 0
    assert kept.counts() == {"lost": 3}
    assert dropped.counts() == {"lost": 2}


def test_the_option_has_two_values() -> None:
    with pytest.raises(EngineError, match="undecided= is 'keep' or 'drop', not 'no'"):
        found(LOST, table(("S", 0)), undecided="no")


@pytest.mark.parametrize(
    ("keep", "decided", "undecided"),
    [
        ("KEEP FIRST FOR 4 us", [0], [6]),
        ("KEEP APART", [0, 2], [6, 8]),
        ("LIMIT 1 PER 10 us", [0], [6]),
        ("KEEP LONGEST", [0, 2], [6, 8]),
    ],
)
def test_keep_looks_at_undecided_matches_last(keep: str, decided: list[int], undecided: list[int]) -> None:
    text = LOST.replace(";", f" {keep};")
    events = table(("S", 0), ("S", 2), ("S", 6), ("S", 8), ("D", 9))
    kept, dropped = found(text, events), found(text, events, undecided="drop")
    assert starts(dropped, "lost") == decided
    assert sorted(starts(kept, "lost")) == [*decided, *undecided]
    assert kept.undecided == dropped.undecided == {"lost": len(undecided)}


def test_the_longest_match_waits_for_its_window() -> None:
    text = "QUERY runs PATTERN S s+ WITHIN 4 us KEEP LONGEST;"
    events = table(("S", 0), ("S", 1), ("D", 7), ("S", 8), ("S", 9))
    dropped = found(text, events, undecided="drop")
    assert starts(dropped, "runs") == [0]
    assert dropped.undecided == {"runs": 1}


def test_what_keep_dropped_is_counted_of_decided_matches() -> None:
    plan = stretto.optimize(LOST.replace(";", " KEEP FIRST FOR 100 us;"), SCHEMA)
    events = table(("S", 0), ("S", 2), ("S", 6), ("S", 8), ("D", 9))
    dropped = {}
    for undecided in ("keep", "drop"):
        engine = Engine(plan, undecided=undecided)
        engine.push(events)
        engine.flush()
        dropped[undecided] = engine.dropped["lost"]
    assert dropped == {"keep": 3, "drop": 1}


def test_members_of_a_family_are_counted_together() -> None:
    text = "QUERY each FOR EACH rows r KEY r.id PATTERN SEQ(S s, NOT(X x)) WHERE s.k = r.k WITHIN 5 us;"
    workload = stretto.Workload.parse(text).table("rows", {"id": ["p", "q"], "k": [1, 1]})
    dropped = found(workload, table(("S", 0), ("S", 7), ("D", 9)), undecided="drop")
    assert dropped.members("each") == {"p": 1, "q": 1}
    assert dropped.undecided == {"each": 2}


def test_events_that_undecided_matches_make_are_in_no_match_and_no_trend() -> None:
    text = """CREATE STREAM gone AS PATTERN SEQ(S s, NOT(X x)) WITHIN 5 us RETURN s.k AS k;
    QUERY pair PATTERN SEQ(gone a, gone b) WITHIN 20 us;
    QUERY trend PATTERN gone g+ WITHIN 20 us RETURN COUNT(*);
    QUERY raw PATTERN S s+ WITHIN 20 us RETURN COUNT(*);"""
    events = table(("S", 0), ("S", 2), ("S", 6), ("D", 9))
    kept, dropped = found(text, events), found(text, events, undecided="drop")
    assert len(kept["pair"]) == 3
    assert len(dropped["pair"]) == 1
    assert kept.undecided == dropped.undecided == {"pair": 2}
    counts = [{row["query"]: row["value"] for row in one.totals().to_pylist()} for one in (kept, dropped)]
    assert counts == [{"trend": 7.0, "raw": 7.0}, {"trend": 3.0, "raw": 7.0}]


def test_undecided_matches_count_for_the_bound_of_memory_although_they_are_dropped() -> None:
    text = "QUERY many PATTERN SEQ(S s, S t, NOT(X x)) WITHIN 1 s;"
    events = table(*(("S", i) for i in range(1500)))
    plan = stretto.optimize(text, SCHEMA)
    dropped = stretto.run(plan, events, undecided="drop", memory_bytes=1 << 28)
    assert len(dropped) == 0
    assert dropped.undecided == {"many": 1500 * 1499 // 2}


def test_steps_of_flushing_report_and_count_the_same() -> None:
    plan = stretto.optimize(LOST, SCHEMA)
    for undecided, reported in (("keep", 3), ("drop", 2)):
        engine = Engine(plan, undecided=undecided)
        parts = [*engine.pushing(table(("S", 0), ("S", 4), ("S", 7), ("D", 9))), *engine.flushing()]
        assert sum(map(len, parts)) == engine.counts.matches == reported
        assert engine.undecided == {"lost": 1}


def test_a_restored_engine_knows_the_end_of_what_the_other_one_has_seen() -> None:
    plan = stretto.optimize(LOST, SCHEMA)
    engine = Engine(plan)
    engine.push(table(("S", 0), ("S", 4), ("S", 7), ("D", 9)))
    restored = Engine.restore(plan, engine.snapshot(), undecided="drop")
    assert starts(restored.flush(), "lost") == [4]
    assert restored.undecided == {"lost": 1}


def test_late_and_rejected_events_are_no_end_of_the_input() -> None:
    engine = Engine(stretto.optimize(LOST, SCHEMA), undecided="drop")
    engine.push(table(("S", 10), ("D", 14), ("S", 3)))
    engine.push(
        pa.table({"ts": pa.array([99], pa.timestamp("us")), "type": pa.array([None], pa.string()), "k": [1]})
    )
    assert len(engine.flush()) == 0
    assert engine.undecided == {"lost": 1}
    assert (engine.counts.late, engine.counts.rejected) == (1, 1)
