"""MUSE's workloads: Kleene patterns over one type, flat and nested, all different."""

import pytest

from stretto.errors import StrettoError
from stretto.generate.muse_workload import RIDES, STOCKS, MuseOptions, muse_workload, stream_rates
from stretto.generate.streams import generate
from stretto.generate.workloads import workload
from stretto.pattern.workload import Workload
from stretto.schema import Schema

KINDS = {"muse-rides": "rides", "muse-stocks": "ticks"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_query_is_a_trend_query(kind: str) -> None:
    table = generate(KINDS[kind], 100)
    schema = Schema.of(table.schema, table["type"].combine_chunks().dictionary.to_pylist())
    text = workload(kind, 300, 2, adjacent=0.3, measures=0.4)
    bound = Workload.parse(text).bind(schema)
    assert len(bound.trends) == 300
    assert not bound.detections
    assert sum(bool(query.terms) for query in bound.trends) == pytest.approx(90, abs=3)
    assert sum(len(query.aggregates) == 3 for query in bound.trends) == pytest.approx(120, abs=3)
    assert {query.groups for query in bound.trends} == {
        ("district",) if kind == "muse-rides" else ("sector",)
    }
    assert len({(query.pattern, query.terms) for query in bound.trends}) == 300


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_flat_and_nested(share: float) -> None:
    patterns = [one.pattern for one in muse_workload(RIDES, 100, 1, MuseOptions(nested=share))]
    assert sum(")+" in pattern for pattern in patterns) == pytest.approx(100 * share, abs=2)
    assert all("Travel" in pattern for pattern in patterns)
    deep = sum(pattern.count("+") == 3 for pattern in patterns)
    assert bool(deep) == bool(share)


def test_a_longer_workload_begins_with_a_shorter_one() -> None:
    assert muse_workload(STOCKS, 300, 5, MuseOptions())[:50] == muse_workload(STOCKS, 50, 5, MuseOptions())
    assert muse_workload(STOCKS, 50, 5, MuseOptions()) != muse_workload(STOCKS, 50, 6, MuseOptions())


@pytest.mark.parametrize("share", [0.001, 0.05, 0.25])
@pytest.mark.parametrize("subject", [RIDES, STOCKS], ids=["rides", "stocks"])
def test_the_stream_has_as_many_matstates_as_were_asked_for(subject, share: float) -> None:
    options = MuseOptions(events_per_window=60_000, matstates=share)
    rate, rates = stream_rates(subject, options)
    assert rate == 1_000.0
    table = generate(subject.stream, 200_000, rate=rate, rates=rates)
    order = table.to_pandas().groupby(subject.groups[0], observed=True)["type"]
    made = sum(((one == subject.repeated) & (one.shift() != subject.repeated)).sum() for _, one in order)
    assert made / 200_000 == pytest.approx(share, rel=0.25)


def test_the_header_names_the_stream() -> None:
    text = workload("muse-rides", 3, window="2 SECONDS", events_per_window=1_000, matstates=0.09)
    assert "-- events: stretto generate rides --rate 500 --rates Travel=450" in text.splitlines()
    text = workload("muse-stocks", 3, slide="10 SECONDS", group="symbol")
    assert text.count("WITHIN  1 MINUTE SLIDE 10 SECONDS\nGROUP BY symbol\nRETURN  COUNT(*);") == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nested": 2.0}, "nested must be between 0 and 1"),
        ({"matstates": 0.3}, "matstates must be between 0 and 0.25"),
        ({"events_per_window": 0}, "events_per_window must be at least 1"),
        ({"window": "10 EVENTS"}, "window: `10 EVENTS` is not a duration"),
        ({"slide": "often"}, "slide: `often` is not a duration"),
        ({"group": "drivr"}, "unknown group `drivr`, did you mean `driver`?"),
    ],
)
def test_refusals(options: dict[str, object], message: str) -> None:
    with pytest.raises(StrettoError) as caught:
        workload("muse-rides", 3, **options)
    assert message in str(caught.value)
