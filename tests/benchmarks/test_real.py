"""The comparison on real events, in small on generated ones."""

import json
from pathlib import Path
from time import sleep

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.real_workloads import SETS
from tests.plan.bursts import bursty, queries

import stretto
from benchmarks import cost_on_sets, real
from stretto.engine.results.matches import Matches
from stretto.pattern.workload import Workload

EVENTS = 2_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pq.write_table(bursty(EVENTS, 1), tmp_path / SETS["flights"])
    return tmp_path


def test_optimizers_are_compared_on_the_events_of_a_folder(folder: Path, tmp_path: Path) -> None:
    options = [
        "--sets",
        "flights",
        "--optimizers",
        "none,reorder,auto",
        "--workloads",
        "1",
        "--queries",
        "2",
        "3",
        "--repeat",
        "1",
    ]
    assert real.run(tmp_path / "out", folder, [*options, "--events", str(EVENTS), "--budget", "1"]) == 0
    (trial,) = json.loads((tmp_path / "out" / "real.json").read_text(encoding="utf-8"))["trials"]
    assert set(trial["outcomes"]) == {"none", "reorder", "auto"}
    assert 2 <= trial["queries"] <= 3
    assert all(one["candidates"] >= 0 and one["predicted"] > 0 for one in trial["outcomes"].values())
    (totals,) = (trial["text_to_columns"],)
    assert all(totals[name] == one["planning"] + one["wall"] for name, one in trial["outcomes"].items())
    assert all(0 < one["run"] <= one["seconds"] for one in trial["outcomes"].values())
    assert "flights" in (tmp_path / "out" / "real.txt").read_text(encoding="utf-8")


def trial_of(none: tuple[float, float], auto: tuple[float, float]) -> real.Trial:
    """A workload by planning and run of both optimizers."""
    outcomes = {
        name: real.Outcome(run, 1, planning, run, wall=run)
        for name, (planning, run) in {"none": none, "auto": auto}.items()
    }
    return real.Trial("flights", 1, 2, "", 3, outcomes)


def test_the_time_from_text_to_columns_is_apart_from_that_without_planning() -> None:
    trials = [
        trial_of(none=(0.1, 1.0), auto=(2.0, 0.5)),  # `none` is done before `auto` has a plan
        trial_of(none=(0.1, 2.2), auto=(2.0, 0.55)),  # and here before `auto` is done
        trial_of(none=(0.1, 9.0), auto=(2.0, 0.5)),
    ]
    summary = real.summary_of(trials)
    assert summary["none_finishes_first"] == 2
    assert summary["none_finishes_before_auto_is_planned"] == 1
    assert summary["speedup_over_none"]["auto"] == {"median": 4.0, "least": 2.0, "most": pytest.approx(18.0)}
    assert summary["auto_by_fastest"]["median"] == 1.0
    assert summary["text_to_columns"]["none"]["text_to_columns"] == pytest.approx(12.5)


def test_the_clock_runs_while_columns_are_built(monkeypatch: pytest.MonkeyPatch) -> None:
    build = Matches.__getitem__

    def slowly(matches: Matches, query: str) -> pa.Table:
        sleep(0.2)
        return build(matches, query)

    monkeypatch.setattr(Matches, "__getitem__", slowly)
    table = bursty(EVENTS, 1)
    plan = stretto.optimize(queries(1, 2), table)
    outcome, _ = real._measured(plan, table)
    assert outcome.wall >= 0.2 * len(plan.queries)


def test_without_events_there_is_nothing_to_compare(tmp_path: Path) -> None:
    assert real.run(tmp_path, tmp_path / "none", []) == 2


def test_predictions_are_held_to_account_by_kind() -> None:
    workload = Workload.parse(queries(1, 2))
    runs = list(cost_on_sets.runs_of("flights", 0, bursty(EVENTS, 1), workload, 1))
    assert [run.optimizer for run in runs] == list(cost_on_sets.OPTIMIZERS)
    for run in runs:
        assert run.predicted > 0
        assert {"scan", "join", "emit"} <= set(run.kinds)
        assert sum(predicted for predicted, _ in run.kinds.values()) <= run.predicted * 1.0001
    lines = list(cost_on_sets.set_lines(runs, {"flights": 1.0}))
    assert len(lines) == 2 + len({kind for run in runs for kind in run.kinds})


def test_trials_that_were_run_apart_are_joined(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for seed in (3, 4):
        fast = {"seconds": 1.0, "candidates": 5, "planning": 0.1, "predicted": 1.0, "q_errors": [2.0]}
        outcomes = {"none": {**fast, "seconds": 2.0}, "auto": fast}
        about = {"data": "flights", "seed": seed * 1_000, "queries": seed, "text": "", "matches": 1}
        record = {"seed": seed, "trials": [{**about, "outcomes": outcomes, "ratio": 1.0}]}
        (tmp_path / f"{seed}.json").write_text(json.dumps(record), encoding="utf-8")
    files = [str(tmp_path / f"{seed}.json") for seed in (3, 4)]
    assert real.run(tmp_path / "out", None, ["--join", *files]) == 0
    shown = capsys.readouterr().out
    assert "2 workloads of 3 to 4 queries" in shown
    assert "seeds 3, 4" in shown
    assert [t["seed"] for t in json.loads((tmp_path / "out" / "real.json").read_text())["trials"]] == [
        3_000,
        4_000,
    ]
