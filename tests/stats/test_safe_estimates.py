"""Estimates that fail: a default stands for them."""

import pytest

from stretto.errors import EngineError
from stretto.stats import safe_estimates as module
from stretto.stats.safe_estimates import otherwise
from stretto.stats.selectivity import Selectivity

NAN, INF = float("nan"), float("inf")


class Judge:
    """Estimates whatever it is told to."""

    @otherwise(lambda _, found: 7.0)
    def says(self, found: object) -> object:
        if isinstance(found, BaseException):
            raise found
        return found


@pytest.fixture
def lenient(monkeypatch: pytest.MonkeyPatch) -> None:
    """As outside of tests."""
    monkeypatch.setattr(module, "strict", False)
    monkeypatch.setattr(module, "_told", set())


@pytest.mark.parametrize("found", [0.0, 3.5, Selectivity(0.1, 0.2), "word"])
def test_what_is_sound_stays(found: object) -> None:
    assert Judge().says(found) == found


BAD = [NAN, INF, -1.0, Selectivity(NAN, 0.1), Selectivity(0.1, INF), OverflowError("big"), StopIteration()]


@pytest.mark.parametrize("found", BAD, ids=repr)
def test_what_is_not_becomes_the_default(lenient, caplog, found: object) -> None:
    assert [Judge().says(found) for _ in range(3)] == [7.0] * 3
    (record,) = caplog.records
    assert "an estimate failed (Judge.says, " in record.getMessage()


@pytest.mark.parametrize("found", BAD, ids=repr)
def test_a_strict_one_raises(found: object) -> None:
    with pytest.raises((ArithmeticError, RuntimeError, StopIteration)):
        Judge().says(found)


def test_what_fails_on_purpose_is_no_mistake_of_ours(caplog) -> None:
    assert Judge().says(EngineError("the function `f` failed")) == 7.0
    assert not caplog.records


@pytest.mark.parametrize("error", [MemoryError(), KeyboardInterrupt()])
def test_what_must_end_ends(lenient, error: BaseException) -> None:
    with pytest.raises(type(error)):
        Judge().says(error)
