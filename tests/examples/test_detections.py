"""The example workloads bind and plan; where the real data is at hand they also run, and find something."""

import json
import os
from pathlib import Path

import pytest
from pyarrow.csv import read_csv

from stretto import Engine, Stats, Workload, optimize, run
from stretto.data.files import open_events
from stretto.generate.streams import generate
from stretto.pattern.guessed_schema import guess_schema

EXAMPLES = Path(__file__).parents[2] / "examples"
DATA = {
    "monitoring": "cpu_nab_aws.parquet",
    "security": "security_windows_lsass_2023.parquet",
    "flights": "flights_nyc_2013.parquet",
    "stocks": "stock_ticks_lean_2013.parquet",
}
FOLDER = os.environ.get("STRETTO_DATA")


@pytest.mark.parametrize("name", sorted(DATA))
def test_example_plans(name: str) -> None:
    workload = Workload.parse((EXAMPLES / f"{name}.cep").read_text())
    plan = optimize(workload, guess_schema(workload))
    assert set(plan.queries) == {query.name for query in workload.queries}


@pytest.mark.data
@pytest.mark.skipif(FOLDER is None, reason="STRETTO_DATA does not name the folder of real event data")
@pytest.mark.parametrize("name", sorted(DATA))
def test_every_query_of_an_example_finds_something(name: str) -> None:
    source = open_events(str(Path(FOLDER) / DATA[name]))
    plan = optimize(Workload.parse((EXAMPLES / f"{name}.cep").read_text()), source.schema)
    engine = Engine(plan)
    found = dict.fromkeys(plan.queries, 0)
    for matches in (*map(engine.push, source.batches(1 << 17)), engine.flush()):
        found = {query: count + found[query] for query, count in matches.counts().items()}
    assert all(found.values()), found


def test_limits_of_a_table_over_generated_counters() -> None:
    """Every family finds something, and what it finds names a row of the table and returns its owner."""
    workload = Workload.read(EXAMPLES / "limits.cep")
    events = generate("counters", 62_400)
    found = run(optimize(workload, Stats.of(events)), events).to_arrow()
    rows = read_csv(EXAMPLES / "limits.csv").to_pylist()
    owners = {row["id"]: row["owner"] for row in rows}
    assert set(found["query"].to_pylist()) == {"breach", "spike"}
    for member, returned in zip(found["member"].to_pylist(), found["returned"].to_pylist(), strict=True):
        assert json.loads(returned)["owner"] == owners[member]
    assert len(set(found["member"].to_pylist())) > len(rows) // 2
