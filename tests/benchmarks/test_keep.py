"""What KEEP leaves of W1 and W2 is what a plain walk leaves, and the comparison notices what is missing."""

from pathlib import Path

import pytest
from benchmarks.contestants.answers import WrongAnswerError
from benchmarks.contestants.workloads import WORKLOADS

from benchmarks import keep


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
    options = ["--events", "3000", "--rounds", "1", "--only", "W1", "--forms", "FIRST,LIMIT"]
    assert keep.run(tmp_path, None, options) == 0
    lines = (tmp_path / "keep.txt").read_text(encoding="utf-8").splitlines()
    assert [line.split()[2] for line in lines[1:]] == ["none", "FIRST", "LIMIT"]
    assert capsys.readouterr().out.splitlines() == lines
