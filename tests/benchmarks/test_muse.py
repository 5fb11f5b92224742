"""The experiment of MUSE: it runs, compares every total, and says what it found."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from benchmarks.contestants.answers import WrongAnswerError
from benchmarks.muse_contestants import check_totals
from benchmarks.muse_report import Cell, Figure, Outcome, Point, summary, table, write

from benchmarks import muse, muse_contestants
from stretto.engine.kernels import when_to_compile
from stretto.pattern.workload import Workload

TOTALS = pa.table(
    {
        "query": ["p", "q", "q"],
        "window_start": pa.array([0, 0, 60], pa.timestamp("us")),
        "window_end": pa.array([60, 60, 120], pa.timestamp("us")),
        "group": ['{"k": 1}', '{"k": 1}', '{"k": 2}'],
        "name": ["COUNT(*)", "SUM(a.x)", "SUM(a.x)"],
        "value": [8.0, 2.5, None],
        "exact": ["8", None, None],
        "log2_count": [3.0, None, None],
    }
)


@pytest.fixture(autouse=True)
def twins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever an experiment sets is forgotten."""
    monkeypatch.setattr(when_to_compile, "always", when_to_compile.always)


def changed(name: str, values: list[object]) -> Callable[[pa.Table], pa.Table]:
    def change(totals: pa.Table) -> pa.Table:
        place = totals.column_names.index(name)
        return totals.set_column(place, name, pa.array(values, totals.schema.field(name).type))

    return change


@pytest.mark.parametrize(
    "damage",
    [
        lambda totals: totals.slice(1),
        lambda totals: pa.concat_tables([totals, totals.slice(1, 1)]),
        changed("value", [8.0, 2.5 + 1e-7, None]),
        changed("value", [8.0, 2.5, 0.0]),
        changed("value", [8.0, float("nan"), None]),
        changed("exact", ["9", None, None]),
        changed("exact", ["8", "2", None]),
        changed("log2_count", [3.1, None, None]),
        changed("group", ['{"k": 1}', '{"k": 1}', '{"k": 3}']),
        changed("window_start", [0, 0, 120]),
    ],
)
def test_a_damaged_answer_is_noticed(damage: Callable[[pa.Table], pa.Table]) -> None:
    with pytest.raises(WrongAnswerError):
        check_totals("damaged", damage(TOTALS), TOTALS)


def test_order_and_the_last_digits_do_not_matter() -> None:
    near = changed("value", [8.0, 2.5 * (1 + 1e-12), None])(TOTALS)
    check_totals("near", near.take([2, 0, 1]), TOTALS)


def test_everything_in_small(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert muse.run(tmp_path, None, ["--quick"]) == 0
    shown = capsys.readouterr().out
    for name in ("4a", "4b", "4c", "4d", "4+", "one", "long"):
        assert f"Figure {name}. " in shown
    assert "all contestants agree on 6 queries over rides" in shown
    assert "4a: largest window that two-step finished: 60 events" in shown
    assert "4a: largest window that sharon finished: 60 events" in shown
    for optimizer in ("muse", "auto"):
        assert f"{optimizer} over greta by MatStates per event" in shown
    record = json.loads((tmp_path / "muse.json").read_text())
    assert [figure["name"] for figure in record["figures"]] == ["4a", "4b", "4c", "4d", "4+", "one", "long"]
    assert (tmp_path / "muse.png").stat().st_size > 0
    assert (tmp_path / "muse.txt").read_text().strip() == shown.strip()


def test_other_totals_end_the_experiment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    right = muse_contestants._totals
    calls = []

    def wrong(plan, events) -> pa.Table:
        calls.append(plan.optimizer)
        found = right(plan, events)
        return found.slice(1) if plan.optimizer == "auto" else found

    monkeypatch.setattr(muse_contestants, "_totals", wrong)
    assert muse.run(tmp_path, None, ["--quick", "--only", "queries"]) == 1
    assert "muse: auto: " in capsys.readouterr().err
    assert calls == ["greta", "muse", "auto"]
    assert not list(tmp_path.iterdir())


def test_the_share_of_matstates_is_that_of_the_events() -> None:
    case = muse._Case(muse.RIDES, 1, 20_000, 0.05, 1)
    events = case.table(1)
    assert case.made(events) == pytest.approx(0.05, rel=0.2)
    only = events.filter(pc.equal(events["type"].cast(pa.string()), "Travel"))
    groups = {
        (us // 60_000_000, d)
        for us, d in zip(only["ts"].cast(pa.int64()).to_pylist(), only["district"].to_pylist(), strict=True)
    }
    assert case.made(only) == len(groups) / only.num_rows


@pytest.mark.parametrize("label", ["muse", "auto", "greta"])
def test_an_optimizer_runs_under_its_own_name(label: str) -> None:
    case = muse._Case(muse.STOCKS, 4, 100, 0.2, 1)
    workload, events = Workload.parse(case.text), case.table(1)
    task = muse_contestants.Task(workload, muse_contestants.statistics(events, workload))
    assert muse_contestants.prepare(label, task, events).plan.trends.optimizer == label


def test_the_summary_and_what_is_missing() -> None:
    def point(at: int, **seconds: float) -> Point:
        cells = tuple(Cell(name.replace("_", "-"), 1_000, 5, s) for name, s in seconds.items() if s)
        late = tuple(Cell(name.replace("_", "-"), missing="too long") for name, s in seconds.items() if not s)
        return Point(f"{at:,}", (*cells, *late), 10, at, 0.01)

    points = (point(100, muse=0.1, greta=1.0, two_step=500.0), point(2_000, muse=0.1, greta=4.0, two_step=0))
    outcome = Outcome(3, (Figure("4a", "rides", "events per window", points),), {"rides": 7}, 12.0)
    assert summary(outcome) == [
        "4a: largest window that two-step finished: 100 events; muse is 5,000 times as fast",
        "4a: muse over greta by events per window: 10 at 100, 40 at 2,000",
    ]
    text = table(outcome)
    assert "muse: seed 3;" in text
    assert "n/a: two-step at 2,000: too long" in text
    assert "10k (40)" in text


def test_names_are_checked(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        muse.run(Path(), None, ["--only", "sizes"])
    assert "unknown: sizes" in capsys.readouterr().err


def test_figures_that_were_run_apart_are_joined(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("4c", "4a"):
        point = Point("here", (Cell("greta", 10, 1, 1.0), Cell("muse", 10, 1, 0.5)), 3, 10)
        write(Outcome(1, (Figure(name, "rides", "events", (point,)),), {"rides": 4}, 7.0), tmp_path / name)
    files = [str(tmp_path / name / "muse.json") for name in ("4c", "4a")]
    assert muse.run(tmp_path, None, ["--join", *files]) == 0
    shown = capsys.readouterr().out
    assert shown.index("Figure 4a") < shown.index("Figure 4c")
    assert "14 s in all" in shown
