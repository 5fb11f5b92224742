"""Matches of a DataFrame: the same as in process and by the oracle, however the work is spread."""

from random import Random

import pyarrow as pa
import pytest
from tests.support.comparison import assert_same_matches
from tests.support.random_events import SCHEMA, TYPES, random_events, to_table
from tests.support.strategies import Sample, with_ties
from tests.support.variations import _query, _terms

import stretto.spark
from stretto import oracle
from stretto.engine.whole_table import run
from stretto.errors import EventsError, StrettoError, StrettoWarning
from stretto.oracle.detections import Match
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.optimize import optimize
from stretto.plan.spread.spreads import ByKey, ByTime
from stretto.plan.spread.time_slices import Times
from stretto.schema import Kind, Schema
from stretto.spark.batch.dataframe import detect
from stretto.spark.plans import Planning
from stretto.spark.setup.session import cores_of

COLUMNS = ["query", "match_id", "start", "end", "detected", "events", "member", "returned"]
POLICIES = (
    "QUERY strict PATTERN SEQ(A a, B b) WHERE [k] WITHIN 9 us SELECT STRICT",
    "QUERY next PATTERN SEQ(A a, B b+, C c) WHERE [k] WITHIN 9 us SELECT NEXT",
    "QUERY last PATTERN SEQ(A a, B b, NOT(C c)) WHERE [k] WITHIN 6 us RETURN a.x AS x, b.s AS s",
    "QUERY first PATTERN SEQ(NOT(C c), A a, B b) WHERE [k] WITHIN 6 us",
)
COUNTED = (
    "QUERY counted PATTERN SEQ(A a, B b, NOT(C c)) WITHIN 6 EVENTS",
    "QUERY before PATTERN SEQ(NOT(C c), A a, B b) WITHIN 5 EVENTS",
)


def no_ids(what: str = "no column `id`"):
    """What is said of events without ids."""
    return pytest.warns(StrettoWarning, match=what)


def many_queries(rng: Random, same: str, more: tuple[str, ...]) -> str:
    """Thirty queries to share, and some of special kinds."""
    base = [rng.choice(TYPES) for _ in range(4)]
    texts = [_query(rng, f"q{i}", base, _terms(rng, len(base)), same) for i in range(30)]
    texts = [text.replace(" EVENTS;", " us;") for text in texts] if same else texts
    return "\n".join([*texts, *(f"{text};" for text in more)])


def plan_of(text: str) -> Plan:
    return optimize(Workload.parse(text), SCHEMA, "none")


def found_rows(df) -> dict[str, list[Match]]:
    """The rows of a DataFrame of matches in the oracle's shape, without what they return."""
    found: dict[str, list[Match]] = {}
    table = df.toArrow()
    assert table.column_names == COLUMNS
    times = [table.column(name).cast(pa.int64()).to_pylist() for name in ("start", "end", "detected")]
    for query, start, end, detected, events in zip(
        table.column("query").to_pylist(), *times, table.column("events").to_pylist(), strict=True
    ):
        bound = {name: tuple(ids) for name, ids in events}
        found.setdefault(query, []).append(Match(start, end, detected, bound, {}))
    return found


def expected_rows(plan: Plan, events) -> dict[str, list[Match]]:
    return {
        query.name: [
            Match(match.start, match.end, match.detected, match.events, {})
            for match in oracle.matches(query, events)
        ]
        for query in plan.workload.bind(plan.schema).detections
    }


@pytest.mark.parametrize("spread", ["whole", "key", "time", "auto", "slices"])
def test_every_spread_finds_what_the_oracle_finds(spark, spread: str) -> None:
    rng = Random(7)
    same, more = ("[k]", POLICIES) if spread == "key" else ("", (*POLICIES, *COUNTED))
    plan = plan_of(many_queries(rng, same, more))
    events = random_events(rng, TYPES, most=40)
    df = spark.createDataFrame(to_table(events))  # in two parts, in order
    chosen = spread
    if spread == "slices":
        chosen = ByTime.of(plan, Times.of([(event.ts, event.ts, 1) for event in events]), 12)
    found = found_rows(detect(plan, df, spread=chosen))
    expected = expected_rows(plan, events)
    assert sum(map(len, expected.values())) > 100
    for name, matches in expected.items():
        assert_same_matches(found.get(name, []), matches, about=name)


@pytest.mark.parametrize("spread", ["whole", "key", "time"])
def test_ties_of_a_dataframe_go_by_id_however_its_rows_lie(spark, spread: str) -> None:
    rng = Random(11)
    tied = ("QUERY run PATTERN SEQ(A a, B b+) WHERE [k] WITHIN 9 us SELECT STRICT",)
    free = ("QUERY all PATTERN SEQ(A a, B b) WITHIN 9 us SELECT STRICT", *COUNTED)
    same, more = ("[k]", (*POLICIES, *tied)) if spread == "key" else ("", (*POLICIES, *tied, *free))
    sample = with_ties(rng, Sample(many_queries(rng, same, more), SCHEMA, random_events(rng, TYPES, most=60)))
    plan = plan_of(sample.text if spread != "key" else sample.text.replace(" EVENTS", " us"))
    shuffled = list(sample.events)
    rng.shuffle(shuffled)
    df = spark.createDataFrame(to_table(shuffled)).repartition(4)
    found = found_rows(detect(plan, df, spread=spread))
    expected = expected_rows(plan, sample.events)
    assert sum(map(len, expected.values())) > 50
    for name, matches in expected.items():
        assert_same_matches(found.get(name, []), matches, about=name)


def test_the_same_file_rows_as_in_process(spark) -> None:
    plan = plan_of("\n".join(f"{text};" for text in POLICIES))
    table = to_table(random_events(Random(3), TYPES, most=60))
    df = spark.createDataFrame(table)
    names = ["match_id", "query", "events", "returned"]
    rows = [
        tuple(map(str, row)) for row in detect(plan, df, spread="key").toArrow().select(names).to_pylist()
    ]
    ours = [tuple(map(str, row)) for row in run(plan, table).to_arrow().select(names).to_pylist()]
    assert sorted(rows) == sorted(ours)
    without_zone = df.withColumn("ts", df.ts.cast("timestamp_ntz"))
    found = detect(plan, without_zone, spread="whole")
    assert found.schema["start"].dataType.typeName() == "timestamp_ntz"
    assert found.count() == len(ours)


def test_a_workload_is_planned_by_a_sample_and_ids_count_rows(spark) -> None:
    table = pa.table(
        {
            "ts": pa.array(range(0, 4_000_000, 1000), pa.timestamp("us", "UTC")),
            "type": ["A", "B", "C", "D"] * 1000,
            "x": pa.array([i % 17 / 3 for i in range(4000)]),
        }
    )
    text = "QUERY q PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 3 ms;"
    df = spark.createDataFrame(table).coalesce(1)
    with no_ids():
        found = detect(text, df, planning=Planning(budget=0.2))
    detect(text[:-1] + " RETURN *;", df)  # brings its events, and needs no ids
    assert found.schema["end"].dataType.typeName() == "timestamp"
    ours = run(optimize(Workload.parse(text), SCHEMA, "none"), table)["q"]
    rows = found.select("events").collect()
    assert sorted((row.events["a"][0], row.events["b"][0]) for row in rows) == sorted(
        zip(ours["a"].to_pylist(), ours["b"].to_pylist(), strict=True)
    )


def test_times_may_be_numbers_and_nothing_may_be_found(spark) -> None:
    table = pa.table({"when": [5, 1, 3], "kind": ["B", "A", "X"], "k": [1, 1, None]})
    plan = optimize(
        Workload.parse("QUERY q PATTERN SEQ(A a, B b) WITHIN 9 us; QUERY none PATTERN C c WITHIN 1 us;"),
        SCHEMA,
        "none",
    )
    from stretto.schema import Special

    special = Special("when", "kind", "number")
    df = spark.createDataFrame(table).coalesce(1)
    with no_ids(r"no column `number`: .* \(of q, none\)"):
        (row,) = detect(plan, df, special=special, spread="time").collect()
    assert (row.start, row.end, row.events) == (1, 5, {"a": [1], "b": [0]})
    empty = df.where("when > 9")
    with no_ids("no column `number`"):
        assert detect(plan, empty, special=special).collect() == []


@pytest.mark.parametrize("streams", [False, True])
def test_columns_that_do_not_serve_are_refused(spark, tmp_path, streams: bool) -> None:
    table = to_table(random_events(Random(1)))
    good = spark.createDataFrame(table)
    if streams:
        good = spark.readStream.schema(good.schema).parquet(str(tmp_path))
    text = "QUERY q PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 9 us;"
    for df, message in (
        (good.select("*", good.n.alias("X")), "the DataFrame: Spark takes the columns `x` and `X` for one"),
        (good.select("*", good.x), "the DataFrame: column `x` occurs twice"),
        (good.select("*", good.ts), "the DataFrame: column `ts` occurs twice"),
        (
            good.withColumn("id", good.id.cast("decimal(20,0)")),
            r"column `id` holds decimal.20,0.: ids are integers",
        ),
        (good.withColumn("id", good.x), "column `id` holds double: ids are integers of 64 bits or strings"),
    ):
        with pytest.raises(EventsError, match=message):
            stretto.spark.detect(text, df)
        if not streams and "`id`" not in message:
            with pytest.raises(EventsError, match=message):
                stretto.spark.profile(text, df)


def test_what_is_wrong_is_said(spark) -> None:
    plan = plan_of("QUERY q PATTERN SEQ(A a, B b) WITHIN 9 us;")
    df = spark.createDataFrame(to_table(random_events(Random(1))))
    with pytest.raises(EventsError, match="no column `ts`"):
        detect(plan, df.drop("ts"))
    with pytest.raises(StrettoError, match="does not tie all of its events by `k`"):
        detect(plan, df, spread=ByKey(("k",), 2))
    with pytest.raises(StrettoError, match="EVENTS"):
        detect(plan_of("QUERY q PATTERN SEQ(A a, B b) WITHIN 9 EVENTS;"), df, spread="units")
    with pytest.raises(StrettoError, match="unknown attribute"):
        detect("QUERY q PATTERN SEQ(A a, B b) WHERE a.y < 1 WITHIN 9 us;", df)


def test_the_number_of_cores(spark) -> None:
    assert cores_of(spark) == 2


@pytest.mark.parametrize("spread", ["whole", "time", "key", "slices"])
def test_all_outputs_hold_every_rejected_event_once(spark, spread: str) -> None:
    rows = [
        *((1_000_000 * i, "AB"[i % 2], 7, 0.5, f"note {i}") for i in range(40)),
        (None, "A", 1, 1.0, "no time"),
        (3_000_000, None, 2, 2.0, "no type"),
        (38_000_000, None, None, None, None),
        (1 << 62, "B", 4, 4.0, "after all times"),
    ]
    columns = "ts bigint, type string, k bigint, x double, reason string"
    df = spark.createDataFrame(rows, columns)  # in two parts
    text = """
        QUERY m PATTERN SEQ(A a, B b) WHERE [k] WITHIN 5 SECONDS;
        QUERY t PATTERN SEQ(A a, B b+) GROUP BY k WITHIN 10 SECONDS RETURN COUNT(*);
    """
    schema = Schema({"k": Kind.INT, "x": Kind.FLOAT, "reason": Kind.STRING}, frozenset("AB"))
    plan = optimize(Workload.parse(text), schema, "none")
    chosen = spread
    if spread == "slices":
        chosen = ByTime.of(plan, Times.of([(1_000_000 * i, 1_000_000 * i, 1) for i in range(40)]), 8)
    with no_ids():
        everything = stretto.spark.detect(plan, df, spread=chosen, outputs="all", ts_unit="us").cache()
    rejected = stretto.spark.rejected_of(everything)
    assert rejected.columns == [*df.columns, "reason"]
    found = sorted(map(tuple, rejected.collect()), key=str)
    assert found == sorted(
        [
            (*rows[40], "ts is null"),
            (*rows[41], "type is null"),
            (*rows[42], "type is null"),
            (*rows[43], "ts is out of range"),
        ],
        key=str,
    )
    assert stretto.spark.late_of(everything).count() == 0
    with no_ids():
        alone = stretto.spark.detect(plan, df, spread=chosen, ts_unit="us")
    matches = stretto.spark.matches_of(everything)
    assert matches.columns == COLUMNS
    assert found_ids(matches) == found_ids(alone)
    assert len(found_ids(alone)) > 40
    totals = stretto.spark.trends_of(everything)
    expected = stretto.spark.aggregate(plan, df, spread=chosen, ts_unit="us")
    assert sorted(map(str, totals.collect())) == sorted(map(str, expected.collect()))
    everything.unpersist()


def found_ids(df) -> list[str]:
    return sorted(row.match_id for row in df.select("match_id").collect())
