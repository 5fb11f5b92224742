"""Statistics of parts of a stream, put together, are those of the whole."""

import pyarrow as pa
import pytest
from tests.stats.worlds import poisson, workload

from stretto.errors import StrettoError
from stretto.schema import Kind, Schema, Special
from stretto.stats.estimate import Estimator
from stretto.stats.profile import Stats

QUERIES = workload(
    "SEQ(A a, B b) WHERE a.x < b.x AND a.x > 0.3 WITHIN 500 MILLISECONDS",
    "AND(A a, B b) WHERE [k] WITHIN 500 MILLISECONDS",
)
EVENTS = poisson(6000, types="AB", rate=8.0)


def stats_of(table: pa.Table) -> Stats:
    return Stats.of(table, workload=QUERIES, ts_unit="us")


def rows(stats: Stats) -> list[float]:
    found = QUERIES.bind(stats.schema).normal_forms()
    return [Estimator(stats).rows(branch.piece) for one in found for branch in one.branches]


def test_halves_are_the_whole() -> None:
    half = EVENTS.num_rows // 2
    parts = [stats_of(EVENTS.slice(0, half)), stats_of(EVENTS.slice(half))]
    found, whole = parts[0].merged(parts[1]), stats_of(EVENTS)
    assert found.events == whole.events
    assert found.seconds == pytest.approx(whole.seconds, rel=0.01)
    assert found.rates == pytest.approx(dict(whole.rates), rel=0.01)
    assert rows(found) == pytest.approx(rows(whole), rel=0.15)
    assert found.sample is None
    assert rows(Stats.from_json(found.to_json())) == rows(found)
    for key, known in found.selectivities.known.items():
        both = [part.selectivities.known[key] for part in parts]
        assert min(both).value <= known.value <= max(both).value
        assert known.error <= max(one.error for one in both)


def test_the_order_of_parts_does_not_matter() -> None:
    third = EVENTS.num_rows // 3
    parts = [stats_of(EVENTS.slice(start, third)) for start in (0, third, 2 * third)]
    one, other = parts[0].merged(*parts[1:]), parts[2].merged(parts[1], parts[0])
    assert one.rates == pytest.approx(dict(other.rates))
    assert rows(one) == pytest.approx(rows(other))
    assert parts[0].merged() is parts[0]


def test_a_busy_part_and_a_quiet_one_are_a_stream_in_bursts() -> None:
    busy, quiet = (stats_of(poisson(int(300 * rate), types="AB", rate=rate)) for rate in (40.0, 4.0))
    found = busy.merged(quiet)
    assert found.rates["A"] == pytest.approx((busy.rates["A"] + quiet.rates["A"]) / 2, rel=0.1)
    assert rows(found)[0] == pytest.approx((rows(busy)[0] + rows(quiet)[0]) / 2, rel=0.3)


def test_what_one_part_knows_is_kept() -> None:
    known, unknown = stats_of(EVENTS), Stats.of(EVENTS, ts_unit="us")
    found = known.merged(Stats.from_json(unknown.to_json()))
    assert found.selectivities.known.keys() == known.selectivities.known.keys()
    assert found.rates == pytest.approx(dict(known.rates))


def test_what_does_not_fit_together() -> None:
    one = Stats(Schema({"x": Kind.FLOAT}), 1.0)
    with pytest.raises(
        StrettoError, match="the attribute `x` is double in some of the statistics and integer in others"
    ):
        one.merged(Stats(Schema({"x": Kind.INT}), 1.0))
    with pytest.raises(StrettoError, match="other columns for time, type or id"):
        one.merged(Stats(Schema({}, None, Special(ts="when")), 1.0))
