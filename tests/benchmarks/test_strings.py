"""Queries over texts: contestants agree, and the time includes the encoding of texts and the columns."""

import time
from pathlib import Path

import pyarrow as pa
import pytest
from benchmarks.contestants.answers import answer_of, digests
from benchmarks.contestants.texts import STEPS, TERMS, TextJob, polars_steps, stretto_steps, table_of
from benchmarks.contestants.worker import timed

from benchmarks import strings
from stretto.engine.results.matches import Matches

JOB = TextJob("stretto", "LIKE", 0.5, events=2_000, seed=3, limit=60.0)


@pytest.mark.parametrize("term", TERMS)
def test_contestants_agree(term: str) -> None:
    pytest.importorskip("polars")
    table = table_of(JOB)
    ours, theirs = (timed(steps(table, term), ["q0"])[0] for steps in (stretto_steps, polars_steps))
    assert digests(answer_of(ours)) == digests(answer_of(theirs))
    assert ours["q0"].num_rows > 0


def test_texts_are_not_encoded_before_the_clock_starts() -> None:
    assert pa.types.is_string(table_of(JOB).schema.field("s").type)


def test_the_clock_runs_while_columns_are_built(monkeypatch: pytest.MonkeyPatch) -> None:
    build = Matches.__getitem__

    def slowly(matches: Matches, query: str) -> pa.Table:
        time.sleep(0.2)
        return build(matches, query)

    monkeypatch.setattr(Matches, "__getitem__", slowly)
    assert timed(STEPS["stretto"](table_of(JOB), "LIKE"), ["q0"])[1].wall >= 0.2


def test_a_wrong_answer_ends_the_experiment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def damaged(_given, contestant, *_job, judged=False):
        assert judged, "answers are compared before anything is timed"
        return {"digests": {"q0": {"matches": 3, "checksum": contestant}}}

    monkeypatch.setattr(strings, "_job", damaged)
    assert strings.run(tmp_path, None, []) == 1
    assert "strings: wrong answer: =" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
