"""The baselines find what the oracle finds, and say what they cannot do."""

import re
from collections.abc import Callable

import pyarrow as pa
import pytest
from benchmarks.baselines.trends import detections, flat, flatten, two_step
from hypothesis import given
from tests.support.random_events import to_table
from tests.support.strategies import Sample
from tests.support.trend_comparison import assert_right_totals, rows_of
from tests.support.trend_strategies import trend_workloads

from stretto.engine.whole_table import run
from stretto.errors import EngineError, StrettoError
from stretto.generate.streams import generate
from stretto.generate.workloads import workload
from stretto.pattern.workload import Workload
from stretto.plan.optimize import optimize
from stretto.schema import Schema


@given(trend_workloads())
def test_two_step_finds_what_the_oracle_finds(sample: Sample) -> None:
    parsed = Workload.parse(sample.text)
    # Terms on repetitions of groups that no operator can judge.
    found = unless(
        "not supported yet", lambda: two_step(parsed, sample.schema, to_table(sample.events), "none")
    )
    if found is not None:
        assert_right_totals(rows_of(found), parsed.bind(sample.schema).trends, sample.events, str(sample))


@given(trend_workloads())
def test_flat_finds_what_the_oracle_finds(sample: Sample) -> None:
    parsed = Workload.parse(sample.text)
    limits = "under two `[+]`|can be flattened|places in sequences|cannot be flattened exactly"
    found = unless(limits, lambda: flat(parsed, sample.schema, to_table(sample.events), 3_000))
    if found is not None:
        assert_right_totals(rows_of(found), parsed.bind(sample.schema).trends, sample.events, str(sample))


@pytest.mark.parametrize("last", [1 << 62, -1])
def test_flat_tells_all_digits_or_refuses(last: int) -> None:
    """Two events of one time and a later one: the sequences of two events sum up to -2^63 at their first."""
    numbers = [-(1 << 62), -(1 << 62), last]
    table = pa.table({"ts": [0, 0, 1], "type": ["B"] * 3, "n": pa.array(numbers, pa.int64())})
    schema = Schema.of(table.schema, ["B"])
    parsed = Workload.parse("QUERY q PATTERN B b+ WITHIN 10 us AGGREGATE SUM(b.n) AS n;")
    if last > 0:
        with pytest.raises(StrettoError, match="cannot be flattened exactly"):
            flat(parsed, schema, table)
    else:
        assert sorted_rows(flat(parsed, schema, table)) == sorted_rows(
            run(optimize(parsed, schema, "greta"), table).totals()
        )


def test_the_least_integer_is_exact() -> None:
    table = pa.table({"ts": [0], "type": ["B"], "n": pa.array([-(1 << 63)], pa.int64())})
    parsed = Workload.parse(
        "QUERY q PATTERN B b+ WITHIN 10 us AGGREGATE MIN(b.n) AS least, MAX(b.n) AS most;"
    )
    for way in (two_step, flat):
        assert (
            way(parsed, Schema.of(table.schema, ["B"]), table)["exact"].to_pylist() == [str(-(1 << 63))] * 2
        )


def unless(refusal: str, call: Callable[[], pa.Table]) -> pa.Table | None:
    """What a call gives, or None if it refuses for a known reason."""
    try:
        return call()
    except StrettoError as error:
        if re.search(refusal, str(error)):
            return None
        raise


def test_a_detection_query_has_the_groups_as_equal_attributes() -> None:
    text = "QUERY q PATTERN SEQ(A a, B b+) WHERE b[i].x > b[i-1].x GROUP BY k, s WITHIN 5 s SLIDE 1 s RETURN COUNT(*);"
    (query,) = detections(Workload.parse(text)).queries
    same = Workload.parse(
        "QUERY q PATTERN SEQ(A a, B b+) WHERE b[i].x > b[i-1].x AND [k] AND [s] WITHIN 4999999 us;"
    )
    assert query == same.queries[0]


def test_sequences_of_every_length() -> None:
    table = generate("rides", 12, rates={"Travel": 9.0, "Request": 1.0}, drivers=1)
    schema = Schema.of(table.schema, ["Travel", "Request"])
    parsed = Workload.parse(
        "QUERY q PATTERN Travel t+ WHERE t[i].speed < t[i-1].speed WITHIN 1 HOUR RETURN COUNT(*);"
    )
    travels = sum(name == "Travel" for name in table["type"].to_pylist())
    sequences = flatten(parsed, schema, table).workload
    assert len(sequences) == travels
    longest = max(sequences.queries, key=lambda query: len(query.where))
    assert len(longest.pattern.parts) == travels
    assert len(longest.where) == travels - 1


def test_too_many_sequences() -> None:
    table = generate("rides", 500, drivers=1)
    schema = Schema.of(table.schema, table["type"].combine_chunks().dictionary.to_pylist())
    parsed = Workload.parse("QUERY q PATTERN SEQ(Request r, Travel t+)+ WITHIN 1 HOUR RETURN COUNT(*);")
    with pytest.raises(StrettoError, match="more than 1,000 places in sequences, at query `q`"):
        flatten(parsed, schema, table, 1_000)


def test_two_step_stops_when_told() -> None:
    table = generate("rides", 100)
    schema = Schema.of(table.schema, table["type"].combine_chunks().dictionary.to_pylist())
    parsed = Workload.parse("QUERY q PATTERN Travel t+ GROUP BY driver WITHIN 1 s RETURN COUNT(*);")
    with pytest.raises(EngineError, match="stopped after 0 of 100 events"):
        two_step(parsed, schema, table, "none", stop=lambda: True)


@pytest.mark.parametrize(
    ("kind", "rates"), [("muse-rides", {"Travel": 24.0}), ("muse-stocks", {"Trade": 24.0})]
)
def test_all_ways_agree_on_the_papers_workloads(kind: str, rates: dict[str, float]) -> None:
    text = workload(kind, 12, 3, adjacent=0.5, measures=0.5, window="4 SECONDS", slide="2 SECONDS")
    table = generate("rides" if kind == "muse-rides" else "ticks", 400, seed=4, rate=40.0, rates=rates)
    schema = Schema.of(table.schema, table["type"].combine_chunks().dictionary.to_pylist())
    parsed = Workload.parse(text)
    online = sorted_rows(run(optimize(parsed, schema, "greta"), table).totals())
    assert len(online) > 100
    for found in (two_step(parsed, schema, table, "none"), flat(parsed, schema, table)):
        assert sorted_rows(found) == online


def sorted_rows(table) -> list[tuple]:
    rows = rows_of(table)
    near = [{**row, "value": row["value"] and round(row["value"], 6)} for row in rows]
    return sorted(tuple((name, str(one)) for name, one in row.items()) for row in near)
