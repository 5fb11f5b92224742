"""Totals of trends by the stateful operator, without Spark: disorder, batches run again, lost caches, restarts.

STRETTO_STREAMS says how many random streams are tried, STRETTO_SEED from which seed on.
"""

import os
from pathlib import Path
from random import Random

import pytest
from tests.spark.stream.operator_cases import batch_of, plan_of, some_spread, workload_rows
from tests.spark.stream.stream_cases import in_milliseconds
from tests.spark.stream.stream_checks import check_each, check_totals
from tests.spark.stream.stream_state import Stream
from tests.spark.stream.trend_cases import grouped
from tests.support.strategies import Sample
from tests.support.trend_strategies import random_trends

from stretto.plan.spread.spreads import ByKey
from stretto.spark.stream.versions import Version

STREAMS = int(os.environ.get("STRETTO_STREAMS", "30"))
SEED = int(os.environ.get("STRETTO_SEED", "20261203"))
CHUNK = 20


@pytest.mark.parametrize("start", range(SEED, SEED + STREAMS, CHUNK))
def test_streams_count_what_the_oracle_counts(
    start: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def sample_of(seed: int) -> Sample:
        sample = random_trends(Random(seed))
        sample = grouped(sample) if seed % 2 else sample
        return sample if seed % 5 == 0 else in_milliseconds(sample)

    check_each(
        range(start, min(start + CHUNK, SEED + STREAMS)),
        sample_of,
        lambda sample, seed, name: check_totals(sample, seed, tmp_path / name, monkeypatch, some_spread),
    )


# ---- single cases ----------------------------------------------------------------------------------------------

COUNT = "QUERY q PATTERN A a+ GROUP BY k WITHIN 10 ms RETURN COUNT(*);"


def counts(running: Stream) -> list[tuple[str, int, str, str]]:
    rows = running.totals.to_pylist()
    return [
        (row["query"], row["window_start"].microsecond // 1000, row["group"], row["exact"]) for row in rows
    ]


def test_a_window_is_reported_when_the_watermark_has_passed_its_end(stream) -> None:
    keys = stream(COUNT, ByKey(("k",), 4), lateness_us=2000)
    keys.batch(batch_of((11, "A", 1, 0), (12, "A", 2, 1), (19, "A", 1, 2)))
    assert counts(keys) == []
    keys.batch(batch_of((21, "C", 1, 3), (18, "A", 1, 4)))  # up to 19
    assert counts(keys) == []
    keys.batch(batch_of((23, "C", 1, 5)))  # nothing comes to the target of 2
    assert sorted(counts(keys)) == [("q", 10, '{"k": 1}', "7"), ("q", 10, '{"k": 2}', "1")]
    keys.batch(batch_of((1000, "C", 1, 6)))
    assert len(counts(keys)) == 2


def test_the_state_is_the_window(stream) -> None:
    whole = stream(COUNT)
    sizes = []
    for at in range(0, 4000, 20):
        whole.batch(batch_of(*((at + i, "A", at + i, at + i) for i in range(20))))
        sizes.append(whole.store.entries)
    assert max(sizes[100:]) <= max(sizes[5:100])
    assert whole.store.head(0).rows <= 40


def test_a_version_adds_a_trend_query(stream) -> None:
    text = "QUERY m PATTERN SEQ(A a, B b) WITHIN 50 ms;"
    first, second = (Version(i + 1, "", plan_of(t)) for i, t in enumerate((text, text + COUNT)))
    whole = stream(text, follows=True, number=0)
    whole.batch(batch_of((11, "A", 1, 0)), workload_rows(first, 1))
    whole.batch(batch_of((12, "A", 1, 1), (15, "B", 1, 2)), workload_rows(second, 1))
    whole.batch(batch_of((60, "C", 1, 3)))
    assert counts(whole) == [("q", 10, '{"k": 1}', "3")]
    assert len(whole.matches) == 2
    assert sum(report.totals for report in whole.metrics) == 1
