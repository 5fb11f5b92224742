"""What plans of trend queries are expected to do."""

import numpy as np
import pyarrow as pa
import pytest
from tests.trends.planned import trend_plan
from tests.trends.shapes import parsed

from stretto.pattern.nodes import TrendQuery
from stretto.stats.profile import Stats
from stretto.trends.estimate import estimated

N = 4000
SECOND = 1_000_000


def events(shares: dict[str, float], n: int = N) -> pa.Table:
    """Ten events a second of types with these shares, in two groups."""
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "ts": pa.array(np.arange(n) * (SECOND // 10), pa.timestamp("us")),
            "type": rng.choice(list(shares), n, p=list(shares.values())),
            "x": rng.integers(0, 1000, n),
            "k": np.where(rng.random(n) < 0.5, "one", "two"),
        }
    )


STATS = Stats.of(events({"A": 0.02, "B": 0.9, "C": 0.02, "D": 0.06}))


def queries(count: int, more: str = "") -> tuple[TrendQuery, ...]:
    firsts = ("A", "C", "D")
    return parsed(
        "".join(
            f"QUERY q{i} PATTERN SEQ({firsts[i % 3]} a, B b+) {more} WITHIN {20 + i} s RETURN COUNT(*);"
            for i in range(count)
        )
    )


def test_nodes_have_the_rates_of_their_streams() -> None:
    plan = trend_plan(queries(2), STATS)
    found = estimated(plan, STATS).nodes
    assert found == pytest.approx([STATS.rates[node.stream.type] for node in plan.nodes])


def test_alone_is_what_a_plan_that_shares_nothing_costs() -> None:
    shared, alone = (estimated(trend_plan(queries(9), STATS, name), STATS) for name in ("auto", "greta"))
    assert alone.cost == pytest.approx(alone.alone)
    assert shared.alone == pytest.approx(alone.cost)
    assert shared.cost < 0.7 * shared.alone
    assert not any(unit.matstates for unit in alone.units)


def test_a_partition_shares_the_work_out_but_makes_no_less_of_it() -> None:
    whole, parted = (
        estimated(trend_plan(queries(1, more), STATS, "none"), STATS) for more in ("", "GROUP BY k")
    )
    assert parted.cost == pytest.approx(whole.cost, rel=0.01)


def test_windows_with_conditions_are_computed_each_by_itself() -> None:
    text = """
        QUERY q PATTERN SEQ(A a, B b+) WHERE b[i].x > b[i-1].x WITHIN 20 s SLIDE {} s RETURN COUNT(*);
    """
    apart, overlapping = (
        estimated(trend_plan(parsed(text.format(slide)), STATS), STATS).cost for slide in (20, 5)
    )
    assert overlapping == pytest.approx(4 * apart)
