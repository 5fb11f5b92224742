"""Reports of targets, and what becomes of them in a progress report."""

from dataclasses import replace

from stretto.spark.stream.metrics import StreamMetrics, TargetMetrics, merged, read_metrics
from stretto.values.times import START_OF_TIME

ONE = TargetMetrics(0, 2, 10, 1, 2, {"q": 3}, {"n0": 7, "n2": 3}, 8, 800, 500, 900, 0.5, "cache")
TWO = TargetMetrics(1, 2, 5, 0, 0, {"q": 1, "r": 4}, {"n0": 2}, 4, 400, 600, 1000, 0.1, "rebuilt")


def test_a_report_survives_its_text():
    assert TargetMetrics.from_json(ONE.to_json()) == ONE
    assert TargetMetrics.from_json('{"target": 3, "of a later release": 1}') == TargetMetrics(3)


def test_reports_add_up():
    whole = merged([ONE, TWO])
    assert (whole.events, whole.matches, whole.late, whole.rejected) == (15, 8, 1, 2)
    assert whole.per_query == {"q": 4, "r": 4}
    assert whole.per_operator == {"n0": 9, "n2": 3}
    assert (whole.state_rows, whole.state_bytes) == (12, 1200)
    assert (whole.watermark_us, whole.greatest_us, whole.lag_us) == (500, 1000, 500)
    assert (whole.versions, whole.rebuilt, whole.refused) == ((2,), 1, "")
    assert merged([replace(ONE, repeated=2), replace(TWO, repeated=3)]).repeated == 5


def test_nothing_reported_is_no_failure():
    whole = merged([])
    assert (whole.events, whole.watermark_us, whole.lag_us, whole.events_per_second) == (0, None, None, 0.0)
    fresh = merged([TargetMetrics(0)])
    assert (fresh.watermark_us, fresh.greatest_us) == (None, None)
    assert TargetMetrics(0).until_us == START_OF_TIME


def test_a_progress_report_is_read():
    observed = {
        "stretto": {"matches": 8, "late": 1, "rejected": None, "target_0": ONE.to_json(), "target_1": None}
    }
    found = read_metrics(
        {"observedMetrics": observed, "durationMs": {"triggerExecution": 2000}, "batchId": 7}
    )
    assert isinstance(found, StreamMetrics)
    assert (found.batch, found.seconds, found.events_per_second) == (7, 2.0, 5.0)
    assert (found.matches, found.late, found.rejected) == (8, 1, 0)
    assert found.targets == (ONE,)
    assert read_metrics({"observedMetrics": {}}) is None
