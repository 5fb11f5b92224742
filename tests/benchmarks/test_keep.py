"""What KEEP leaves of W1 and W2 is what a plain walk leaves, and the comparison notices what is missing."""

import json
import time
from pathlib import Path

import pyarrow as pa
import pytest
from benchmarks.contestants.answers import WrongAnswerError
from benchmarks.contestants.workloads import WORKLOADS

from benchmarks import keep
from stretto.engine.results.matches import Matches


@pytest.mark.parametrize("form", keep.FORMS)
def test_what_is_reported_is_what_a_walk_leaves(form: str) -> None:
    keep.check(WORKLOADS["W1"], form, count=3_000, seed=5)


@pytest.mark.parametrize("form", ["FIRST", "LIMIT", "LONGEST"])
def test_a_match_that_is_missing_is_noticed(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    walk = keep.thinned
    monkeypatch.setattr(keep, "thinned", lambda *arguments: walk(*arguments)[1:])
    with pytest.raises(WrongAnswerError, match="W1 with"):
        keep.check(WORKLOADS["W1"], form, count=3_000, seed=5)


def test_the_command_writes_a_line_per_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--events", "3000", "--turns", "1", "--only", "W1", "--forms", "FIRST,LIMIT"]
    assert keep.run(tmp_path, None, options) == 0
    shown = capsys.readouterr().out
    assert (tmp_path / "keep.txt").read_text(encoding="utf-8") == shown
    record = json.loads((tmp_path / "keep.json").read_text(encoding="utf-8"))
    assert list(record["workloads"]["W1"]) == ["none", "FIRST", "LIMIT"]
    assert record["workloads"]["W1"]["none"]["ratio"]["cpu"]["median"] == 1.0
    assert {goal["name"] for goal in record["goals"]} == {
        f"W1 {form}, CPU time / none" for form in ("FIRST", "LIMIT")
    }


def test_the_clock_runs_while_columns_are_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = Matches.__getitem__

    def slowly(matches: Matches, query: str) -> pa.Table:
        time.sleep(0.2)
        return build(matches, query)

    monkeypatch.setattr(Matches, "__getitem__", slowly)
    options = ["--events", "2000", "--turns", "1", "--only", "W1", "--forms", "FIRST"]
    assert keep.run(tmp_path, None, options) == 0
    forms = json.loads((tmp_path / "keep.json").read_text(encoding="utf-8"))["workloads"]["W1"]
    assert all(cell["wall"] >= 0.2 for cell in forms.values())
