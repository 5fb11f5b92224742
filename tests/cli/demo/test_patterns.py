"""The patterns of the demonstration."""

from stretto.cli.demo.patterns import demo_workload
from stretto.generate.trades import SECTORS, day_of_trades
from stretto.pattern.workload import Workload
from stretto.schema import Schema


def test_a_hundred_patterns_that_fit_the_trades() -> None:
    workload = Workload.parse(demo_workload())
    bound = workload.bind(Schema.of(day_of_trades(1_000).schema))
    assert len(workload) == len(bound.detections) == 100
    assert len({query.name for query in workload.queries}) == 100


def test_twenty_for_every_sector() -> None:
    names = [query.name for query in Workload.parse(demo_workload()).queries]
    assert {
        sector: sum(name.startswith(f"{sector}_") for name in names) for sector in SECTORS
    } == dict.fromkeys(SECTORS, 20)
