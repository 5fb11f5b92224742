"""Statistics of events: schema, span and rates, from any table, and as a file."""

import datetime as dt
import json
import re

import polars as pl
import pyarrow as pa
import pytest
from tests.stats.worlds import piece_of, poisson, workload

from stretto.errors import EventsError, StrettoError, StrettoWarning
from stretto.pattern.piece import Piece
from stretto.schema import Kind, Schema, Special
from stretto.stats.estimate import Estimator
from stretto.stats.profile import PARTS, Stats

TABLE = pa.table(
    {
        "ts": pa.array([0, 1_000_000, 4_000_000, 2_000_000], pa.timestamp("us")),
        "type": ["B", "A", "B", "B"],
        "price": [1.0, None, 2.0, 3.0],
        "tags": [[1], [2], [], None],
        "pairs": [[[1]], [[2]], [], None],
    }
)


def test_span_and_rates() -> None:
    stats = Stats.of(TABLE)
    assert stats.seconds == 4.0
    assert list(stats.rates.items()) == [("A", 0.25), ("B", 0.75)]
    assert stats.events == 4
    assert stats.schema.attributes == {"price": Kind.FLOAT, "tags": Kind.INTS}
    assert stats.schema.types == {"A", "B"}
    assert stats.schema.skipped == ("pairs",)


def test_other_tables_and_names() -> None:
    moment = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
    frame = pl.DataFrame(
        {"at": [moment, moment + dt.timedelta(seconds=2)], "kind": ["A", "A"], "id": [7, 8]},
        schema_overrides={"kind": pl.Categorical},
    )
    stats = Stats.of(frame, Special(ts="at", type="kind"))
    assert (stats.seconds, stats.rates) == (2.0, {"A": 1.0})
    assert stats.schema.attributes == {"id": Kind.INT}


def test_microseconds_as_numbers_and_no_span() -> None:
    assert Stats.of(pa.table({"ts": [5, 1_500_005], "type": ["A", "B"]})).seconds == 1.5
    assert Stats.of(pa.table({"ts": [5, 5], "type": ["A", "A"]})).rates == {"A": 2.0}
    none = Stats.of(pa.table({"ts": pa.array([], pa.int64()), "type": pa.array([], pa.string())}))
    assert (none.seconds, none.rates, none.events) == (0.0, {}, 0)


def test_null_types_and_times_are_not_counted() -> None:
    stats = Stats.of(pa.table({"ts": pa.array([0, None, 1_000_000]), "type": ["A", "A", None]}))
    assert (stats.seconds, stats.rates) == (1.0, {"A": 2.0})


def test_a_file_gives_the_same_statistics_back() -> None:
    stats = Stats.of(TABLE.drop_columns(["tags", "pairs"]), Special(id="key"))
    assert Stats.from_json(stats.to_json()) == stats


FILE = (
    '{"seconds": 1, "rates": {"A": 2}, "selectivity": [{"term": "A.x > 1", "value": 0.25, "error": 0.1}],'
    ' "events": 2, "schema": {"attributes": {"x": "double"}, "types": ["A"]},'
    ' "special": {"ts": "ts", "type": "type", "id": "id"}}'
)


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        "nonsense",
        '{"schema": {"attributes": {"x": "lump"}, "types": null}}',
        "[" * 100_000,
        FILE.replace('["A"]', "[null]"),
        FILE.replace('["A"]', '[["A"]]'),
        FILE.replace('"ts": "ts"', '"ts": 5'),
        FILE.replace('"A.x > 1"', "null"),
        FILE.replace('"value": 0.25', '"value": "0.25"'),
        FILE.replace('"A": 2', '"\\udc00": 2'),
    ],
)
def test_other_files_are_refused(text: str) -> None:
    with pytest.raises(StrettoError, match="not a file of statistics"):
        Stats.from_json(text)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pa.table({"ts": [1], "kind": ["A"]}), "no column `type`; there are: ts, kind"),
        (pa.table({"ts": ["noon"], "type": ["A"]}), "not string"),
        ([1, 2], "this list is no table"),
    ],
)
def test_wrong_tables_are_refused(table: object, message: str) -> None:
    with pytest.raises(EventsError, match=message):
        Stats.of(table)


PATTERNS = (
    "SEQ(A a, B b+, NOT(D d), C c) WHERE [k] AND a.x < c.x AND b[i].x > b[i-1].x AND d.x < a.x WITHIN 1s",
    "AND(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x AND a.w = c.w AND a.x > 0.5 WITHIN 500ms",
)


def test_a_file_of_measured_statistics_needs_no_sample() -> None:
    stats = Stats.of(poisson(5000), workload=workload(*PATTERNS))
    read = Stats.from_json(stats.to_json())
    assert read == stats
    assert read.sample is None
    known = dict(stats.selectivities.known)
    for pattern in PATTERNS:
        piece = piece_of(pattern, stats.schema)
        assert Estimator(read).rows(piece) == Estimator(stats).rows(piece)
    assert stats.selectivities.known == known  # all had been measured


def test_old_files_without_skew_are_read() -> None:
    assert Stats.from_json(FILE).rates == {"A": 2.0}


def test_a_file_is_json_whatever_the_values_are() -> None:
    x = [float("inf")] * 4 + [float("-inf")] * 4 + [float("nan")] * 4
    table = poisson(12).set_column(2, "x", pa.array(x))
    stats = Stats.of(table, workload=workload("SEQ(A a, B b) WHERE a.x = b.x WITHIN 1h"))
    text = stats.to_json()
    json.loads(text, parse_constant=pytest.fail)  # what JSON has no word for
    read = Stats.from_json(text)
    piece = piece_of("SEQ(A a, B b) WHERE a.x = b.x WITHIN 1h", stats.schema)
    assert Estimator(read).rows(piece) == Estimator(stats).rows(piece)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-1", "1e999", "9" * 400])
@pytest.mark.parametrize("place", ["seconds", "A", "value", "events"])
def test_a_file_with_numbers_that_nobody_measured_is_refused(place: str, number: str) -> None:
    with pytest.raises(StrettoError, match="not a file of statistics"):
        Stats.from_json(re.sub(f'"{place}": [0-9.]+', f'"{place}": {number}', FILE))


def test_of_a_piece_with_many_slots_some_parts_are_measured(monkeypatch) -> None:
    schema = Schema({}, frozenset(f"T{i}" for i in range(60)))
    asked: list[Piece] = []
    monkeypatch.setattr(Estimator, "rows", lambda _, piece: asked.append(piece))
    slots = ", ".join(f"T{i}" for i in range(60))
    Stats.assumed(schema).measured(workload(f"AND({slots}) WITHIN 1s"))
    assert len(asked) == 1 + PARTS


def test_a_small_sample_still_tells() -> None:
    table = poisson(40_000, seed=2)
    whole, part = Stats.of(table), Stats.of(table, sample=4000, seed=3)
    assert part.rates == whole.rates
    assert part.sample is not None
    assert part.sample.inside == 4000
    piece = piece_of("SEQ(A a, B b) WHERE a.x < b.x AND a.w = 'red' WITHIN 200ms", whole.schema)
    assert Estimator(part).rows(piece) == pytest.approx(Estimator(whole).rows(piece), rel=0.2)


def test_batches_give_what_a_table_gives() -> None:
    table = poisson(3000)
    whole = Stats.of(table)
    assert Stats.of_batches(table.to_batches(100), whole.schema, 3000) == whole


def test_no_events_but_a_workload() -> None:
    empty = Stats.of(poisson(10).slice(0, 0), workload=workload(*PATTERNS))
    assert (empty.sample, empty.total_rate) == (None, 0.0)
    assert Estimator(empty).rows(piece_of(PATTERNS[0], empty.schema)) == 0.0


def test_rates_can_be_replaced() -> None:
    stats = Stats.of(poisson(1000))
    changed = stats.with_rates({"A": 7.0, "Z": 1.0})
    assert (changed.rate("A"), changed.rate("Z"), changed.rate("Y")) == (7.0, 1.0, 0.0)
    assert changed.rate("B") == stats.rate("B")
    assert changed.sample is stats.sample


def test_integers_that_can_only_be_milliseconds() -> None:
    table = pa.table({"ts": [1_700_000_000_000 + 1_000 * n for n in range(5)], "type": ["A"] * 5})
    with pytest.warns(StrettoWarning, match="read as milliseconds since 1970"):
        assert Stats.of(table).seconds == 4
    assert Stats.of(table, ts_unit="us").seconds == pytest.approx(0.004)
