"""Streams on staged units through their stateful operators, against the oracle: late and bad events, ties, silence.

STRETTO_STREAMS says how many random streams are tried, STRETTO_SEED from which seed on.
"""

import os
from collections import Counter
from itertools import product
from pathlib import Path
from random import Random

import pytest
from tests.spark.stream.operator_cases import batch_of, plan_of, settings_of
from tests.spark.stream.staged_state import StagedStream
from tests.spark.stream.stream_cases import planned
from tests.spark.stream.stream_state import use_folder
from tests.spark.stream.timed_streams import arriving, check_stream, feed, timed_sample
from tests.support.loops import WAYS, loops
from tests.support.strategies import Sample

from stretto.errors import StrettoError
from stretto.plan.dag import Plan
from stretto.plan.spread.staged import Staged, staged_for
from stretto.schema import Special
from stretto.spark.packed import LATE, REJECTED
from stretto.spark.stream.stream_spread import spread_told, stream_spread
from stretto.spark.stream.unit_processor import UnitSettings
from stretto.spark.unit_rows import UnitsOfPlan

STREAMS = int(os.environ.get("STRETTO_STREAMS", "16"))
SEED = int(os.environ.get("STRETTO_SEED", "20261117"))


def staged_stream(plan: Plan, staged: Staged, folder: Path, rng: Random, monkeypatch, **more) -> StagedStream:
    """A stream with failures by chance; `lateness_us` and `trouble` may be given."""
    of_units = UnitSettings(
        UnitsOfPlan(plan, staged), Special(), kinds=frozenset({LATE, REJECTED}), stream="staged"
    )
    settings = settings_of(plan, lateness_us=more.pop("lateness_us", 0))
    return use_folder(StagedStream(settings, folder, rng, **more, of_units=of_units), monkeypatch)


def test_staged_units_find_what_the_oracle_finds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = Counter[str]()
    for seed, way in product(range(SEED, SEED + STREAMS), WAYS):
        sample = timed_sample(seed)
        try:
            with loops(way, Random(seed)):
                found += _check(sample, seed, tmp_path / f"{seed}-{way}", monkeypatch)
        except BaseException as error:
            error.add_note(f"seed {seed}, {way}\n{sample}")
            raise
    assert found["ran"] > STREAMS // 2
    assert found["found"] > STREAMS // 4
    assert found["late"] > 0
    assert found["several stages"] > STREAMS // 6
    assert found["several units"] > STREAMS // 6


def _check(sample: Sample, seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    planning, rng = planned(sample), Random(seed + 1)
    if planning is None:
        return Counter()
    plan, queries = planning
    try:
        staged = staged_for(plan, rng.choice((1, 2, 3, 7)))
    except StrettoError:
        return Counter()
    lateness = rng.choice((0, 1, 3000, 10_000))
    events, table, wrong = arriving(sample, rng, lateness)
    folder.mkdir()
    trouble = rng.choice((0.0, 0.4))
    stream = staged_stream(plan, staged, folder, rng, monkeypatch, lateness_us=lateness, trouble=trouble)
    late = feed(stream, rng, table)
    found = check_stream(stream, queries, events, late, wrong, staged)
    # Nothing is left of a window that has passed: the last events, which nobody reads, are far behind all others.
    assert stream.store.size == 0
    busy = {row["target"] for row in stream.out if row["kind"] == "matches"}
    return Counter(
        {
            "ran": 1,
            "found": found,
            "late": len(late),
            "several stages": staged.last_stage > 1,
            "several units": len(busy) > 1,
        }
    )


ALERT = "QUERY q PATTERN SEQ(A a, B b, NOT(C c)) WITHIN 10 ms;"


def test_units_without_events_are_moved_on_by_the_watermark(monkeypatch, tmp_path: Path) -> None:
    plan = plan_of(ALERT)
    stream = staged_stream(plan, staged_for(plan, 3), tmp_path, Random(1), monkeypatch, trouble=0.0)
    stream.batch(batch_of((1, "A", 1, 0), (2, "B", 1, 1), (3, "B", 1, 2)))
    stream.batch(batch_of((5, "Z", 1, 3)))
    assert not stream.matches
    stream.batch(batch_of((40, "Z", 1, 4)))
    found = sorted(dict(match["events"])["b"][0] for match in stream.matches)
    assert found == [1, 2]
    assert stream.store.size == 0


def test_the_staged_spread_of_a_stream_is_noted(tmp_path: Path) -> None:
    twice = plan_of("QUERY q PATTERN SEQ(A a, A b) WITHIN 10 ms;")
    given = stream_spread(twice, "units", tmp_path, units=3)
    assert given == staged_for(twice, 3)
    assert stream_spread(twice, "auto", tmp_path) == given
    assert "3 staged ones in 1 stages" in spread_told(twice, given, 2)
    with pytest.raises(StrettoError, match="3 units each so far, not 2"):
        stream_spread(twice, "units", tmp_path, units=2)
    with pytest.raises(StrettoError, match="staged units are those of one plan, and this is another one"):
        stream_spread(plan_of("QUERY q PATTERN SEQ(A a, B b) WITHIN 10 ms;"), "auto", tmp_path)


def test_a_stream_on_staged_units_needs_ids() -> None:
    twice = plan_of("QUERY q PATTERN SEQ(A a, A b) WITHIN 10 ms;")
    with pytest.raises(StrettoError, match="no column of ids"):
        stream_spread(twice, "units", units=2, ids=False)
