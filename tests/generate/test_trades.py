"""A day of trades: the same for the same seed, in order, within the hours of the exchange, and with large trades."""

from itertools import pairwise

import numpy as np
import pyarrow.compute as pc

from stretto.generate.trades import BLOCK, OPEN_S, OPENS_US, SECTORS, SYMBOLS, day_of_trades


def test_the_same_seed_gives_the_same_day() -> None:
    assert day_of_trades(5_000, 3).equals(day_of_trades(5_000, 3))
    assert not day_of_trades(5_000, 3).equals(day_of_trades(5_000, 4))


def test_in_order_and_within_the_hours() -> None:
    ts = day_of_trades(20_000)["ts"].cast("int64").to_numpy()
    assert (np.diff(ts) >= 0).all()
    assert ts[0] >= OPENS_US
    assert ts[-1] < OPENS_US + OPEN_S * 1_000_000


def test_busiest_at_both_ends() -> None:
    ts = day_of_trades(50_000)["ts"].cast("int64").to_numpy() - OPENS_US
    by_hour, _ = np.histogram(ts, bins=9, range=(0, OPEN_S * 1e6))
    assert by_hour[0] > 1.5 * by_hour[4]
    assert by_hour[8] > 1.5 * by_hour[4]


def test_every_symbol_trades_and_some_trades_are_large() -> None:
    table = day_of_trades(50_000)
    assert set(table["type"].cast("string").to_pylist()) == set(SYMBOLS)
    assert 0.11 < pc.mean(pc.greater_equal(table["volume"], BLOCK).cast("int64")).as_py() < 0.13


def test_large_trades_of_a_moment_are_of_one_sector() -> None:
    table = day_of_trades(200_000)
    large = table.filter(pc.greater_equal(table["volume"], BLOCK)).slice(0, 200)
    sector_of = {symbol: sector for sector, symbols in SECTORS.items() for symbol in symbols}
    sectors = [sector_of[symbol] for symbol in large["type"].cast("string").to_pylist()]
    changes = sum(one != two for one, two in pairwise(sectors))
    assert changes < len(sectors) / 4


def test_changes_are_those_of_the_prices() -> None:
    table = day_of_trades(5_000)
    mine = table.filter(pc.equal(table["type"].cast("string"), SYMBOLS[0]))
    prices, changes = mine["price"].to_numpy(), mine["change"].to_numpy()
    np.testing.assert_allclose(changes[1:], 1e4 * np.diff(prices) / prices[:-1], atol=0.006)


def test_no_trades() -> None:
    assert day_of_trades(0).num_rows == 0
