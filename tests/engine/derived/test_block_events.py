"""What is selected of several streams at once is what is selected of each."""

import numpy as np
import pytest

from stretto.engine.derived import block_events
from stretto.engine.derived.block_events import BlockEvents, EarlySelections, passing_some, with_columns
from stretto.engine.stream.arena import Block
from stretto.pattern.predicates import Apply, Const, Ref
from stretto.plan.front.leaves import ID
from stretto.schema import Kind
from stretto.values.strings import Strings
from stretto.values.vector import Vector


def above(attribute: str, least: int) -> tuple[Apply, ...]:
    return (Apply(">", (Ref(0, attribute, Kind.INT), Const(least, Kind.INT)), Kind.BOOL),)


def block(rng: np.random.Generator, n: int, *, nulls: bool) -> Block:
    values = Vector(rng.integers(0, 10, n), rng.random(n) < 0.5 if nulls else None)
    return Block(np.arange(n), np.zeros(n, np.int32), range(5, 5 + n), {"v": values})


@pytest.mark.parametrize("at_once", [1, 7, 1 << 20])
def test_streams_are_judged_together(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(block_events, "AT_ONCE", at_once)
    rng, strings = np.random.default_rng(3), Strings()
    made = {f"s{i}": block(rng, n, nulls=i % 2 == 0) for i, n in enumerate([4, 0, 9, 1, 30, 3, 6])}
    wheres = {name: [above("v", 5), above(ID, 30)] for name in made} | {
        "s3": [above("ts", 1)],
        "s6": [above("v", -1)],
        "away": [above("v", 5)],
    }
    del wheres["s5"]
    found = EarlySelections(wheres, strings).selected(made)
    assert list(found) == list(made)
    for name, whole in made.items():
        if name in wheres:
            kept = passing_some(wheres[name], BlockEvents((whole,), strings))
            assert found[name].ts.tolist() == whole.ts[kept].tolist()
            assert list(found[name].ids) == [one for one, stays in zip(whole.ids, kept, strict=True) if stays]
        else:
            assert found[name] is whole


def test_columns_that_events_lack_are_null() -> None:
    whole = with_columns(
        block(np.random.default_rng(1), 3, nulls=False), {"v": Kind.INT, "x": Kind.FLOAT, "y": Kind.FLOAT}
    )
    assert list(whole.attributes) == ["v", "x", "y"]
    assert whole.attributes["v"].valid is None
    assert whole.attributes["y"].nulls.all()
    assert whole.attributes["y"].data.dtype == np.float64
