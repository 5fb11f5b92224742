"""How `rumor` measures: clocks that tell milliseconds, and work that is given up."""

import time
from collections.abc import Callable

import pyarrow as pa
from benchmarks.rumor_measure import Case, Cell, Contestant, apart, digest, in_turns

from stretto.generate.streams import generate
from stretto.generate.workloads import workload


def _busy(rounds: int) -> int:
    return sum(i & 1 for i in range(rounds))


def _least(clock: Callable[[], float]) -> float:
    """The best of several short runs. Clocks are read at both ends only: to read one may set another."""
    times = []
    for _ in range(60):
        began = clock()
        _busy(20_000)
        times.append(clock() - began)
    return min(times)


def test_short_runs_have_their_time_in_a_process_of_their_own() -> None:
    cell = apart(
        "short", lambda: Cell("short", run=_least(time.process_time) / _least(time.thread_time)), 30.0
    )
    assert not cell.missing
    assert 0.5 < cell.run < 2


def test_what_takes_too_long_is_given_up() -> None:
    cell = apart("long", lambda: Cell("long", run=_busy(10**10)), 0.5)
    assert cell.missing.startswith("over")


def test_answers_are_compared_by_what_tells_them_apart() -> None:
    rows = [("a", 1, 3, "x"), ("b", 1, 3, "y"), ("a", 2, 4, "z"), ("a", 2, 4, "z")]
    told_by = "query", "start", "end"

    def of(some: list[tuple[str, int, int, str]], *names: str) -> str:
        return digest(
            pa.table([list(column) for column in zip(*some, strict=True)], [*told_by, "match_id"]), names
        )

    assert of(rows, *told_by) == of(rows[::-1], *told_by)
    other_ids = [(*row[:3], f"{row[3]}2") for row in rows]
    assert of(rows, *told_by) == of(other_ids, *told_by)
    assert of(rows, "match_id") != of(other_ids, "match_id")
    for wrong in (rows[:3], [*rows[:3], ("b", 2, 4, "z")], [*rows[:3], ("a", 2, 5, "z")]):
        assert of(rows, *told_by) != of(wrong, *told_by)


def test_who_takes_turns_has_the_answers_of_all_of_its_cases() -> None:
    events = generate("rumor", 400)
    one, other = (Case(workload("rumor-2", count), events) for count in (3, 5))
    wrong = Case("QUERY q PATTERN A a", events)
    asked = [("one", [one]), ("both", [one, other]), ("wrong", [one, wrong]), ("other", [other])]
    found = in_turns([Contestant(name, "auto", cases) for name, cases in asked], 2, 0.01, 60.0)
    cells = {cell.label: cell for cell in found}
    assert list(cells) == [name for name, _ in asked]
    assert "WITHIN" in cells.pop("wrong").missing
    assert all(cell.run > 0 and cell.parse > 0 and cell.plan > 0 for cell in cells.values())
    assert cells["both"].outputs == cells["one"].outputs + cells["other"].outputs > cells["other"].outputs > 0
    assert cells["one"].digest != cells["other"].digest
    assert "over" in in_turns([Contestant("long", "auto", [one])], 10**6, 0.01, 0.5)[0].missing
