"""The streams with rates of single types: rides in order, districts, speeds; the market with signals."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from stretto.errors import EventsError
from stretto.generate.rides import DISTRICTS, TYPES
from stretto.generate.streams import generate

TRAVEL = TYPES.index("Travel")


def shares(table: pa.Table) -> dict[str, float]:
    counts = table["type"].value_counts().to_pylist()
    return {row["values"]: row["counts"] / table.num_rows for row in counts}


def rides_of(table: pa.Table, driver: int) -> list[list[int]]:
    """The types of a driver's events as numbers, ride by ride: a ride ends where the order of the types does."""
    mine = table.filter(pc.equal(table["driver"], driver))["type"].combine_chunks().indices.to_numpy()
    again = (np.diff(mine) == 0) & (mine[1:] != TRAVEL)
    return [part.tolist() for part in np.split(mine, np.flatnonzero((np.diff(mine) < 0) | again) + 1)]


def test_rides_go_through_their_steps_in_order() -> None:
    table = generate("rides", 80_000, seed=3, drivers=4)
    rides = [ride for driver in range(4) for ride in rides_of(table, driver)[1:-1]]
    assert len(rides) > 1_000
    steps = {tuple(sorted(set(ride))) for ride in rides}
    assert (TYPES.index("Request"), TYPES.index("Accept"), TYPES.index("Cancel")) in steps
    cancelled = [ride for ride in steps if TYPES.index("Cancel") in ride]
    assert all(ride[-1] == TYPES.index("Cancel") for ride in cancelled)
    assert max(map(len, rides)) > 100


def test_usual_shares() -> None:
    found = shares(generate("rides", 300_000, drivers=50))
    assert found["Travel"] == pytest.approx(0.88, abs=0.01)
    assert found["Request"] == pytest.approx(0.02, rel=0.1)
    assert found["Cancel"] == pytest.approx(0.002, rel=0.3)
    assert set(found) == set(TYPES)


@pytest.mark.parametrize("drivers", [20, 1_000])
def test_rates_of_single_types(drivers: int) -> None:
    table = generate("rides", 300_000, rate=100.0, rates={"Travel": 99.0, "Cancel": 0.0}, drivers=drivers)
    found = shares(table)
    assert found["Travel"] == pytest.approx(0.99, abs=0.002)
    assert "Cancel" not in found


def test_a_stream_begins_as_it_goes_on() -> None:
    """Drivers are found in the middle of rides that are longer than the stream."""
    found = shares(generate("rides", 20_000, rate=100.0, rates={"Travel": 99.9}))
    assert found["Travel"] == pytest.approx(0.999, abs=0.001)


def test_only_the_types_that_are_given() -> None:
    table = generate("rides", 20_000, rates={"Travel": 8.0, "Request": 2.0})
    assert shares(table) == pytest.approx({"Travel": 0.8, "Request": 0.2}, abs=0.02)
    assert shares(generate("rides", 100, rates={"Travel": 1.0})) == {"Travel": 1.0}
    assert shares(generate("rides", 100, rates={"Cancel": 1.0})) == {"Cancel": 1.0}


def test_attributes() -> None:
    table = generate("rides", 50_000)
    assert sorted(table["district"].unique().to_pylist()) == list(range(DISTRICTS))
    kinds = table["type"].cast(pa.string())
    assert pc.is_valid(table["speed"]).equals(pc.equal(kinds, "Travel"))
    assert pc.is_valid(table["price"]).equals(pc.is_in(kinds, pa.array(["Request", "Pay"])))
    assert pc.min(table["speed"]).as_py() >= 0.0
    assert pc.max(table["speed"]).as_py() <= 120.0
    assert pc.max(table["driver"]).as_py() == 999


def test_a_ride_has_one_rider_and_one_district() -> None:
    table = generate("rides", 30_000, drivers=3)
    mine = table.filter(pc.equal(table["driver"], 1))
    rider, district = mine["rider"].to_numpy(), mine["district"].to_numpy()
    bounds = np.cumsum([len(ride) for ride in rides_of(table, 1)])[:-1]
    # Two rides may look like one where the second begins later in the order than the first one ends.
    changes = np.flatnonzero((np.diff(rider) != 0) | (np.diff(district) != 0)) + 1
    assert set(bounds) - set(changes) == set()
    assert len(set(rider)) > 100


def test_speed_is_a_walk() -> None:
    table = generate("rides", 140_000, drivers=2, rates={"Travel": 1.0})
    speed = table.filter(pc.equal(table["driver"], 0))["speed"].to_numpy()
    assert np.abs(np.diff(speed)).max() < 20.0
    assert speed.std() > 10.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: generate("rides", 1, rates={"Travl": 1.0}), "no type `Travl`, did you mean `Travel`?"),
        (lambda: generate("rides", 1, rates={"Travel": -1.0}), "rate of Travel must not be negative"),
        (lambda: generate("rides", 1, rate=1.0, rates={"Travel": 2.0}), "come to 2 per second, more than 1"),
        (lambda: generate("rides", 1, rates={"Travel": 0.0}), "at least one type"),
        (lambda: generate("rides", 1, drivers=0), "drivers must be at least 1"),
        (lambda: generate("stocks", 1, rates={"AAPL": 1.0}), "stocks has no rates of single types"),
    ],
)
def test_refusals(call, message: str) -> None:
    with pytest.raises(EventsError) as caught:
        call()
    assert message in str(caught.value)


def test_ticks_are_the_market_with_signals() -> None:
    table = generate("ticks", 100_000, seed=2, rate=1_000.0, rates={"Trade": 990.0, "Halt": 5.0})
    market = generate("mcep-stocks", 100_000, seed=2, rate=1_000.0)
    assert table["price"].equals(market["price"])
    assert table["symbol"].equals(market["type"])
    found = shares(table)
    assert found["Trade"] == pytest.approx(0.99, abs=0.002)
    assert found["Halt"] == pytest.approx(0.005, rel=0.15)
    assert sorted(table["sector"].unique().to_pylist()) == list(range(20))
