"""The experiment of RUMOR: it runs, compares answers, and puts each goal beside what was measured."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.rumor_measure import Cell
from benchmarks.rumor_report import GOALS, Figure, Outcome, Point, table

from benchmarks import rumor


def test_a_quick_run_of_every_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = [
        "--quick",
        "--optimizers",
        "none",
        "auto",
        "--only",
        "9a",
        "table",
        "10ab",
        "10cd",
        "11",
        "streams",
    ]
    assert rumor.run(tmp_path, None, call) == 0
    shown = capsys.readouterr().out
    assert "OTHER ANSWERS" not in shown
    written = json.loads((tmp_path / "rumor.json").read_text())
    points = [point for figure in written["figures"] for point in figure["points"]]
    cells = [cell for point in points for cell in point["cells"]]
    assert not [cell["missing"] for cell in cells if cell["missing"]]
    assert all(cell["run"] > 0 for cell in cells)
    assert sum(cell["outputs"] for cell in cells) > 1_000
    for name, *_ in GOALS:
        assert name in shown


def test_other_answers_are_no_times() -> None:
    cells = [Cell("none", 10, 5, run=1.0, digest="a"), Cell("auto", 10, 5, run=1.0, digest="b")]
    assert [cell.missing for cell in rumor.agreeing(cells)] == ["", "OTHER ANSWERS"]
    fewer = [cells[0], Cell("duckdb", 10, 4, run=1.0)]
    assert [cell.run for cell in rumor.agreeing(fewer)] == [1.0, 0.0]
    alike = [cells[0], replace(cells[0], label="auto")]
    assert not any(cell.missing for cell in rumor.agreeing(alike))


def test_what_matches_cost_is_taken_off() -> None:
    def figure(name: str, times: tuple[tuple[float, int], ...]) -> Figure:
        return Figure(name, "", "", tuple(Point("", 1, (Cell("auto", 100, o, run=t),)) for t, o in times))

    # time = a + b * matches: a is 1 and 1.5, b is 0.01
    full = figure("9a, matches 100%", ((2.0, 100), (11.5, 1_000)))
    half = figure("9a, matches 50%", ((1.5, 50), (6.5, 500)))
    fewer = figure("9a, matches 25%", ((1.25, 25), (4.0, 250)))
    runs = (full, half, fewer)
    (line,) = [one for one in table(Outcome(0, runs)).splitlines() if one.startswith("W1, without")]
    assert line.split()[-1] == "1.50"
    (line,) = [one for one in table(Outcome(0, runs[1:])).splitlines() if one.startswith("W1, without")]
    assert line.split()[-1] == "measured", "two runs are always on a line"
    slower = tuple(  # a is 1 and 3
        figure(run.name, ((first, few), (3 + 0.01 * many, many)))
        for run, first, few, many in zip(
            runs, (2.0, 1.5, 1.25), (100, 50, 25), (1_000, 500, 250), strict=True
        )
    )
    assert "MISSED" in table(Outcome(0, slower))
