"""Statistics of events: schema, span and rates, from any table, and as a file."""

import datetime as dt

import polars as pl
import pyarrow as pa
import pytest

from stretto.errors import EventsError, StrettoError
from stretto.schema import Kind, Special
from stretto.stats.profile import Stats

TABLE = pa.table(
    {
        "ts": pa.array([0, 1_000_000, 4_000_000, 2_000_000], pa.timestamp("us")),
        "type": ["B", "A", "B", "B"],
        "price": [1.0, None, 2.0, 3.0],
        "tags": [[1], [2], [], None],
    }
)


def test_span_and_rates() -> None:
    stats = Stats.of(TABLE)
    assert stats.seconds == 4.0
    assert list(stats.rates.items()) == [("A", 0.25), ("B", 0.75)]
    assert stats.events == 4
    assert stats.schema.attributes == {"price": Kind.FLOAT}
    assert stats.schema.types == {"A", "B"}
    assert stats.schema.skipped == ("tags",)


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
    stats = Stats.of(TABLE.drop_columns(["tags"]), Special(id="key"))
    assert Stats.from_json(stats.to_json()) == stats


@pytest.mark.parametrize(
    "text", ["{}", "[]", "nonsense", '{"schema": {"attributes": {"x": "lump"}, "types": null}}']
)
def test_other_files_are_refused(text: str) -> None:
    with pytest.raises(StrettoError, match="not a file of statistics"):
        Stats.from_json(text)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pa.table({"ts": [1], "kind": ["A"]}), "no column `type`; there are: ts, kind"),
        (pa.table({"ts": ["noon"], "type": ["A"]}), "not string"),
        ([1, 2], "not list"),
    ],
)
def test_wrong_tables_are_refused(table: object, message: str) -> None:
    with pytest.raises(EventsError, match=message):
        Stats.of(table)
