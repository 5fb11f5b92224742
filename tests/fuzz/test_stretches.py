"""The judges are judged: stretches and tiles give what the oracle gives for the whole stream."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from unittest import mock

import pyarrow as pa
import pytest
from tests.fuzz import stretches, tiled_rows
from tests.fuzz.exact_rows import expected_rows, table_of
from tests.fuzz.sized_streams import sized_events, window_sizes
from tests.fuzz.stretches import Judge, TooHeavy
from tests.fuzz.tiled_rows import TiledJudge
from tests.fuzz.tiles import Tiling, tiled_workload
from tests.support.comparison import assert_same_matches
from tests.support.keeps import CLAUSES
from tests.support.random_events import SCHEMA, TYPES
from tests.support.strategies import Event, random_query

from stretto import oracle
from stretto.engine.whole_table import run
from stretto.errors import QueryError
from stretto.pattern.nodes import Query
from stretto.pattern.workload import Workload
from stretto.plan.optimize import optimize

SHORT = 60  # events that the oracle can judge whole


def light_queries(seed: int, count: int) -> Iterator[Query]:
    rng = Random(seed)
    while count:
        text, weight = random_query(rng, "q", TYPES[:2], window_sizes)
        if weight <= 4:
            text = f"{text.removesuffix(';')}{rng.choice(CLAUSES)};" if "EVENTS" not in text else text
            try:
                yield from Workload.parse(text).bind(SCHEMA).detections
            except QueryError:
                continue
            count -= 1


@pytest.mark.parametrize("start", range(0, 12, 4))
def test_stretches_find_what_the_oracle_finds(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stretches, "OWN", 7)
    streams = {seed: sized_events(Random(seed), TYPES[:2], SHORT) for seed in range(start, start + 4)}
    found = 0
    for query, events in [
        (query, events) for seed, events in streams.items() for query in light_queries(seed, 8)
    ]:
        try:
            judge = Judge(query, events)
        except TooHeavy:
            continue
        assert_same_matches(judge.whole, oracle.matches(query, events), about=f"{query}")
        for base in (1, 10, 35, SHORT):
            assert_same_matches(
                judge.since(base), oracle.matches(query, events[base:]), about=f"{query} {base}"
            )
        found += len(judge.whole)
    assert found > SHORT


@pytest.mark.parametrize(
    "text",
    ["SEQ(A a, B b) WITHIN 8 us", "SEQ(NOT(A c), B a) WITHIN 8 us", "SEQ(A a, NOT(B b)) WITHIN 5 EVENTS"],
)
def test_too_short_a_stretch_would_be_noticed(text: str) -> None:
    (query,) = Workload.parse(f"QUERY q PATTERN {text};").bind(SCHEMA).detections
    events = sized_events(Random(2), TYPES[:2], 200)
    whole = list(stretches.stretches(query, [event.ts for event in events]))
    cut = [replace(stretch, low=stretch.begin, high=stretch.end) for stretch in whole]
    expected = Judge(query, events).whole
    with mock.patch("tests.fuzz.stretches.stretches", return_value=iter(cut)), pytest.raises(AssertionError):
        assert_same_matches(Judge(query, events).whole, expected)


def test_what_takes_too_long_is_refused() -> None:
    (query,) = Workload.parse("QUERY q PATTERN A a+ WITHIN 40 us;").bind(SCHEMA).detections
    with pytest.raises(TooHeavy):
        Judge(query, [Event(number, number, "A", {}) for number in range(100)])


# ---- tiles -----------------------------------------------------------------------------------------------------


def tiled(seed: int) -> tuple[Tiling, list[tuple[Query, TiledJudge]]]:
    texts, tiling = tiled_workload(Random(seed), 1)
    tiling = Tiling(tiling.tiles, tiling.order[:7])
    judges = []
    for text in texts.values():
        (query,) = Workload.parse(text).bind(SCHEMA).detections
        try:
            matches = [Judge(query, tile).whole for tile in tiling.tiles]
        except TooHeavy:
            continue
        judges.append((query, TiledJudge(query, matches, tiling)))
    return tiling, judges


@pytest.mark.parametrize("seed", [1, 3])
def test_tiles_have_the_matches_of_the_stream_that_they_make(seed: int) -> None:
    tiling, judges = tiled(seed)
    events = events_of(tiling.table())
    for query, judge in judges:
        whole = Judge(query, events).whole
        ids = pa.array([row[-1] for row in expected_rows(whole, query)], pa.string())
        assert judge.difference(tiled_rows.plain_table(whole, query).append_column("match_id", ids)) == ""


def events_of(table: pa.Table) -> list[Event]:
    for name in table.column_names:
        if pa.types.is_timestamp(table.schema.field(name).type):
            at = table.column_names.index(name)
            table = table.set_column(at, name, table.column(name).cast(pa.int64()))
    rows = table.to_pylist()
    return [Event(row.pop("id"), row.pop("ts"), row.pop("type"), row) for row in rows]


DAMAGE = {
    "drop": lambda table: table.slice(1),
    "repeat": lambda table: pa.concat_tables([table, table.slice(0, 1)]),
    "swap ids": lambda table: _set(table, "match_id", lambda column: [column[1], column[0], *column[2:]]),
    "start": lambda table: _set(
        table, "start", lambda column: [column[0].replace(microsecond=1), *column[1:]]
    ),
    "returned": lambda table: _set(table, "x", lambda column: [7.25, *column[1:]]),
    "null": lambda table: _set(table, "x", lambda column: [None, *column[1:]]),
    "member": lambda table: _set(table, "b", lambda column: [[*column[0], 5], *column[1:]]),
    "bound": lambda table: _set(table, "a", lambda column: [column[0] + 1, *column[1:]]),
}


def _set(table: pa.Table, name: str, change) -> pa.Table:
    at = table.column_names.index(name)
    field = table.schema.field(at)
    return table.set_column(at, field, pa.array(change(table.column(at).to_pylist()), field.type))


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_every_damage_to_a_result_over_tiles_is_noticed(damage) -> None:
    _, tiling = tiled_workload(Random(3), 1)
    tiling = Tiling(tiling.tiles, tiling.order[:7])
    kind = tiling.tiles[0][0].type
    text = f"QUERY q PATTERN SEQ({kind} a, {kind} b+) WITHIN 3 us RETURN a.x AS x;"
    workload = Workload.parse(text)
    (query,) = workload.bind(SCHEMA).detections
    judge = TiledJudge(query, [Judge(query, tile).whole for tile in tiling.tiles], tiling)
    found = table_of(run(optimize(workload, SCHEMA), tiling.table()), query)
    assert found.num_rows > 50
    assert judge.difference(found) == ""
    assert judge.difference(damage(found))
