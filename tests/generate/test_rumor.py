"""RUMOR's streams and workloads are those of its Table 3."""

from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pytest
from typer.testing import CliRunner

from stretto.cli.app import app
from stretto.errors import StrettoError
from stretto.generate.rumor_workload import RumorOptions, drawn_queries
from stretto.generate.streams import generate
from stretto.generate.workloads import workload
from stretto.pattern.workload import Workload
from stretto.schema import Schema


def test_s_at_even_and_t_at_odd_times() -> None:
    table = generate("rumor", 100_000, seed=3)
    seconds = table["ts"].cast("int64").to_numpy() // 1_000_000
    is_t = pc.equal(table["type"].combine_chunks().cast("string"), "T").to_numpy(zero_copy_only=False)
    assert (np.diff(seconds) == 1).all()
    assert (seconds % 2 == is_t).all()
    values = np.stack([table[f"a{n}"].to_numpy() for n in range(10)])
    assert (values.min(), values.max()) == (0, 999)
    assert table.slice(0, 500).equals(generate("rumor", 500, seed=3))


def test_streams_of_a_channel_have_the_same_content() -> None:
    table = generate("rumor", 22, types=10)
    assert table["type"].to_pylist() == [*(f"S{n}" for n in range(1, 11)), "T"] * 2
    for column in ("ts", "a0", "a9"):
        assert len(set(table[column].to_pylist()[:10])) == 1


def test_every_process_has_one_reading_a_second() -> None:
    table = generate("counters", 104 * 700)
    counts = table.group_by("pid").aggregate([("load", "count"), ("load", "min"), ("load", "max")])
    assert counts.num_rows == 104
    assert set(counts["load_count"].to_pylist()) == {700}
    assert 0 <= min(counts["load_min"].to_pylist()) < max(counts["load_max"].to_pylist()) <= 100
    ts = table["ts"].cast("int64").to_numpy()
    assert (np.diff(ts) > 0).all()
    assert ts[104] - ts[0] == 1_000_000


def test_how_many_queries_are_different() -> None:
    drawn = drawn_queries(100_000, 0, RumorOptions())
    assert len(set(drawn)) == pytest.approx(27_700, rel=0.03)
    assert len({(c1, c3) for c1, c3, _ in drawn}) == pytest.approx(9_400, rel=0.05)
    assert (drawn.seconds.min() >= 1) & (drawn.seconds.max() == 1_000)
    assert len(set(drawn_queries(10_000, 0, RumorOptions()).seconds.tolist())) == pytest.approx(430, rel=0.06)
    even = drawn_queries(100_000, 0, RumorOptions(distinct=True, constants=1_000_000))
    assert len(set(even)) == 100_000


def test_a_table_stands_for_the_same_queries(tmp_path: Path) -> None:
    out = tmp_path / "rules.cep"
    call = [
        "workload",
        "rumor-1",
        "--queries",
        "70",
        "--seed",
        "4",
        "--table",
        "rules.parquet",
        "--out",
        str(out),
    ]
    result = CliRunner().invoke(app, call)
    assert result.exit_code == 0, result.output
    schema = Schema.of(generate("rumor", 10).schema)
    members = Workload.read(out, schema).bind(schema).families[0].queries()
    written = Workload.parse(workload("rumor-1", 70, 4)).bind(schema).families[0].queries()
    assert [(one.terms, one.window) for one in members] == [(one.terms, one.window) for one in written]


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(StrettoError, match="only the queries of rumor-1 can be rows of a table"):
        workload("rumor-2", 3, table="rules.csv")
    with pytest.raises(StrettoError, match="whole number of seconds"):
        workload("rumor-2", 3, window="1.5 SECONDS")
    with pytest.raises(StrettoError, match="capacity must be at least 1"):
        workload("rumor-3", 3, capacity=0)
