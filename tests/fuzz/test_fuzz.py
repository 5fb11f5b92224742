"""What `./dev fuzz` found before stays found, and what it finds is kept so that it can be run again."""

import json
import signal
from pathlib import Path
from unittest import mock

import pytest
from tests.fuzz import fuzz
from tests.fuzz.hostile_files import HOSTILE, Unclear
from tests.fuzz.hostile_worker import FileTally, Watched
from tests.fuzz.kinds import KINDS, sized_case
from tests.fuzz.sized_streams import Sized
from tests.fuzz.trials import Differs, Tally
from tests.fuzz.ways import Way
from tests.support.loops import WAYS
from tests.support.strategies import Event

from stretto.engine.operators.emit import EmitOperator


@pytest.mark.parametrize("path", sorted(fuzz.FOUND.glob("*.json")), ids=lambda path: path.stem)
def test_found_before(path: Path) -> None:
    found = json.loads(path.read_text("utf-8"))
    KINDS[found["kind"]].check(found["case"])


def test_hostile_files_are_read_or_refused() -> None:
    """A few of what `./dev fuzz --kind files` reads by the thousand; every kind of file is among them."""
    kind, tally = KINDS["files"], FileTally()
    for seed in range(80):
        tally.add(kind.check(kind.draw(seed)))
    assert {name for name, _ in tally.outcomes} == {*HOSTILE}
    assert {how for _, how in tally.outcomes} == {"read", "refused"}
    assert tally.texts == 800


def test_a_process_that_ends_is_noticed_and_started_again(monkeypatch) -> None:
    watched = Watched()
    deadly = {"kind": "prices", "files": {"prices.json": ""}, "texts": [], "end": signal.SIGSEGV}
    with pytest.raises(Unclear, match="died: the process ended with -11"):
        watched.ask(deadly)
    assert watched.ask({**deadly, "end": None}) == "refused"
    with pytest.raises(Unclear, match=r"raw: (FileNotFoundError|ValueError)"):
        watched.ask({**deadly, "end": None, "files": {"other": ""}})
    watched.close()


@pytest.mark.parametrize("kind", ["small", "optimize", "derived", "text"])
def test_kinds_that_are_quick(kind: str) -> None:
    assert KINDS[kind].check(KINDS[kind].draw(5)).workloads


def test_a_failing_case_is_made_small_and_kept(tmp_path: Path, monkeypatch, capsys) -> None:
    """One query of many gets wrong times."""
    texts = {name: f"QUERY {name} PATTERN SEQ(A a, B b) WITHIN 3 us;" for name in ("right", "wrong")}
    events = [Event(number, number, "AB"[number % 2], {"x": 1.0}) for number in range(200)]
    ways = [Way(plan="none", loops=way, feed="batches") for way in WAYS]
    case = sized_case(Sized((), texts, tuple(events)), ways)
    kind = KINDS["sized"]
    monkeypatch.setattr(fuzz, "FOUND", tmp_path)
    monkeypatch.setitem(KINDS, "sized", mock.Mock(wraps=kind, draw=lambda _: case))
    detected = EmitOperator._detected

    def wrong(self, *arguments):
        return detected(self, *arguments) + (self.query == "wrong")

    with mock.patch.object(EmitOperator, "_detected", wrong):
        assert fuzz.main(["--kind", "sized", "--seed", "11", "--minutes", "0.001"]) == 1
        kept = json.loads((tmp_path / "sized-11.json").read_text("utf-8"))
        assert list(kept["case"]["queries"]) == ["wrong"]
        assert len(kept["case"]["events"]) == 2
        assert len(kept["case"]["ways"]) == 1
        with pytest.raises(Differs):
            kind.check(kept["case"])
    assert "sized-11.json" in capsys.readouterr().out
    kind.check(kept["case"])


def test_enough_comparisons_end_it(capsys, monkeypatch) -> None:
    monkeypatch.setitem(KINDS, "small", mock.Mock(check=lambda _: Tally(1, 40, 3), about="", every=1))
    assert fuzz.main(["--kind", "small", "--seed", "7", "--comparisons", "100"]) == 0
    assert "seeds 7..9: 3 workloads, 120 comparisons of 9 matches" in capsys.readouterr().out
