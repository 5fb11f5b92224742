"""MCEP's traffic stream: hours of the day, speed against vehicles, differences, foretold violations."""

import numpy as np
import pyarrow as pa
import pytest

from stretto.generate import traffic
from stretto.generate.streams import generate


def codes(table: pa.Table) -> np.ndarray:
    return table["type"].combine_chunks().indices.to_numpy()


def test_as_many_points_as_in_aarhus() -> None:
    table = generate("traffic", 1_000)
    assert len(table["type"].combine_chunks().dictionary) == 449
    assert table["vehicles"].type == pa.int64()


def test_differences_are_to_the_observation_before() -> None:
    table = generate("traffic", 140_000, types=5, seed=2)
    point = codes(table)
    for name in ("speed", "vehicles"):
        values, differences = table[name].to_numpy(), table[f"{name}_diff"].to_numpy()
        for number in range(5):
            mine = point == number
            assert np.diff(values[mine]) == pytest.approx(differences[mine][1:], abs=1e-9)


def test_speed_falls_where_vehicles_rise() -> None:
    table = generate("traffic", 60_000, types=6)
    point = codes(table)
    for number in range(6):
        mine = point == number
        pair = (table["speed_diff"].to_numpy()[mine], table["vehicles_diff"].to_numpy()[mine])
        assert np.corrcoef(pair)[0, 1] < -0.85


def test_traffic_follows_the_day() -> None:
    table = generate("traffic", 60_000, types=2, rate=60_000 / 86_400)
    hours = (table["ts"].cast(pa.int64()).to_numpy() // 3_600_000_000) % 24
    vehicles, speed = table["vehicles"].to_numpy(), table["speed"].to_numpy()
    assert vehicles[hours == 16].mean() > 2 * vehicles[hours == 2].mean()
    assert speed[hours == 16].mean() < speed[hours == 2].mean()


def test_chances_are_those_of_the_stream() -> None:
    table = generate("traffic", 200_000, types=6)
    point = codes(table)
    speed, vehicles = table["speed_diff"].to_numpy(), table["vehicles_diff"].to_numpy()
    foretold = traffic.chances(6)
    random = np.random.default_rng(0)
    rows = [random.choice(np.flatnonzero(point == number), 20_000) for number in range(6)]
    for a in range(6):
        for b in range(6):
            if a != b:
                less = (speed[rows[a]] < speed[rows[b]]) & (vehicles[rows[a]] < vehicles[rows[b]])
                assert less.mean() == pytest.approx(foretold[a, b], abs=0.01)
