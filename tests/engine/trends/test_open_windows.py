"""How many windows may be open at a time, and what their totals may take."""

import pyarrow as pa
import pytest

import stretto
from stretto.pattern.workload import check

EVENTS = pa.table({"ts": pa.array([1, 2], pa.timestamp("us")), "type": ["A", "B"], "x": [1, 2]})
QUERY = "QUERY q PATTERN SEQ(A a, B b+){} WITHIN {} SLIDE {} AGGREGATE COUNT(*);"


@pytest.mark.parametrize("where", ["", " WHERE b[i].x > b[i-1].x"])
def test_a_query_with_too_many_open_windows_is_refused_with_its_place(where: str) -> None:
    (mistake,) = check(QUERY.format(where, "1 DAY", "1 us"))
    assert mistake.message == "every event lies in 86,400,000,000 windows"
    assert (
        mistake.note
        == "at most 10,000,000 can be open at a time: choose a SLIDE of at least 8640 MICROSECONDS"
    )
    assert mistake.at is not None
    assert not check(QUERY.format(where, "1 DAY", "8640 us"))


def test_totals_of_open_windows_count_as_memory() -> None:
    plan = stretto.optimize(QUERY.format("", "1 SECOND", "1 us"), EVENTS)
    with pytest.raises(
        stretto.errors.EngineError, match=r"1,000,000 windows open at a time.*choose a longer SLIDE"
    ):
        stretto.run(plan, EVENTS, memory_bytes=32 << 20)


def test_many_queries_share_the_memory_for_open_windows() -> None:
    text = "".join(QUERY.format("", "1 SECOND", f"{n} us").replace("q ", f"q{n} ", 1) for n in range(10, 20))
    plan = stretto.optimize(text, EVENTS, optimizer="none")
    with pytest.raises(stretto.errors.EngineError, match="choose a longer SLIDE"):
        stretto.run(plan, EVENTS, memory_bytes=16 << 20)
