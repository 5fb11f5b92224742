"""MCEP's stock stream: prices walk, differences are exact, comparisons are as probable as foretold."""

import numpy as np
import pyarrow as pa
import pytest

from stretto.generate import market
from stretto.generate.streams import generate


def codes(table: pa.Table) -> np.ndarray:
    return table["type"].combine_chunks().indices.to_numpy()


def test_diff_is_the_price_less_the_price_before() -> None:
    table = generate("mcep-stocks", 140_000, types=7, seed=2)
    price, diff, symbol = table["price"].to_numpy(), table["diff"].to_numpy(), codes(table)
    assert price.min() >= 1.0
    for number in range(7):
        mine = symbol == number
        assert np.diff(price[mine]) == pytest.approx(diff[mine][1:], abs=1e-9)
    assert not np.signbit(diff[diff == 0]).any()


def test_every_symbol_keeps_its_rate() -> None:
    table = generate("mcep-stocks", 200_000, types=20)
    listed = market.symbols(20)
    seconds = (table["ts"][-1].value - table["ts"][0].value) / 1e6
    found = np.bincount(codes(table), minlength=20) / seconds
    assert found == pytest.approx(np.array(listed.rates), rel=0.1)
    assert table["type"].combine_chunks().dictionary.to_pylist() == list(listed.names)


def test_trading_comes_in_bursts() -> None:
    times = generate("mcep-stocks", 130_000)["ts"].cast(pa.int64()).to_numpy()
    steady = generate("traffic", 130_000)["ts"].cast(pa.int64()).to_numpy()
    bursts, even = (np.diff(ts[:: market.RUN]) for ts in (times, steady))
    assert bursts.std() / bursts.mean() > 5 * even.std() / even.mean()


def test_chances_are_those_of_the_stream() -> None:
    table = generate("mcep-stocks", 300_000, types=12)
    symbol, diff = codes(table), table["diff"].to_numpy()
    foretold = market.chances(12)
    random = np.random.default_rng(0)
    drawn = [random.choice(diff[symbol == number], 20_000) for number in range(12)]
    for a in range(12):
        for b in range(12):
            if a != b:
                assert (drawn[a] < drawn[b]).mean() == pytest.approx(foretold[a, b], abs=0.06)


def test_chances_span_what_the_paper_measured() -> None:
    found = market.chances()[~np.eye(300, dtype=bool)]
    assert found.min() < 0.004
    assert found.max() > 0.8
