"""Twins serve little work, loops serve much."""

from stretto.engine.kernels import when_to_compile


class Loop:
    signatures = ()


def test_a_loop_is_due_when_its_work_adds_up(monkeypatch):
    monkeypatch.setattr(when_to_compile, "always", None)
    loop = Loop()
    assert not when_to_compile.is_due(loop, 10)
    assert not when_to_compile.is_due(loop, when_to_compile.PATIENCE - 10)
    assert when_to_compile.is_due(loop, 1)


def test_a_compiled_loop_is_always_due(monkeypatch):
    monkeypatch.setattr(when_to_compile, "always", None)
    loop = Loop()
    loop.signatures = ("int64",)
    assert when_to_compile.is_due(loop, 1)
