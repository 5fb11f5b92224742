"""The contestants of `detect` agree, and their comparison notices a damaged answer."""

import importlib
import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from benchmarks.contestants import events, launch
from benchmarks.contestants.answers import (
    Answer,
    Found,
    Lists,
    Steps,
    Tables,
    UnfinishedError,
    WrongAnswerError,
    answer_of,
    bytes_per_match,
    check_digests,
    check_rows,
    digests,
)
from benchmarks.contestants.worker import MODULES, Job, perform, timed
from benchmarks.contestants.workloads import WORKLOADS, Query, Shape

from benchmarks import detect, sheets
from stretto.engine.results.matches import Matches

EVENTS, SEED = 2_000, 7


def tables_of(contestant: str, workload: str, count: int = EVENTS, threads: int = 1) -> Tables | None:
    if contestant in ("polars", "duckdb"):
        pytest.importorskip(contestant)
    module = importlib.import_module(f"benchmarks.contestants.{MODULES[contestant]}")
    about = WORKLOADS[workload]
    if module.missing(about):
        return None
    steps = module.load(events.table(count, SEED), about, module.variants(about)[0], threads)
    return timed(steps, [query.name for query in about.queries])[0]


def answer_from(contestant: str, workload: str, count: int = EVENTS, threads: int = 1) -> Answer | None:
    tables = tables_of(contestant, workload, count, threads)
    return None if tables is None else answer_of(tables)


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("contestant", [name for name in MODULES if name != "loops"])
def test_contestants_agree(contestant: str, workload: str) -> None:
    found, expected = answer_from(contestant, workload), answer_from("loops", workload)
    assert expected is not None
    if found is None:
        assert (contestant, workload) == ("polars", "W4")
        return
    check_rows(contestant, found, expected)
    check_digests(contestant, digests(found), digests(expected))


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("contestant", ["loops", "duckdb"])
def test_threads_change_no_answer(contestant: str, workload: str) -> None:
    found, expected = answer_from(contestant, workload, threads=3), answer_from("loops", workload)
    assert found is not None
    assert expected is not None
    check_digests(contestant, digests(found), digests(expected))


@pytest.mark.parametrize("workload", ["W1", "W4", "W5", "W6"])
def test_loops_by_hand_write_as_many_bytes_as_stretto(workload: str) -> None:
    by_hand, ours = tables_of("loops", workload, 20_000), tables_of("stretto-none", workload, 20_000)
    assert by_hand is not None
    assert ours is not None
    assert bytes_per_match(by_hand) == pytest.approx(bytes_per_match(ours), rel=0.01)


# ---- the clock ---------------------------------------------------------------------------------------------------

COLUMNS = pa.table({"a": [1], "start": [1], "end": [2]})


class LazyTables(dict[str, pa.Table]):
    """Tables that are built when somebody asks for them."""

    def __getitem__(self, query: str) -> pa.Table:
        return COLUMNS


def steps_of(result: object) -> Steps:
    return Steps(lambda: None, lambda _plan: result)  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize(
    "result",
    [
        LazyTables(W1=COLUMNS),
        {"W1": lambda: COLUMNS},
        {"W1": COLUMNS.to_reader()},
        {"W1": None},
        {},
        {"W1": COLUMNS.drop_columns(["end"])},
        {"W1": COLUMNS.select(["start", "end"])},
    ],
)
def test_columns_that_are_built_later_are_noticed(result: object) -> None:
    with pytest.raises(UnfinishedError):
        timed(steps_of(result), ["W1"])
    timed(steps_of({"W1": COLUMNS}), ["W1"])


def test_lazy_frames_are_noticed() -> None:
    polars = pytest.importorskip("polars")
    with pytest.raises(UnfinishedError, match="LazyFrame"):
        timed(steps_of({"W1": polars.from_arrow(COLUMNS).lazy()}), ["W1"])


@pytest.mark.parametrize("contestant", ["stretto", "stretto-none"])
def test_the_clock_runs_while_stretto_builds_columns(
    contestant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = Matches.__getitem__

    def slowly(matches: Matches, query: str) -> pa.Table:
        time.sleep(0.3)
        return build(matches, query)

    monkeypatch.setattr(Matches, "__getitem__", slowly)
    module = importlib.import_module(f"benchmarks.contestants.{MODULES[contestant]}")
    _, clocked = timed(module.load(events.table(500, SEED), WORKLOADS["W1"], None, 1), ["W1"])
    assert clocked.wall - clocked.planning >= 0.3


def test_the_clock_runs_while_a_plan_is_made_and_run() -> None:
    def slow(_plan: object) -> Tables:
        time.sleep(0.2)
        return {"W1": COLUMNS}

    _, clocked = timed(Steps(lambda: time.sleep(0.1), slow), ["W1"])
    assert 0.1 <= clocked.planning <= clocked.wall - 0.2


def test_the_clock_runs_while_databases_convert(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = events.plain

    def slowly(table: pa.Table) -> pa.Table:
        time.sleep(0.2)
        return plain(table)

    monkeypatch.setattr(events, "plain", slowly)
    for contestant in ("polars", "duckdb"):
        pytest.importorskip(contestant)
        module = importlib.import_module(f"benchmarks.contestants.{MODULES[contestant]}")
        about = WORKLOADS["W1"]
        steps = module.load(events.table(500, SEED), about, module.variants(about)[0], 1)
        assert timed(steps, ["W1"])[1].wall >= 0.2


def test_a_worker_reports_its_run() -> None:
    outcome = perform(Job("loops", "W1", EVENTS, SEED, 60.0, judged=True))
    answer = answer_from("loops", "W1")
    assert answer is not None
    assert outcome["digests"] == {"W1": digests(answer)["W1"].to_json()}
    assert outcome["wall"] > 0
    assert outcome["cpu"] > 0
    assert outcome["bytes_per_match"] == 48


# ---- answers -----------------------------------------------------------------------------------------------------


def brute_force(query: Query, count: int) -> set[tuple[object, ...]]:
    """Every choice of events, judged by the definition."""
    columns = events.table(count, SEED).to_pydict()
    ts = events.table(count, SEED)["ts"].cast("int64").to_pylist()
    x, k = columns["x"], columns["k"]
    a, b, c = ([i for i in range(count) if columns["type"][i] == t] for t in query.types)
    found = set()
    for i in a:
        for j in c:
            if abs(ts[i] - ts[j]) > query.window_us or (query.shape is not Shape.AND and ts[i] >= ts[j]):
                continue
            for bs in middle(query, i, j, b, ts):
                first, last = (f(ts[e] for e in (i, j, *bs)) for f in (min, max))
                rising = query.shape is Shape.KLEENE or x[i] < x[bs[0]]
                rising &= query.shape in (Shape.KLEENE, Shape.AND) or x[bs[0]] < x[j]
                one_key = query.shape is not Shape.KEYED or k[i] == k[bs[0]] == k[j]
                if rising and one_key and last - first <= query.window_us:
                    found.add((i, bs, j, first, last))
    return found


def middle(query: Query, i: int, j: int, b: list[int], ts: list[int]) -> list[tuple[int, ...]]:
    if query.shape is Shape.AND:
        return [(e,) for e in b]
    between = [e for e in b if ts[i] < ts[e] < ts[j]]
    if query.shape is not Shape.KLEENE:
        return [(e,) for e in between]
    sets = (s for n in range(1, len(between) + 1) for s in combinations(between, n))
    return [s for s in sets if len({ts[e] for e in s}) == len(s)]


@pytest.mark.parametrize("workload", ["W1", "W3", "W4", "W5", "W6"])
def test_the_yardstick_is_right(workload: str) -> None:
    answer = answer_from("loops", workload, 300)
    assert answer is not None
    (query,) = WORKLOADS[workload].queries
    found = [row for part in answer[query.name] for row in rows(part)]
    assert len(found) == len(set(found))
    assert set(found) == brute_force(query, 300)


def rows(part: Found) -> list[tuple[object, ...]]:
    a, b, c = part.columns
    if isinstance(b, Lists):
        sets = [tuple(map(int, s)) for s in np.split(b.values, b.offsets[1:-1])]
    else:
        sets = [(int(e),) for e in b]
    ends = (part.start.tolist(), part.end.tolist())
    return list(zip(a.tolist(), sets, c.tolist(), *ends, strict=True))


def test_sets_share_no_time() -> None:
    module = importlib.import_module("benchmarks.contestants.yardstick_loops")
    state, out = np.zeros(4, np.int64), [np.zeros(16, np.int64) for _ in range(7)]
    bs, ids = np.array([2, 2, 3]), np.array([1, 2, 3])
    n = module.kleene(np.array([1]), np.array([0]), bs, ids, np.array([4]), np.array([4]), 9, state, *out)
    sets = {tuple(s.tolist()) for s in np.split(out[2][: out[1][n]], out[1][1:n])}
    assert sets == {(1,), (2,), (3,), (1, 3), (2, 3)}
    assert n == 5


def drop_one(part: Found) -> Found:
    columns = tuple(Lists(c.offsets[:-1], c.values) if isinstance(c, Lists) else c[:-1] for c in part.columns)
    return Found(columns, part.start[:-1], part.end[:-1])


def repeat_one(part: Found) -> Found:
    index = np.append(np.arange(1, len(part)), 1)
    columns = tuple(c if isinstance(c, Lists) else c[index] for c in part.columns)
    return Found(columns, part.start[index], part.end[index])


def rebind_one(part: Found) -> Found:
    first = part.columns[0].copy()
    first[0] += 1
    return replace(part, columns=(first, *part.columns[1:]))


def swap_two(part: Found) -> Found:
    first = part.columns[0].copy()
    other = int(np.flatnonzero(first != first[0])[0])
    first[[0, other]] = first[[other, 0]]
    return replace(part, columns=(first, *part.columns[1:]))


def shift_one_end(part: Found) -> Found:
    end = part.end.copy()
    end[-1] += 1
    return replace(part, end=end)


def rebind_in_set(part: Found) -> Found:
    a, b, c = part.columns
    if not isinstance(b, Lists):
        return rebind_one(part)
    values = b.values.copy()
    values[0] += 1
    return replace(part, columns=(a, Lists(b.offsets, values), c))


DAMAGES = [drop_one, repeat_one, rebind_one, swap_two, shift_one_end, rebind_in_set]


@pytest.mark.parametrize("workload", ["W1", "W4"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_answer_is_noticed(damage: Callable[[Found], Found], workload: str) -> None:
    expected = answer_from("loops", workload)
    assert expected is not None
    damaged = {name: [damage(parts[0]), *parts[1:]] for name, parts in expected.items()}
    with pytest.raises(WrongAnswerError):
        check_rows("damaged", damaged, expected)
    with pytest.raises(WrongAnswerError):
        check_digests("damaged", digests(damaged), digests(expected))


def test_order_and_parts_do_not_matter() -> None:
    answer = answer_from("loops", "W1")
    assert answer is not None
    (part,) = answer["W1"]
    order = np.random.default_rng(0).permutation(len(part))
    mixed = Found(tuple(c[order] for c in part.columns), part.start[order], part.end[order])
    halves = [
        Found(tuple(c[rows] for c in mixed.columns), mixed.start[rows], mixed.end[rows])
        for rows in (slice(0, 50), slice(50, None))
    ]
    check_rows("mixed", {"W1": halves}, answer)
    check_digests("mixed", digests({"W1": halves}), digests(answer))


def outcome_of(
    contestant: str, *, wall: float = 1.0, checksum: str = "same", matches: int = 7
) -> dict[str, object]:
    times = {"wall": wall, "cpu": wall, "planning": 0.1, "planning_cpu": 0.1, "peak_mb": 1.0}
    digest = {"W1": {"matches": matches, "checksum": checksum}}
    return times | {"bytes_per_match": 48.0, "variant": 0, "matches": {"W1": matches}, "digests": digest}


def test_a_wrong_answer_ends_the_experiment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def damaged(_given, _workload, plan, *, judged=False):
        assert judged, "answers are compared before anything is timed"
        return outcome_of(plan[0], checksum="other" if plan[0] == "stretto" else "same")

    monkeypatch.setattr(detect, "_job", damaged)
    assert detect.run(tmp_path, None, ["--only", "W1", "--skip-scale"]) == 1
    assert "wrong answer: stretto on W1" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_fewer_matches_in_a_timed_run_end_the_experiment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def counted(_given, _workload, plan, *, judged=False):
        return outcome_of(plan[0], matches=7 if judged else 6)

    monkeypatch.setattr(detect, "_job", counted)
    assert detect.run(tmp_path, None, ["--only", "W1", "--skip-scale"]) == 1


def test_ratios_are_medians_of_turns_with_goals_beside_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    walls = {"stretto": iter([1.0, 2.0, 4.0] * 2), "polars": iter([3.0, 4.0, 40.0] * 2)}

    def measured(_given, _workload, plan, *, judged=False):
        if plan[0] == "duckdb":
            raise launch.TooMuchError("out of memory")
        wall = 1.0 if judged or plan[1] == "all" else next(walls.get(plan[0], iter([5.0])))
        return outcome_of(plan[0], wall=wall)

    monkeypatch.setattr(detect, "_job", measured)
    assert detect.run(tmp_path, None, ["--only", "W1", "--skip-scale", "--turns", "3"]) == 0
    record = json.loads((tmp_path / "detect.json").read_text(encoding="utf-8"))
    contestants = record["workloads"]["W1"]["contestants"]
    assert contestants["polars"]["one"]["ratio"]["wall"] == {"median": 3.0, "least": 2.0, "most": 10.0}
    assert contestants["duckdb"]["one"]["missing"] == "n/a: out of memory with 2,000,000 events"
    assert "all" not in contestants["stretto-none"]
    (goal,) = record["goals"]
    assert (goal["value"], goal["goal"], goal["reached"]) == (3.0, 2.5, True)
    assert record["machine"]
    assert record["date"]
    assert record["versions"]["stretto"]
    text = (tmp_path / "detect.txt").read_text(encoding="utf-8")
    assert "reached: W1, wall-clock, one core, polars / stretto: 3.00 (goal at least 2.5)" in text
    assert "W1 duckdb: n/a: out of memory" in text


def test_missed_goals_come_first() -> None:
    goals = [sheets.goal_of("good", 2.0, 1.0), sheets.goal_of("bad", 0.5, 1.0)]
    goals.append(sheets.goal_of("late", 2.0, 1.0, at_most=True))
    assert [line.split(":")[0] for line in sheets.goal_lines(goals)] == ["MISSED", "MISSED", "reached"]


def test_processes_are_watched() -> None:
    hungry = [sys.executable, "-c", "x = bytearray(1 << 30); import time; time.sleep(9)"]
    with pytest.raises(launch.TooMuchError, match="memory"):
        launch.launch(hungry, memory=1 << 28)
    slow = "import signal, time; signal.setitimer(signal.ITIMER_REAL, 0.1); time.sleep(9)"
    with pytest.raises(launch.TooMuchError, match="time"):
        launch.launch([sys.executable, "-c", slow], memory=1 << 30)
    with pytest.raises(launch.FailedError, match="ouch"):
        launch.launch([sys.executable, "-c", "raise SystemExit('ouch')"], memory=1 << 30)
