"""EXPLAIN of the examples by every optimizer, as golden files: a change of a plan is seen where it is reviewed.

Statistics come from files that `stretto stats` made of the real events, time is counted in looks at the clock, and
prices are the built-in ones, so that a plan is the same on every machine.
"""

import re
from pathlib import Path

import pytest
from tests.support.counted_time import count_time
from tests.support.golden import Golden
from typer.testing import CliRunner

import stretto.plan.optimize  # noqa: F401 - what goes by the clock has to be there
from stretto.cli.app import app

EXAMPLES = Path(__file__).parents[2] / "examples"
FOLDER = Path(__file__).parents[1] / "golden" / "explain"
OF_DETECTIONS = (
    "auto",
    "none",
    "motto",
    "motto-mst",
    "lcse",
    "mcep",
    "mcep-tabu",
    "reorder",
    "share",
    "spass",
)
OF_TRENDS = ("auto", "muse", "greta")
PLANS = [
    *((name, optimizer) for name in ("flights", "security", "stocks") for optimizer in OF_DETECTIONS),
    *(("limits", optimizer) for optimizer in ("auto", "none")),
    *(("monitoring", optimizer) for optimizer in ("auto", "none", "reorder")),
    *((name, optimizer) for name in ("trends_smarthome", "trends_stocks") for optimizer in OF_TRENDS),
]


@pytest.mark.parametrize(("name", "optimizer"), PLANS, ids=lambda value: value)
def test_explain(
    name: str, optimizer: str, golden: Golden, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("STRETTO_PRICES", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    count_time(monkeypatch)
    stats = FOLDER / f"{name}.stats.json"
    words = ["explain", str(EXAMPLES / f"{name}.cep"), "--stats", str(stats), "--optimizer", optimizer]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    golden.check(
        FOLDER / f"{name}.{optimizer}.txt", re.sub(r"planned in \S+ \S+", "planned in ..", result.stdout)
    )


def test_every_example_and_every_golden_file_is_used() -> None:
    assert {name for name, _ in PLANS} == {path.stem for path in EXAMPLES.glob("*.cep")}
    assert {f"{name}.{optimizer}.txt" for name, optimizer in PLANS} == {
        path.name for path in FOLDER.glob("*.txt")
    }
