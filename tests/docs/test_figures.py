"""Every measured number in README.md and docs/benchmarks.md is the stored one, and the check of that can fail."""

import json
from pathlib import Path

import pytest
from tools.figures import (
    INLINE,
    NO_MEASUREMENTS,
    PAGES,
    ROOT,
    FigureError,
    Results,
    faults,
    figure,
    main,
    unmarked,
    written,
)

STORED = {
    "machine": "EPYC, 2 cores",
    "cells": [
        {"name": "Spark, local[2]", "workload": "W1", "seconds": 0.5, "matches": 1234567},
        {"name": "Polars", "workload": "W1", "seconds": 1.234, "matches": 1234567},
        {"name": "Polars", "workload": "W2", "seconds": 2.0, "matches": None},
    ],
    "ratios": {"by one core": 0.126},
    "goals": [
        {"name": "W1, polars / stretto", "value": 2.61, "goal": 2.5, "at_most": False, "reached": True},
        {"name": "W3, polars / stretto", "value": 0.654, "goal": 3.0, "at_most": False, "reached": False},
        {"name": "FIRST / none", "value": 1.25, "goal": 1.1, "at_most": True, "reached": False},
    ],
}
PAGE = """# Page

Polars takes 1.23<!-- = a.json#/cells/name=Polars,workload=W1/seconds .2f --> s (goal 2) on 100 queries
and 13%<!-- = a.json#/ratios/'by one core' .0% --> of `10 s`, by Python 3.11.

<!-- figures
file: a.json
rows: W1 | W2
seconds: #/cells/name=Polars,workload={row}/seconds .2f
matches: #/cells/name=Polars,workload={row}/matches ,d
  else n/a
-->
| workload W1 | seconds | `matches` |
| --- | --- | --- |
| `WITHIN 10 s` | 1.23 | 1,234,567 |
| ten of W1 | 2.00 | n/a |

<!-- missed goals: a.json -->
| experiment | what | goal | measured |
| --- | --- | --- | --- |
| `a` | W3, polars / stretto | at least 3 | 0.65 |
| `a` | FIRST / none | at most 1.1 | 1.25 |
"""
CHANGES = [
    ("takes 1.23", "takes 1.24"),
    ("13%", "14%"),
    ("| 1.23 |", "| 1.24 |"),
    ("| 2.00 |", "| 2.01 |"),
    ("1,234,567", "1,234,568"),
    ("n/a |", "0.5 |"),
    ("at least 3 |", "at least 2 |"),
    ("| `a` | FIRST / none | at most 1.1 | 1.25 |\n", ""),
]
UNMARKED = [
    "It takes 3.5 s.",
    "1.5 times as fast as 100 queries.",
    "0.65 million events per second.",
    "2.2 million matches come.",
    "It saves 83%.",
    "| W3 | 7.1 |\n",
    "within 3 seconds",
    "It is twice, or 12 times, as fast.",
    "2013.5 ms",
    "By Python 3.11, it takes 4 s.",
    "Polars 2.66 times",
]


@pytest.fixture
def results(tmp_path: Path) -> Results:
    (tmp_path / "a.json").write_text(json.dumps(STORED))
    return Results(tmp_path)


@pytest.mark.parametrize("name", PAGES)
def test_the_pages_have_the_stored_figures(name: str) -> None:
    page = (ROOT / name).read_text("utf-8")
    assert list(faults(page, Results(ROOT / "benchmarks" / "results"))) == []
    assert page.count("<!-- figures") + page.count("<!-- =") >= 1


@pytest.mark.parametrize("name", PAGES)
def test_no_line_of_a_marker_in_prose_begins_a_list_or_a_heading(name: str) -> None:
    """Markdown would end the paragraph there, and show the rest of the marker."""
    page = (ROOT / name).read_text("utf-8")
    lines = [line for hit in INLINE.finditer(page) for line in hit[0].splitlines()[1:]]
    assert not [line for line in lines if line.lstrip()[:1] in "-+*#>|"]


def test_a_page_with_stored_figures_has_no_faults(results: Results) -> None:
    assert list(faults(PAGE, results)) == []
    assert written(PAGE, results) == PAGE


@pytest.mark.parametrize(("shown", "other"), CHANGES)
def test_a_changed_figure_is_a_fault_and_is_written_again(shown: str, other: str, results: Results) -> None:
    assert PAGE.count(shown) >= 1
    changed = PAGE.replace(shown, other, 1)
    assert len(list(faults(changed, results))) == 1
    assert written(changed, results) == PAGE


@pytest.mark.parametrize("text", UNMARKED)
def test_an_unmarked_figure_is_a_fault(text: str, results: Results) -> None:
    (fault,) = list(faults(f"{PAGE}\n{text}\n", results))
    assert "has no marker" in fault


def test_an_unmarked_figure_in_a_column_without_a_line_is_a_fault(results: Results) -> None:
    (fault,) = list(faults(PAGE.replace("| ten of W1", "| 8.5 of W1"), results))
    assert "`8.5` has no marker" in fault


def test_a_column_may_have_a_marker_for_each_row(results: Results) -> None:
    changed = PAGE.replace(
        "seconds: #/cells/name=Polars,workload={row}/seconds .2f", "seconds: #/cells/1/seconds .2f | -"
    ).replace("| 2.00 |", "| more |")
    assert list(faults(changed, results)) == []
    (fault,) = list(faults(changed.replace("| more |", "| 2.50 |"), results))
    assert "`2.50` has no marker" in fault


@pytest.mark.parametrize(
    "text",
    [
        "On 2026-11-20 by Python 3.11, Polars 2.1.",
        "W1, figure 14a (2017), seed 7",
        "20 random workloads, 5,000 events",
    ],
)
def test_numbers_that_measure_nothing_need_no_marker(text: str, results: Results) -> None:
    assert list(unmarked(text, results)) == []


@pytest.mark.parametrize(
    ("marker", "shown"),
    [
        ("a.json#/machine s", "EPYC, 2 cores"),
        ("a.json#/cells/name='Spark, local[2]'/seconds .1f", "0.5"),
        ("a.json#/cells/1/seconds / a.json#/cells/0/seconds .2f", "2.47"),
        ("a.json#/cells/0/matches / a.json#/cells/0/seconds .1fM", "2.5M"),
        ("median a.json#/cells/*/seconds .3f", "1.234"),
        ("max a.json#/cells/name=Polars/seconds / a.json#/cells/0/seconds .1f", "4.0"),
        ("below-zero a.json#/cells/*/seconds - 1 d", "1"),
        ("a.json#/cells/0/seconds * 1000 ,.0f", "500"),
        ("a.json#/cells/7/seconds .2f else n/a", "n/a"),
        ("b.json#/cells/7/seconds .2f else not run", "not run"),
        ("median a.json#/cells/*/planning / a.json#/cells/*/seconds .2f else not run", "not run"),
        ("a.json#/cells/2/seconds / a.json#/cells/2/matches .2f else n/a", "n/a"),
    ],
)
def test_markers_are_read(marker: str, shown: str, results: Results) -> None:
    assert figure(marker, results) == shown


@pytest.mark.parametrize(
    ("marker", "sentence"),
    [
        ("b.json#/machine s", "there is no result file `b.json`"),
        ("b.json#/a / a.json#/cells/0/seconds .2f", "there is no result file"),
        ("a.json#/cells/*/seconds .2f", "selects 3 values"),
        ("a.json#/cells/9/seconds .2f", "selects 0 values"),
        ("1.5 .2f", "names no stored value"),
        ("a.json#/machine .2f", "is no number"),
        ("a.json#/cells/0/seconds", "does not end with a format"),
        ("a.json#/cells/0/seconds ^ 2 .2f", "is none of"),
    ],
)
def test_markers_that_name_nothing_are_refused(marker: str, sentence: str, results: Results) -> None:
    with pytest.raises(FigureError, match=sentence.replace("`", ".")):
        figure(marker, results)


@pytest.mark.parametrize(
    "page",
    [
        PAGE.replace("seconds: #", "minutes: #"),
        PAGE.replace("rows: W1 | W2", "rows: W1"),
        PAGE.replace("rows: W1 | W2", "rows: W1 | W2 | W2"),
    ],
)
def test_a_table_that_does_not_fit_its_marker_is_refused(page: str, results: Results) -> None:
    with pytest.raises(FigureError):
        written(page, results)


@pytest.mark.parametrize(
    "page", [PAGE.replace("| workload W1", "text\n| workload"), f"{PAGE}a<!-- = a.json#/b s -->\n"]
)
def test_a_marker_without_a_number_is_a_fault(page: str, results: Results) -> None:
    assert any("a marker stands neither" in fault for fault in faults(page, results))


def test_the_command_writes_and_then_finds_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "benchmarks" / "results").mkdir(parents=True)
    (tmp_path / "benchmarks" / "results" / "a.json").write_text(json.dumps(STORED))
    (tmp_path / "docs").mkdir()
    for name in PAGES:
        (tmp_path / name).write_text(PAGE.replace("1.23", "1.99"))
    assert main([], tmp_path) == 1
    assert "README.md: line 3 is" in capsys.readouterr().out
    assert main(["--write"], tmp_path) == 0
    assert main([], tmp_path) == 0
    assert all((tmp_path / name).read_text() == PAGE for name in PAGES)


def test_the_list_of_kinds_is_short() -> None:
    assert len(NO_MEASUREMENTS) <= 10
