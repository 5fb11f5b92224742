"""Slices of time for streams: which target sees an event, which reports it, and which plans they fit."""

from random import Random

import numpy as np
import pyarrow as pa
import pytest
from tests.support.random_events import SCHEMA

from stretto.errors import StrettoError
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.optimize import optimize
from stretto.plan.spread.spreads import TOO_LITTLE
from stretto.plan.spread.stream_slices import Slices
from stretto.schema import Special

SPECIAL = Special()


def plan_of(text: str) -> Plan:
    return optimize(Workload.parse(f"QUERY q PATTERN {text};"), SCHEMA, "none")


def batch_of(times) -> pa.RecordBatch:
    return pa.record_batch({"ts": pa.array(times, pa.timestamp("us")), "n": list(range(len(times)))})


def seen_by(spread: Slices, batch: pa.RecordBatch) -> dict[int, list[int]]:
    return {target: part.column("n").to_pylist() for target, part in spread.parts(batch, SPECIAL)}


def test_a_target_sees_what_its_slices_reach() -> None:
    rng = Random(5)
    for _ in range(200):
        before, after = rng.randint(0, 5), rng.randint(0, 5)
        width, targets = max(before + after, 1) + rng.randint(0, 4), rng.randint(2, 5)
        spread = Slices(width, before, after, targets)
        times = [rng.randint(-60, 60) for _ in range(40)]
        expected: dict[int, list[int]] = {}
        for slice_ in range(-80, 80):
            inside = range(slice_ * width - before, (slice_ + 1) * width + after)
            rows = [n for n, ts in enumerate(times) if ts in inside]
            expected.setdefault(slice_ % targets, []).extend(rows)
        found = seen_by(spread, batch_of(times))
        assert found == {target: sorted(set(rows)) for target, rows in expected.items() if rows}
        assert sum(map(len, found.values())) <= 2 * len(times)


def test_one_target_reports_what_begins_at_a_time() -> None:
    spread = Slices(10, 3, 5, 3)
    times = np.arange(-100, 100)
    owners = np.stack([spread.begin_at(target, times) for target in range(3)])
    assert (owners.sum(axis=0) == 1).all()
    assert spread.begin_at(2, np.array([-1, 0, 20, 29, 30])).tolist() == [True, False, True, True, False]


def test_events_without_a_time_go_to_the_first_target() -> None:
    spread = Slices(10, 0, 10, 4)
    batch = batch_of([25, None, 14])
    assert seen_by(spread, batch) == {0: [1, 2], 1: [0, 2], 2: [0]}
    counted = {target: spread.counted(target, batch, SPECIAL).tolist() for target in range(4)}
    assert counted == {
        0: [False, True, False],
        1: [False, False, True],
        2: [True, False, False],
        3: [False] * 3,
    }
    assert spread.parts(batch.slice(0, 0), SPECIAL) == []


def test_a_slice_is_four_times_as_wide_as_the_reach_or_as_is_asked() -> None:
    assert Slices.of(plan_of("SEQ(A a, B b) WITHIN 7 us")) == Slices(28, 0, 7)
    assert Slices.of(plan_of("SEQ(NOT(C c), A a, B b) WITHIN 7 us")) == Slices(56, 7, 7)
    assert Slices.of(plan_of("SEQ(A a, B b) WITHIN 7 us"), 7) == Slices(7, 0, 7)
    with pytest.raises(StrettoError, match=r"slices of 6 .* are narrower than the 7 .* that matches reach"):
        Slices.of(plan_of("SEQ(A a, B b) WITHIN 7 us"), 6)


def test_what_does_not_fit_is_said() -> None:
    spread = Slices.of(plan_of("SEQ(A a, B b) WITHIN 7 us"))
    assert spread.check(plan_of("SEQ(A a, B b) WITHIN 7 us")) is None
    assert spread.check(plan_of("SEQ(A a, B b) WITHIN 8 us")) == TOO_LITTLE
    assert spread.check(plan_of("SEQ(NOT(C c), A a, B b) WITHIN 7 us")) == TOO_LITTLE
    counted = spread.check(plan_of("SEQ(A a, B b) WITHIN 3 EVENTS"))
    assert counted == "query `q` has a window in EVENTS, which slices of time do not count"
    total = plan_of("A a+ WITHIN 8 us RETURN COUNT(*)")
    assert spread.check(total) == TOO_LITTLE
    assert Slices.of(total).check(total) is None
