"""The contestants of `detect` agree, and their comparison notices a damaged answer."""

import importlib
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from benchmarks.contestants import events, launch, report
from benchmarks.contestants.answers import (
    Answer,
    Found,
    Lists,
    WrongAnswerError,
    check_digests,
    check_rows,
    digests,
    sorted_rows,
)
from benchmarks.contestants.worker import MODULES
from benchmarks.contestants.workloads import WORKLOADS, Query, Shape

from benchmarks import detect

EVENTS, SEED = 2_000, 7


def answer_of(contestant: str, workload: str, count: int = EVENTS) -> Answer | None:
    if contestant in ("polars", "duckdb"):
        pytest.importorskip(contestant)
    module = importlib.import_module(f"benchmarks.contestants.{MODULES[contestant]}")
    if module.missing(WORKLOADS[workload]):
        return None
    batches = events.table(count, SEED).to_batches(max_chunksize=700)
    return module.answer(module.load(batches, WORKLOADS[workload])())


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("contestant", [name for name in MODULES if name != "yardstick"])
def test_contestants_agree(contestant: str, workload: str) -> None:
    found, expected = answer_of(contestant, workload), answer_of("yardstick", workload)
    assert expected is not None
    if found is None:
        assert (contestant, workload) == ("polars", "W4")
        return
    check_rows(contestant, found, expected)
    check_digests(contestant, digests(found), digests(expected))


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
    answer = answer_of("yardstick", workload, 300)
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
    state, out = np.zeros(4, np.int64), [np.zeros(16, np.int64) for _ in range(6)]
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
    expected = answer_of("yardstick", workload)
    assert expected is not None
    damaged = {name: [damage(parts[0]), *parts[1:]] for name, parts in expected.items()}
    with pytest.raises(WrongAnswerError):
        check_rows("damaged", damaged, expected)
    with pytest.raises(WrongAnswerError):
        check_digests("damaged", digests(damaged), digests(expected))


def test_order_and_parts_do_not_matter() -> None:
    answer = answer_of("yardstick", "W1")
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


def test_a_wrong_answer_ends_the_experiment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = answer_of("yardstick", "W1")
    assert answer is not None
    parts = answer["W1"]

    def damaged(_given, contestant, _workload, _count, rows=None):
        shown = parts if contestant == "yardstick" else [rebind_one(parts[0])]
        if rows:
            np.savez(rows, W1=sorted_rows(shown))
        return {"found": {}, "seconds": 1.0, "cpu": 1.0, "peak_mb": 1.0}

    monkeypatch.setattr(detect, "_job", damaged)
    assert detect.run(tmp_path, None, ["--only", "W1", "--skip-scale"]) == 1
    assert "wrong answer: stretto on W1" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_wrong_digest_ends_the_experiment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def counted(_given, contestant, _workload, _count, rows=None):
        if rows:
            np.savez(rows, W1=np.zeros((1, 5)))
        return {"found": {"W1": {"matches": len(contestant)}}, "seconds": 1.0, "cpu": 1.0, "peak_mb": 1.0}

    monkeypatch.setattr(detect, "_job", counted)
    assert detect.run(tmp_path, None, ["--only", "W1", "--skip-scale"]) == 1


def test_fewer_events_where_limits_are_met(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def limited(_given, contestant, _workload, count, rows=None):
        if rows:
            np.savez(rows, W1=np.zeros((1, 5)))
        elif contestant == "polars" and count > 100_000:
            raise launch.TooMuchError("out of memory")
        return {"found": {"W1": {"matches": count}}, "seconds": 1.0, "cpu": count / 1e6, "peak_mb": 1.0}

    monkeypatch.setattr(detect, "_job", limited)
    assert detect.run(tmp_path, None, ["--only", "W1", "--skip-scale", "--events", "1000000"]) == 0
    text = (tmp_path / "detect.txt").read_text()
    assert "1.00 (100k events: out of memory)" in text
    cells = json.loads((tmp_path / "detect.json").read_text())["cells"]
    assert {cell["events_per_second"] for cell in cells} == {1e6}
    assert (tmp_path / "detect.png").stat().st_size > 0


def test_processes_are_watched() -> None:
    hungry = [sys.executable, "-c", "x = bytearray(1 << 30); import time; time.sleep(9)"]
    with pytest.raises(launch.TooMuchError, match="memory"):
        launch.launch(hungry, memory=1 << 28)
    slow = "import signal, time; signal.setitimer(signal.ITIMER_REAL, 0.1); time.sleep(9)"
    with pytest.raises(launch.TooMuchError, match="time"):
        launch.launch([sys.executable, "-c", slow], memory=1 << 30)
    with pytest.raises(launch.FailedError, match="ouch"):
        launch.launch([sys.executable, "-c", "raise SystemExit('ouch')"], memory=1 << 30)


def test_what_could_not_run_says_why() -> None:
    cells = [
        report.Cell("stretto", "W4", 1_000, 10, 2.5, 2.0),
        report.Cell("polars", "W4", 1_000, missing="n/a: no plain formulation of subsets"),
        report.Cell("yardstick", "W4", 1_000, 10, 1.5, 1.0),
    ]
    text = report.table(report.Outcome(3, cells))
    assert "seed 3" in text
    assert "n/a: no plain formulation of subsets" in text
    assert "2.000s   1.00" in text
    assert "1.000s   0.50" in text
