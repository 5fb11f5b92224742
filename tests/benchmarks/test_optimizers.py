"""The experiments of MOTTO and MCEP: they run, compare every match, and say what they found."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from benchmarks.contestants.answers import WrongAnswerError, found_in
from benchmarks.optimizers import Bench, Case, Contestant, Scale, Source
from benchmarks.optimizers_report import (
    Cell,
    Figure,
    Outcome,
    Point,
    measured,
    over_seeds,
    summary,
    table,
    write,
)

from benchmarks import mcep, motto, optimizers
from stretto.engine.kernels import when_to_compile
from stretto.generate.workloads import workload as generated
from stretto.plan.optimize import optimize

TEXT = """\
QUERY one PATTERN SEQ(A a, B b, C c) WHERE a.x < c.x WITHIN 3 SECONDS;
QUERY two PATTERN SEQ(A a, B b+, D d) WHERE a.x < d.x WITHIN 1 SECOND;
QUERY three PATTERN ANY(A a, B b) WITHIN 100 MILLISECONDS;
"""
SMALL = Scale(batch=500, step=300, most=2_000, pilot=1_000, known=1_000, enough=0.0, repeat=1)
CASE = Case(Source("uniform", rate=20.0), TEXT, 60.0)
SHARED = [Contestant("none", "none"), Contestant("share", "share"), Contestant("again", "none", 2.0)]


@pytest.fixture(autouse=True)
def twins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever an experiment sets is forgotten."""
    monkeypatch.setattr(when_to_compile, "always", when_to_compile.always)


def test_a_point_compares_and_times_everyone() -> None:
    point = Bench(SMALL).point("here", CASE, SHARED)
    assert [cell.label for cell in point.cells] == ["none", "share", "again"]
    assert {cell.events for cell in point.cells} == {2_000}
    assert len({cell.matches for cell in point.cells}) == 1
    assert point.cells[0].matches > 1_000
    assert point.cells[0].gain == 1.0
    assert point.cell("again").alike == "none"
    assert point.cell("again").seconds == point.cells[0].seconds
    assert all(0 < cell.output <= cell.seconds for cell in point.cells), "output is on the clock"


def test_the_same_point_is_run_once(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(SMALL)
    first = bench.point("here", CASE, SHARED)
    monkeypatch.setattr(optimizers, "optimize", None)
    assert bench.point("there", CASE, SHARED) == replace(first, at="there")


def test_an_unknown_optimizer_is_left_out() -> None:
    point = Bench(SMALL).point("here", CASE, [SHARED[0], Contestant("better", "better")])
    assert point.cells[1].missing == "no such optimizer"
    assert point.timed == [point.cells[0]]


def test_slow_points_get_fewer_events() -> None:
    case = replace(CASE, limit=1e-9)
    point = Bench(replace(SMALL, long=1e-9)).point("here", case, SHARED)
    assert {cell.events for cell in point.cells} == {250}


def test_those_near_the_fastest_get_more_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimizers, "NEAR", float("inf"))  # whatever the machine does meanwhile
    point = Bench(SMALL).point("here", replace(CASE, limit=1e-9), SHARED)
    assert {cell.events for cell in point.cells} == {2000}


def test_slow_ones_of_a_long_point_are_judged_beside_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    races = []

    def race(self, case, running, plans, cells, scale, events) -> None:
        races.append(([one.label for one in running], events))
        raced(self, case, running, plans, cells, scale, events)

    raced = Bench._race
    monkeypatch.setattr(Bench, "_race", race)
    monkeypatch.setattr(optimizers, "LONG", 1e-3)
    point = Bench(replace(SMALL, long=1e-9)).point("here", replace(CASE, limit=1e-2), SHARED)
    events = point.cells[0].events
    assert races[:2] == [(["none"], events), (["none", "share"], events // 100)]
    assert point.cell("share").events == events // 100


def test_other_matches_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(workload, stats, optimizer, budget):
        text = TEXT.replace("a.x < c.x", "a.x <= c.x + 0.1") if optimizer == "share" else TEXT
        return optimize(type(workload).parse(text), stats, "none")

    monkeypatch.setattr(optimizers, "optimize", wrong)
    with pytest.raises(WrongAnswerError, match="share: one"):
        Bench(SMALL).point("here", CASE, SHARED)


def test_other_matches_end_the_experiment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def make() -> Outcome:
        raise WrongAnswerError("share: one: 3 matches, expected 4")

    assert measured("motto", tmp_path, make) == 1
    assert "motto: share: one: 3 matches" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_unbound_variables_are_compared() -> None:
    batch = pa.record_batch(
        {
            "a": pa.array([1, None]),
            "b": pa.array([[2, 3], None], pa.list_(pa.int64())),
            "start": pa.array([5, 6], pa.timestamp("us")),
            "end": pa.array([7, 8], pa.timestamp("us")),
            "detected": pa.array([7, 8], pa.timestamp("us")),
        }
    )
    found = found_in(batch)
    assert found.columns[0].tolist() == [1, -1]
    assert found.columns[1].offsets.tolist() == [0, 2, 2]
    assert found.columns[1].values.tolist() == [2, 3]
    assert np.array_equal(found.end, [7, 8])


def test_seeds_become_medians_and_their_spread() -> None:
    def made(seed: int) -> Outcome:
        auto = Cell("auto", "auto", events=100, seconds=1.0 / seed, gain=float(seed))
        point = Point("here", (Cell("none", "none", events=100, seconds=1.0, gain=1.0), auto), str(seed))
        return Outcome("motto", seed, (Figure("13a", "stocks", "basic", (point,), ("auto",)),))

    assert over_seeds([3], made) == made(3)
    outcome = over_seeds([1, 2, 9], made)
    assert outcome.figures[0].points[0].cell("auto").gains == (1.0, 2.0, 9.0)
    assert "2.00* [1.00-9.00]" in table(outcome)
    assert "seeds 1, 2, 9" in table(outcome)
    assert summary(outcome)[0] == "auto is the fastest or within 5% of it on 3 of 3 points"


def outcome_of(seed: int, figures: list[str], gain: float) -> Outcome:
    none = Cell("none", "none", events=100, seconds=1.0, gain=1.0)
    cells = (none, Cell("auto", "auto", events=100, seconds=1.0 / gain, gain=gain))
    made = [
        Figure(name, "stocks", "basic", (Point("here", cells, f"{name}{seed}"),), ("auto",))
        for name in figures
    ]
    return Outcome("motto", seed, tuple(made), {"all": made[0].points[0]}, 10.0)


def test_parts_that_were_run_apart_are_joined(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = [outcome_of(1, ["14a"], 2.0), outcome_of(1, ["13a"], 3.0), outcome_of(2, ["13a"], 5.0)]
    for i, part in enumerate(parts):
        write(part, tmp_path / str(i))
    files = [str(tmp_path / str(i) / "motto.json") for i in range(3)]
    assert motto.run(tmp_path, None, ["--join", *files[:2]]) == 0
    assert [figure["name"] for figure in json.loads((tmp_path / "motto.json").read_text())["figures"]] == [
        "13a",
        "14a",
    ]
    assert motto.run(tmp_path, None, ["--join", str(tmp_path / "motto.json"), files[2]]) == 0
    shown = capsys.readouterr().out
    assert "4.00* [3.00-5.00]" in shown
    assert "Figure 14a. stocks (seeds: 1)" in shown
    assert "30 s in all" in shown


def test_motto(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert motto.run(tmp_path, None, ["--quick", "--only", "datacenter,queries"]) == 0
    shown = capsys.readouterr().out
    assert "Figure 13b. data centre" in shown
    assert "motto-anneal" in shown
    assert "auto is the fastest or within 5%" in shown
    record = json.loads((tmp_path / "motto.json").read_text())
    assert [figure["name"] for figure in record["figures"]] == ["13b", "14a"]
    assert (tmp_path / "motto.png").stat().st_size > 0
    assert (tmp_path / "motto.txt").read_text().strip() == shown.strip()


def test_mcep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--quick", "--only", "window,adapt", "--data-sets", "stocks"]
    assert mcep.run(tmp_path, None, arguments) == 0
    shown = capsys.readouterr().out
    assert "Figure 12c. stocks, time window" in shown
    assert "Figure 13a." in shown
    assert "auto gains" in shown
    assert len(json.loads((tmp_path / "mcep.json").read_text())["figures"]) == 3


def test_a_plan_that_was_cut_off_is_marked() -> None:
    """A workload whose initial plan costs more than the least work that is always done."""
    text = generated("mcep-stocks", 40, 1, length=5, types=30, window="2 SECONDS")
    case = Case(Source("mcep-stocks", types=30), text, 1.0)
    planned = Bench(SMALL).planned(case, [Contestant("short", "mcep", 0.0), Contestant("long", "mcep", 5.0)])
    cells = {label: cell for label, (cell, _) in planned.items()}
    assert cells["short"].incomplete
    assert not cells["long"].incomplete
    figure = Figure("12a", "stocks", "n", (Point("40", tuple(cells.values())),), ("short", "long"))
    text = table(Outcome("mcep", 1, (figure,), budget=5.0))
    assert f"({cells['short'].planning:.1f}!)" in text
    assert f"({cells['long'].planning:.1f})" in text
    assert "planning limit 5 s for every optimizer" in text


def test_a_limit_that_cuts_plans_off_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        mcep.run(Path(), None, ["--budget", "1.5"])
    assert "initial plan of `mcep` may be incomplete" in capsys.readouterr().err
    assert mcep.Setting().budget >= 5


def test_windows_change_and_patterns_stay() -> None:
    sweeps = mcep.Sweeps(mcep.STOCKS, mcep.QUICK, Bench())
    default, other = sweeps._text(), sweeps._text(window="900 EVENTS")
    assert default != other
    assert default.replace("WITHIN  2 SECONDS;", "WITHIN  900 EVENTS;") == other


def point(at: str, key: str, **seconds: float) -> Point:
    none = seconds["none"]
    names = {name: name.replace("_", "-") for name in seconds}
    cells = (
        Cell(names[n], names[n], events=1_000, matches=10, seconds=s, gain=none / s)
        for n, s in seconds.items()
    )
    return Point(at, tuple(cells), key)


def test_the_summary_counts_every_point_once() -> None:
    near, far = (
        point("1", "k1", none=8.0, mcep=2.0, auto=2.05),
        point("2", "k2", none=8.0, mcep=1.0, auto=2.0),
    )
    fewer = Point("3", far.cells[:2] + far.cells[2:], "k2")
    labels = ("mcep", "auto")
    figures = (
        Figure("12a", "stocks", "n", (near, far), labels),
        Figure("12b", "stocks", "n", (fewer,), labels),
    )
    lines = summary(Outcome("mcep", 1, figures, {"default": near}))
    assert lines[0] == "auto is the fastest or within 5% of it on 1 of 2 points"
    assert lines[1] == "  behind at 12a (stocks) at 2 (mcep is 2.00 times as fast)"
    assert lines[2].endswith("median over the points: 0.74")
    assert lines[3].startswith("default: auto gains 3.9 over none")


def test_tables_mark_the_fastest() -> None:
    figure = Figure("12a", "stocks", "n", (point("1", "k", none=8.0, mcep=2.0, auto=2.05),), ("mcep", "auto"))
    text = table(Outcome("mcep", 1, (figure,)))
    assert "4.00* (0.0)" in text
    assert "3.90* (0.0)" in text


def test_names_are_checked(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        mcep.run(Path(), None, ["--only", "sizes"])
    assert "unknown: sizes" in capsys.readouterr().err
