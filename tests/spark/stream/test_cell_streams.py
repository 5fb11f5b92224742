"""Streams in cells through the stateful operator, against the oracle: late and bad events, ties, silent cells, replays.

STRETTO_STREAMS says how many random streams are tried, STRETTO_SEED from which seed on.
"""

import os
from collections import Counter
from itertools import product
from pathlib import Path
from random import Random

import pytest
from tests.spark.stream.operator_cases import batch_of, plan_of, settings_of, workload_rows
from tests.spark.stream.stream_cases import END_TYPE, planned
from tests.spark.stream.stream_state import Stream, use_folder
from tests.spark.stream.timed_streams import arriving, check_stream, feed, timed_sample
from tests.support.loops import WAYS, loops
from tests.support.strategies import Sample

from stretto.errors import StrettoError
from stretto.plan.dag import Plan
from stretto.plan.placement.cells import ByCell
from stretto.plan.placement.holdings import divisible
from stretto.spark.checkpoint_notes import write_note
from stretto.spark.stream.stream_spread import SPREAD_FILE, spread_told, stream_spread
from stretto.spark.stream.versions import Version

STREAMS = int(os.environ.get("STRETTO_STREAMS", "30"))
SEED = int(os.environ.get("STRETTO_SEED", "20261117"))
SHAPES = ((2,), (3,), (7,), (2, 2), (3, 2))


def some_cells(plan: Plan, rng: Random) -> ByCell | None:
    """Cells of a random shape; None where no type can be divided."""
    names = divisible(plan)
    rng.shuffle(names)
    shape = rng.choice([shape for shape in SHAPES if len(shape) <= len(names)] or [()])
    anchors = tuple(zip(names, shape, strict=False))
    cells = ByCell.of(plan, anchors) if rng.random() < 0.5 else ByCell(anchors)
    return cells if anchors and cells.check(plan) is None else None


def test_cells_find_what_the_oracle_finds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = Counter[str]()
    for seed, way in product(range(SEED, SEED + STREAMS), WAYS):
        sample = timed_sample(seed)
        try:
            with loops(way, Random(seed)):
                found += _check(sample, seed, tmp_path / f"{seed}-{way}", monkeypatch)
        except BaseException as error:
            error.add_note(f"seed {seed}, {way}\n{sample}")
            raise
    assert found["ran"] >= STREAMS // 4
    assert found["found"] >= STREAMS // 12, "too few workloads find anything"
    assert found["late"] > 0
    assert found["several cells"] > 0


def _check(sample: Sample, seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    planning, rng = planned(sample), Random(seed + 1)
    spread = None if planning is None else some_cells(planning[0], rng)
    if planning is None or spread is None:
        return Counter()
    plan, queries = planning
    lateness = rng.choice((0, 1, 3000, 10_000))
    events, table, wrong = arriving(sample, rng, lateness)
    folder.mkdir()
    settings = settings_of(plan, spread, lateness_us=lateness)
    stream = use_folder(Stream(settings, folder, rng, rng.choice((0.0, 0.4))), monkeypatch)
    late = feed(stream, rng, table)
    found = check_stream(stream, queries, events, late, wrong, spread)
    kept = [batch for target in range(spread.targets) for batch in stream.store.events(target)]
    assert {kind for batch in kept for kind in batch.column("type").to_pylist()} <= {END_TYPE}
    busy = {row["target"] for row in stream.out if row["kind"] == "matches"}
    return Counter({"ran": 1, "found": found, "late": len(late), "several cells": len(busy) > 1})


ALERT = "QUERY q PATTERN SEQ(A a, NOT(B b)) WITHIN 10 ms;"
CELLS = ByCell((("A", 4),))


def test_a_cell_without_events_is_moved_on_by_the_watermark(stream) -> None:
    """Both alerts are certain once events of a type that nobody reads have moved the watermark, in any cell."""
    cells = stream(ALERT, ByCell((("A", 4),), ("A", "B")))
    cells.batch(batch_of((1, "A", 1, 0), (2, "A", 1, 1), (3, "A", 1, 2)))
    cells.batch(batch_of((5, "C", 1, 3)))
    assert not cells.matches
    cells.batch(batch_of((40, "C", 1, 4)))
    assert sorted(dict(match["events"])["a"][0] for match in cells.matches) == [0, 1, 2]


def test_repeated_ids_are_counted_once(stream) -> None:
    cells = stream("QUERY q PATTERN SEQ(A a, B b) WITHIN 10 ms;", CELLS)
    cells.batch(batch_of((1, "A", 1, 5), (2, "B", 1, 5), (3, "B", 1, 5), (4, "B", 1, 6)))
    assert sum(m.repeated for m in cells.metrics) == 2
    assert sum(m.events for m in cells.metrics) == 4


def test_a_version_that_cannot_run_in_the_cells_is_refused(stream) -> None:
    cells = stream(ALERT, CELLS, follows=True, number=0)
    cells.batch(batch_of((11, "A", 1, 0)), workload_rows(Version(1, "", cells.settings.version.plan), 4))
    twice = plan_of("QUERY q PATTERN SEQ(A a, A b) WITHIN 10 ms;")
    cells.batch(batch_of((12, "A", 1, 1)), workload_rows(Version(2, "", twice), 4))
    assert {m.version for m in cells.metrics} == {1}
    assert any("`A` cannot be divided among cells: in query `q`" in m.refused for m in cells.metrics)


PAIRS = plan_of("QUERY q PATTERN SEQ(A a, B b) WITHIN 10 ms;")


def test_the_spread_of_a_stream_is_noted(tmp_path: Path) -> None:
    given = stream_spread(PAIRS, "units", tmp_path, units=3)
    assert given == ByCell((("A", 3),))
    assert stream_spread(PAIRS, "auto", tmp_path) == given
    with pytest.raises(StrettoError, match="went to 3 cells so far, not to 2"):
        stream_spread(PAIRS, "units", tmp_path, units=2)
    with pytest.raises(StrettoError, match="spread by units so far, not by whole"):
        stream_spread(PAIRS, "whole", tmp_path)


def test_cells_of_an_earlier_version_are_refused(tmp_path: Path) -> None:
    """Their state lies under other keys, and would not be found without a word."""
    write_note(tmp_path / SPREAD_FILE, {"spread": "units", "anchors": [["A", 3]], "types": None})
    with pytest.raises(StrettoError, match="cells of an earlier version"):
        stream_spread(PAIRS, "auto", tmp_path)


def test_what_a_stream_cannot_do_by_units() -> None:
    with pytest.raises(StrettoError, match="no column of ids"):
        stream_spread(PAIRS, "units", units=2, ids=False)
    with pytest.raises(StrettoError, match="a number of units is for"):
        stream_spread(PAIRS, "whole", units=2)
    with pytest.raises(StrettoError, match="window in EVENTS"):
        stream_spread(plan_of("QUERY q PATTERN SEQ(A a, B b) WITHIN 3 EVENTS;"), "units", units=2)
    whole = stream_spread(PAIRS, "auto", cores=2)
    assert "not by units: nothing is known of the events' rates" in spread_told(PAIRS, whole, 2)
    assert "3 cells (`A` in 3; " in spread_told(PAIRS, ByCell((("A", 3),)), 2)
