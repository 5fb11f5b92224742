"""Twins serve little work, loops serve much."""

from stretto.engine.kernels import patience


class Loop:
    signatures = ()


def test_a_loop_is_due_when_its_work_adds_up(monkeypatch):
    monkeypatch.setattr(patience, "always", None)
    loop = Loop()
    assert not patience.is_due(loop, 10)
    assert not patience.is_due(loop, patience.PATIENCE - 10)
    assert patience.is_due(loop, 1)


def test_a_compiled_loop_is_always_due(monkeypatch):
    monkeypatch.setattr(patience, "always", None)
    loop = Loop()
    loop.signatures = ("int64",)
    assert patience.is_due(loop, 1)
