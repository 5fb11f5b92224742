"""Skew of values and the equalities that follow."""

import json

import numpy as np
import pyarrow as pa
import pytest

from stretto.pattern.nodes import Stream
from stretto.stats.profile import Stats
from stretto.stats.skew import Skew, agreement


def skews(**columns: object) -> dict[str, Skew]:
    length = len(next(iter(columns.values())))
    table = pa.table({"ts": np.arange(length), "type": ["A"] * length, **columns})
    stats = Stats.of(table)
    return {name: stats.selectivities.skew(Stream("A"), name) for name in columns}


def test_figures_of_few_values() -> None:
    found = skews(w=["a"] * 6 + ["b"] * 3 + [None])["w"]
    assert (found.distinct, found.heaviest) == (2, 0.6)
    assert found.heavy == (("a", 0.6), ("b", pytest.approx(0.3)))
    assert found.present == pytest.approx(0.9)
    assert found.sum_of_squares == pytest.approx((6 * 5 + 3 * 2) / 90)
    assert Skew.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_equal_values_agree_as_often_as_the_product_of_their_shares_says() -> None:
    random = np.random.default_rng(1)
    found = skews(k=random.integers(0, 500, 20_000), z=np.minimum(random.zipf(1.5, 20_000), 10_000))
    assert agreement([found["k"]] * 2) == pytest.approx(1 / 500, rel=0.05)
    assert agreement([found["k"]] * 3) == pytest.approx(1 / 500**2, rel=0.3)
    shares = np.arange(1, 10_001) ** -1.5
    shares /= shares.sum()
    for number in (2, 3, 4):
        assert agreement([found["z"]] * number) == pytest.approx(float((shares**number).sum()), rel=0.1)


def test_values_of_one_kind_only() -> None:
    found = skews(unique=np.arange(100), null=pa.array([None] * 100, pa.int64()), nan=np.full(100, np.nan))
    assert agreement([found["unique"]] * 2) < 1e-3
    assert found["null"].distinct == found["nan"].distinct == 10  # nothing was seen: assumed
    assert agreement([found["unique"]]) == 1.0
