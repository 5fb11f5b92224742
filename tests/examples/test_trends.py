"""The example workloads of trends bind and plan; where the real data is at hand they also run, and find something."""

import os
from pathlib import Path

import pytest

from stretto import Engine, Workload, optimize
from stretto.data.files import open_events
from stretto.pattern.guessed_schema import guess_schema

EXAMPLES = Path(__file__).parents[2] / "examples"
DATA = {
    "trends_stocks": "stock_ticks_lean_2013.parquet",
    "trends_smarthome": "smarthome_opensmarthome_2017.parquet",
}
FOLDER = os.environ.get("STRETTO_DATA")


@pytest.mark.parametrize("name", sorted(DATA))
def test_example_plans(name: str) -> None:
    workload = Workload.parse((EXAMPLES / f"{name}.cep").read_text())
    plan = optimize(workload, guess_schema(workload))
    assert {query.name for query in plan.trends.queries} == {query.name for query in workload.queries}


@pytest.mark.data
@pytest.mark.skipif(FOLDER is None, reason="STRETTO_DATA does not name the folder of real event data")
@pytest.mark.parametrize("name", sorted(DATA))
def test_every_query_of_an_example_finds_something(name: str) -> None:
    source = open_events(str(Path(FOLDER) / DATA[name]))
    workload = Workload.parse((EXAMPLES / f"{name}.cep").read_text())
    engine = Engine(optimize(workload, source.schema))
    found: set[str] = set()
    for totals in (*map(engine.push, source.batches(1 << 17)), engine.flush()):
        found |= set(totals.totals()["query"].unique().to_pylist())
    assert found == {query.name for query in workload.queries}
