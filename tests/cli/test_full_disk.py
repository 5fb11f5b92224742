"""A full disk: one line says which file could not be written, the code is 1, and nothing partial is left."""

from pathlib import Path

import pytest
from tests.support.full_disk import fill_disk

ODD = """\
ts,type,x
2024-01-01T00:00:00,A,1
2024-01-01T00:00:09,B,2
2024-01-01T00:00:01,B,2
2024-01-01T00:00:10,C,
,B,3
"""
RUN = ("run", "rules.cep", "--events", "odd.csv", "--on", "local", "--lateness", "1 s")
CALLS = [
    (*RUN, "--out", "FILE.arrow"),
    (*RUN, "--out", "FILE.parquet"),
    (*RUN, "--out", "FILE.csv"),
    (*RUN, "--out", "FILE.jsonl"),
    (*RUN, "--late", "FILE.arrow"),
    (*RUN, "--rejected", "FILE.arrow"),
    ("explain", "rules.cep", "--out", "FILE.txt"),
    ("explain", "rules.cep", "--format", "html", "--out", "FILE.html"),
    ("stats", "rules.cep", "--events", "events.csv", "--on", "local", "--out", "FILE.json"),
    ("generate", "uniform", "--events", "1000", "--out", "FILE.arrow"),
    ("generate", "uniform", "--events", "1000", "--out", "FILE.csv"),
    ("workload", "motto-stocks", "--queries", "10", "--out", "FILE.cep"),
]


@pytest.mark.parametrize("arguments", CALLS, ids=lambda call: f"{call[0]} {call[-2]} {call[-1]}")
@pytest.mark.parametrize("room", [0, 100])
def test_a_full_disk(call, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], room: int) -> None:
    Path("odd.csv").write_text(ODD)
    before = sorted(Path().iterdir())
    fill_disk(monkeypatch, room)
    result = call(*arguments)
    assert result.code == 1, result
    assert result.err.splitlines()[-1] == f"{arguments[-1]}: No space left on device"
    assert sorted(Path().iterdir()) == before


def test_a_file_before_it_stays(call, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("plan.txt").write_text("before")
    fill_disk(monkeypatch, 0)
    assert call("explain", "rules.cep", "--out", "plan.txt").code == 1
    assert Path("plan.txt").read_text() == "before"
