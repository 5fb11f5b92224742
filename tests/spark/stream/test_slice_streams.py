"""Streams by slices of time through the stateful operator, against the oracle: late and bad events, borders, ties.

STRETTO_STREAMS says how many random streams are tried, STRETTO_SEED from which seed on.
"""

import os
from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from tests.spark.stream.operator_cases import batch_of, plan_of, settings_of, some_slices, workload_rows
from tests.spark.stream.stream_cases import (
    END_TYPE,
    in_milliseconds,
    planned,
)
from tests.spark.stream.stream_checks import check_changes, check_each, check_totals
from tests.spark.stream.stream_state import Stream, use_folder
from tests.spark.stream.timed_streams import (
    arriving,
    check_stream,
    feed,
    timed_sample,
)
from tests.support.loops import WAYS, loops
from tests.support.strategies import Sample
from tests.support.trend_strategies import random_trends
from tests.support.variations import sharing_workload

from stretto.errors import StrettoError
from stretto.plan.spread.spreads import TOO_LITTLE
from stretto.plan.spread.stream_slices import Slices
from stretto.spark.stream.versions import Version

STREAMS = int(os.environ.get("STRETTO_STREAMS", "20"))
SEED = int(os.environ.get("STRETTO_SEED", "20261116"))
CHUNK = 40


@pytest.mark.parametrize("start", range(SEED, SEED + STREAMS, CHUNK))
def test_slices_find_what_the_oracle_finds(
    start: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = Counter[str]()
    for seed, way in product(range(start, min(start + CHUNK, SEED + STREAMS)), WAYS):
        sample = timed_sample(seed)
        try:
            with loops(way, Random(seed)):
                found += _check(sample, seed, tmp_path / f"{seed}-{way}", monkeypatch)
        except BaseException as error:
            error.add_note(f"seed {seed}, {way}\n{sample}")
            raise
    assert found["found"] >= CHUNK // 3, "too few workloads find anything"
    assert found["late"] > 0
    assert found["two targets"] > 0


def _check(sample: Sample, seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    planning = planned(sample)
    if planning is None:
        return Counter()
    plan, queries = planning
    rng = Random(seed + 1)
    lateness, spread = rng.choice((0, 1, 3000, 10_000)), some_slices(plan, rng)
    events, table, wrong = arriving(sample, rng, lateness)
    folder.mkdir()
    stream = use_folder(
        Stream(settings_of(plan, spread, lateness_us=lateness), folder, rng, rng.choice((0.0, 0.4))),
        monkeypatch,
    )
    late = feed(stream, rng, table)
    found = check_stream(stream, queries, events, late, wrong, spread)
    kept = [batch for target in range(spread.targets) for batch in stream.store.events(target)]
    assert {kind for batch in kept for kind in batch.column("type").to_pylist()} <= {END_TYPE}
    busy = {row["target"] for row in stream.out if row["kind"] == "matches"}
    return Counter({"found": found, "late": len(late), "two targets": len(busy) > 1})


# ---- workloads that change -------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", range(SEED, SEED + STREAMS // 2, CHUNK))
def test_queries_come_and_go(start: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def sample_of(seed: int) -> Sample:
        sample = sharing_workload(Random(seed))
        return in_milliseconds(replace(sample, text=sample.text.replace("EVENTS", "us")))

    def check(sample: Sample, seed: int, name: str) -> int:
        return check_changes(sample, seed, tmp_path / name, monkeypatch, some_slices)

    check_each(range(start, min(start + CHUNK, SEED + STREAMS // 2)), sample_of, check)


# ---- trends ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", range(SEED, SEED + STREAMS // 2, CHUNK))
def test_slices_count_what_the_oracle_counts(
    start: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def sample_of(seed: int) -> Sample:
        sample = random_trends(Random(seed))
        return sample if seed % 5 == 0 else in_milliseconds(sample)

    check_each(
        range(start, min(start + CHUNK, SEED + STREAMS // 2)),
        sample_of,
        lambda sample, seed, name: check_totals(sample, seed, tmp_path / name, monkeypatch, some_slices),
    )


# ---- single cases ----------------------------------------------------------------------------------------------

ALERT = "QUERY q PATTERN SEQ(A a, NOT(B b)) WITHIN 10 ms;"
TEN = Slices(10_000, 0, 10_000, 4)


def bound(stream: Stream) -> list[dict]:
    return [dict(match["events"]) for match in stream.matches]


def test_what_waits_in_a_slice_is_reported_when_the_stream_has_left_it(stream) -> None:
    slices = stream(ALERT, TEN)
    slices.batch(batch_of((16, "A", 1, 0), (19, "A", 1, 1)))
    slices.batch(batch_of((26, "B", 1, 2)))  # the other slice has it too
    assert not slices.matches
    slices.batch(batch_of((32, "C", 1, 3)))
    assert bound(slices) == []
    slices.batch(batch_of((47, "A", 1, 4), (55, "C", 1, 5)))
    assert bound(slices) == []
    slices.batch(batch_of((58, "C", 1, 6)))
    assert bound(slices) == [{"a": [4]}]


def test_an_event_on_a_border_is_in_both_slices_and_reported_by_one(stream) -> None:
    slices = stream("QUERY q PATTERN SEQ(A a, B b) WITHIN 10 ms;", TEN)
    slices.batch(
        batch_of((10, "A", 1, 0), (10, "A", 1, 1), (19, "A", 1, 2), (20, "B", 1, 3), (20, "A", 1, 4))
    )
    slices.batch(batch_of((30, "B", 1, 5), (60, "C", 1, 6)))
    assert sorted((m["a"][0], m["b"][0]) for m in bound(slices)) == [(0, 3), (1, 3), (2, 3), (4, 5)]


def test_late_and_bad_events_are_reported_once(stream) -> None:
    slices = stream(ALERT, TEN, lateness_us=2000)
    slices.batch(batch_of((50, "A", 1, 0), (20, "A", 1, 1)))
    slices.batch(
        batch_of((41, "B", 1, 2), (48, "C", 1, 3), (None, "A", 1, 4), (61, None, 1, 5), (62, "A", 1, None))
    )
    assert [event["id"] for event in slices.late] == [2]
    reasons = sorted((str(event["id"]), event["reason"]) for event in slices.rejected)
    assert reasons == [("4", "ts is null"), ("5", "type is null"), ("None", "id is null")]
    assert sum(m.events for m in slices.metrics) == 7


def test_both_slices_take_an_event_as_late_or_none_does(stream) -> None:
    """The slice that saw the greatest time is not ahead of the one that did not, by less than a millisecond either."""
    slices = stream("QUERY q PATTERN SEQ(A a, B b) WITHIN 10 ms;", TEN)
    times = [pa.array(us, pa.timestamp("us", "UTC")) for us in ([25_000, 35_900], [35_500, 60_000])]
    for kinds, ts in zip((("A", "C"), ("B", "C")), times, strict=True):
        few = batch_of((0, kinds[0], 1, ord(kinds[0])), (0, kinds[1], 1, 99))
        slices.batch(few.set_column(0, "ts", ts))
    assert not slices.late
    assert bound(slices) == []
    again = stream("QUERY q PATTERN SEQ(A a, B b) WITHIN 11 ms;", Slices(11_000, 0, 11_000, 4))
    for kinds, ts in zip((("A", "C"), ("B", "C")), times, strict=True):
        few = batch_of((0, kinds[0], 1, ord(kinds[0])), (0, kinds[1], 1, 99))
        again.batch(few.set_column(0, "ts", ts))
    assert not again.late
    assert bound(again) == [{"a": [ord("A")], "b": [ord("B")]}]


def test_the_state_is_that_of_the_slices_at_hand(stream) -> None:
    slices = stream("QUERY q PATTERN SEQ(A a, B b) WHERE [k] WITHIN 100 ms;", Slices(200_000, 0, 100_000, 4))
    rows, entries = [], []
    for at in range(0, 20_000, 50):
        slices.batch(batch_of(*((at + i, "AB"[i % 2], at + i, at + i) for i in range(50))))
        rows.append(sum(slices.store.head(t).rows for t in range(4) if slices.store.head(t) is not None))
        entries.append(slices.store.entries)
    assert max(entries[100:]) <= max(entries[20:100])
    assert max(rows) <= 2 * 150 + 100
    slices.batch(batch_of((30_000, "C", 1, -1)))
    assert sum(slices.store.head(t).rows for t in range(4)) <= 2


def test_events_before_1970_wait_for_the_watermark(stream) -> None:
    slices = stream("QUERY q PATTERN SEQ(A a, B b) WITHIN 10 ms;", TEN)
    slices.batch(batch_of((-25, "A", 1, 0), (-18, "B", 1, 1)))
    slices.batch(batch_of((-24, "B", 1, 2)))  # Spark's watermark says nothing yet
    assert not slices.matches
    slices.batch(batch_of((40, "C", 1, 3)))
    assert sorted(m["b"][0] for m in bound(slices)) == [1, 2]
    assert not slices.late


def test_another_watermark_is_refused(stream) -> None:
    slices = stream(ALERT, TEN)
    slices.batch(batch_of((50, "A", 1, 0)))
    slices.watermark_ms = 20
    with pytest.raises(StrettoError, match="another one holds it back"):
        slices.batch(batch_of((51, "A", 1, 1)))


def test_a_version_that_reaches_further_is_refused(stream) -> None:
    slices = stream(ALERT, TEN, follows=True, number=0)
    slices.batch(batch_of((11, "A", 1, 0)), workload_rows(Version(1, "", slices.settings.version.plan), 4))
    for number, text in enumerate((ALERT.replace("10 ms", "11 ms"), ALERT.replace("10 ms", "3 EVENTS"))):
        rows = workload_rows(Version(2 + number, "", plan_of(text)), 4)
        slices.batch(batch_of((12 + number, "A", 1, 1 + number)), rows)
    assert {m.version for m in slices.metrics} == {1}
    refused = {m.refused for m in slices.metrics}
    assert any(TOO_LITTLE in text for text in refused)
    assert any("query `q` has a window in EVENTS" in text for text in refused)
    slices.batch(batch_of((50, "C", 1, 9)))
    assert len(slices.matches) == 3
