"""Results of single queries as tables with typed columns, and joins of matches with their events."""

from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from tests.spark.stream.test_detect_stream import Files, run_to_end

import stretto
from stretto.spark import aggregate, detect, matches_of, trends_of
from stretto.spark.batch import first_look
from stretto.spark.errors import StrettoSparkError

RULES = """
QUERY climb PATTERN SEQ(Buy a, Sell b, Buy d+) WHERE [symbol] AND a.price < b.price WITHIN 10 SECONDS
    RETURN a.symbol AS symbol, LAST(d).price - a.price AS gain, a.ts AS since, b.ts - a.ts AS took, b.size AS size;
QUERY runs PATTERN Buy p+ GROUP BY symbol WITHIN 5 SECONDS
    RETURN COUNT(*) AS number, SUM(p.size) AS size, AVG(p.price) AS mean;
"""
TRADES = pa.table(
    {
        "ts": pa.array([i * 1_000_000 for i in range(8)], pa.timestamp("us", "UTC")),
        "type": ["Buy", "Sell", "Buy", "Buy", "Sell", "Buy", "Buy", "Sell"],
        "id": [f"t{i}" for i in range(8)],
        "symbol": ["IBM", "IBM", "IBM", "HP", "IBM", "HP", "IBM", "HP"],
        "price": [10.0, 11.0, 11.5, 20.0, 12.0, 21.0, 12.5, 22.0],
        "size": [1, 2, 3, 4, None, 6, 7, 8],
    }
)


@pytest.fixture
def trades(spark: SparkSession, tmp_path: Path) -> DataFrame:
    pq.write_table(TRADES, tmp_path / "trades.parquet")
    return spark.read.parquet(str(tmp_path / "trades.parquet"))


def rows(table: pa.Table) -> list[str]:
    return sorted(str(list(row.values())) for row in table.to_pylist())


def test_a_query_has_a_table_of_its_own(trades: DataFrame) -> None:
    ours = stretto.run(RULES, TRADES)
    found = detect(RULES, trades, outputs="all").cache()
    climbs = matches_of(found, "climb")
    assert climbs.columns == ["match_id", *ours["climb"].column_names]
    kinds = dict(climbs.dtypes)
    assert (kinds["a"], kinds["d"], kinds["gain"], kinds["size"]) == (
        "string",
        "array<string>",
        "double",
        "bigint",
    )
    assert (kinds["start"], kinds["since"]) == ("timestamp", "timestamp")
    assert kinds["took"] == "interval day to second"
    assert len(ours["climb"]) > 3
    utc = TRADES.schema.field("ts").type
    shape = pa.schema(
        [pa.field(f.name, utc if pa.types.is_timestamp(f.type) else f.type) for f in ours["climb"].schema]
    )
    assert rows(climbs.drop("match_id").toArrow()) == rows(ours["climb"].cast(shape))
    ids = sorted(row.match_id for row in climbs.select("match_id").collect())
    assert ids == sorted(match["match_id"] for match in ours)

    totals = trends_of(found, "runs")
    assert totals.columns == ["window_start", "window_end", "symbol", "number", "size", "mean"]
    got = {(str(row.window_start), row.symbol): (row.number, row.size) for row in totals.collect()}
    long = [row for row in ours.totals().to_pylist() if row["name"] in ("number", "size")]
    assert len(got) * 2 == len(long) > 4
    assert sorted(number for number, _ in got.values()) == sorted(
        int(r["exact"]) for r in long if r["name"] == "number"
    )

    with pytest.raises(StrettoSparkError, match="no query `clim` finds matches here, did you mean `climb`"):
        matches_of(found, "clim")
    with pytest.raises(StrettoSparkError, match="does not say what its queries look like"):
        matches_of(found.withMetadata("query", {}), "climb")


WHOLE = "QUERY whole PATTERN SEQ(Buy a, Sell b*) WHERE [symbol] WITHIN 10 SECONDS RETURN *, COUNT(b) AS sold;"


def without_zones(value):
    """Values as they are without time zones, in structs and lists too."""
    if isinstance(value, dict):
        return {name: without_zones(one) for name, one in value.items()}
    if isinstance(value, list):
        return [without_zones(one) for one in value]
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def test_whole_events_come_with_the_matches(spark: SparkSession, trades: DataFrame, tmp_path: Path) -> None:
    ours = stretto.run(WHOLE, TRADES)
    expected = sorted(map(str, without_zones(ours["whole"].to_pylist())))
    texts = sorted(row["returned"] for row in ours.to_arrow().to_pylist())
    assert len(texts) > 3

    batch = detect(WHOLE, trades)
    assert sorted(row.returned for row in batch.collect()) == texts
    whole = matches_of(batch, "whole")
    assert dict(whole.dtypes)["a.*"] == ("struct<ts:timestamp,symbol:string,price:double,size:bigint>")
    assert sorted(map(str, without_zones(whole.drop("match_id").toArrow().to_pylist()))) == expected

    files = Files(tmp_path / "events")
    files.write(TRADES)
    later = pa.array([3600 * 1_000_000], TRADES.schema.field("ts").type)  # what it ends is certain then
    files.write(TRADES.slice(0, 1).set_column(0, "ts", later).set_column(1, "type", [["End"]]))
    stream = detect(WHOLE, files.stream(spark), stats=stretto.Stats.of(TRADES), ahead=None)
    rows, _ = run_to_end(matches_of(stream, "whole"), tmp_path / "state", tmp_path / "found")
    assert sorted(map(str, without_zones(rows.drop("match_id").toArrow().to_pylist()))) == expected


def test_matches_are_joined_with_their_events(trades: DataFrame) -> None:
    climbs = matches_of(detect(RULES, trades), "climb")
    first = trades.select(F.col("id").alias("a"), F.col("price").alias("bought"))
    joined = climbs.join(first, "a").select("match_id", "symbol", "bought", "gain")
    assert joined.count() == climbs.count()
    assert {(row.symbol, row.bought) for row in joined.collect()} <= {
        ("IBM", 10.0),
        ("HP", 20.0),
        ("IBM", 11.5),
    }


def test_one_small_job_runs_before_the_first_action(
    trades: DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_look, "LOOKED_AT", 4)  # not all of the events
    context = trades.sparkSession.sparkContext
    tracker = context.statusTracker()
    free = RULES.replace("[symbol] AND ", "")

    def jobs(name: str, call) -> int:
        context.setJobGroup(name, name)
        found = call()
        assert found.columns
        return len(tracker.getJobIdsForGroup(name))

    try:
        assert jobs("looks", lambda: detect(free, trades)) == 1
        assert jobs("totals", lambda: aggregate(RULES, trades)) == 1
        stats = stretto.spark.profile(RULES, trades)
        assert jobs("given", lambda: detect(free, trades, stats=stats)) == 0
        plan = stretto.optimize(RULES, stats)
        assert jobs("plan", lambda: detect(plan, trades)) == 0
        assert jobs("time", lambda: detect(free, trades, spread="time", stats=stats)) == 0
    finally:
        context.setJobGroup("", "")
    found = detect(free, trades).toArrow()  # spread by slices of time, not knowing of how many
    assert sorted(found["match_id"].to_pylist()) == sorted(
        match["match_id"] for match in stretto.run(free, TRADES)
    )
