"""Channels at work: an event is there once, whatever it is of, and operators see it once."""

import numpy as np
import pyarrow as pa
import pytest

from stretto.engine.derived.channel_aggregates import ChannelAggregates
from stretto.engine.run import Engine
from stretto.engine.whole_table import run
from stretto.pattern.workload import Workload
from stretto.plan.optimize import optimize
from stretto.schema import Kind, Schema
from stretto.values import member_sets as module
from stretto.values.member_sets import member_sets, read, written
from stretto.values.strings import Strings

SCHEMA = Schema({"a": Kind.INT, "b": Kind.INT}, frozenset({"S", "T"}))


def workload(members: int) -> Workload:
    """Members take nearly all events of S, each but for one of its own."""
    texts = [
        f"CREATE STREAM s{i} AS SELECT a FROM S WHERE b != {i};"
        f"QUERY q{i} PATTERN SEQ(s{i} x, T y) WHERE x.a = y.a WITHIN {100 + i % 2} us SELECT NEXT;"
        for i in range(members)
    ]
    return Workload.parse("\n".join(texts))


def events(rounds: int) -> pa.Table:
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "ts": pa.array(np.arange(2 * rounds), pa.timestamp("us")),
            "type": ["S", "T"] * rounds,
            "a": rng.integers(0, 50, 2 * rounds),
            "b": rng.integers(0, 1000, 2 * rounds),
        }
    )


def rows_of_next(members: int) -> int:
    plan = optimize(workload(members), SCHEMA, "rumor")
    engine = Engine(plan)
    engine.push(events(1000))
    engine.flush()
    (number,) = (i for i, op in enumerate(plan.ops) if type(op).__name__ == "Next")
    return engine.counters.rows[number]


def test_operators_see_an_event_once_however_many_streams_it_is_of() -> None:
    few, many = rows_of_next(2), rows_of_next(60)
    assert few > 300
    assert many <= 1.02 * few


@pytest.mark.parametrize("optimizer", ["rumor", "rumor-no-channels", "rumor without c_seq", "none"])
def test_members_have_their_own_matches(optimizer: str) -> None:
    """A member whose constant is among the events lacks those that the others have."""
    plan = optimize(workload(3), SCHEMA, optimizer)
    table = events(300)
    found = run(plan, table.set_column(3, "b", pa.array([i % 7 for i in range(600)])))
    counts = [len(found[f"q{i}"]) for i in range(3)]
    expected = run(
        optimize(workload(3), SCHEMA, "none"), table.set_column(3, "b", pa.array([i % 7 for i in range(600)]))
    )
    assert counts == [len(expected[f"q{i}"]) for i in range(3)]
    assert len(set(counts)) > 1
    assert min(counts) > 20


@pytest.mark.parametrize("cuts", [(), (100, 500, 900)])
def test_a_match_of_many_members_is_held_once(cuts: tuple[int, ...]) -> None:
    """Whatever their windows are, and whichever of them an event is of: a match is a row and a range of members."""
    table = events(500).set_column(3, "b", pa.array([i % 31 for i in range(1000)]))
    plan = optimize(workload(60), SCHEMA, "rumor")
    found = run(plan, _in_batches(table, cuts))
    alone = run(optimize(workload(60), SCHEMA, "none"), table)
    (key,) = plan.queries
    rows = sum(len(chunk.start) for chunk in found.chunks(key))
    assert 100 < rows < len(found) / 50
    assert found.counts() == alone.counts()
    for i in (0, 1, 30, 59):
        assert found[f"q{i}"].sort_by("x").equals(alone[f"q{i}"].sort_by("x"))
    tables = [one.to_arrow().sort_by("match_id") for one in (found, alone)]
    assert tables[0].equals(tables[1])


def _in_batches(table: pa.Table, cuts: tuple[int, ...]) -> list[pa.RecordBatch]:
    ends = (*cuts, len(table))
    parts = [table.slice(start, end - start) for start, end in zip((0, *cuts), ends, strict=True)]
    return [batch for part in parts for batch in part.combine_chunks().to_batches()]


def test_sets_are_texts_and_back() -> None:
    for members in ([], [3], [0, 1, 2, 7, 9, 10], list(range(1000))):
        assert read(written(np.array(members, np.int64))).tolist() == members
    assert written(np.array([0, 1, 2, 7, 9, 10])) == "0-2,7,9-10"
    many = np.arange(0, 40, 2)
    assert len(written(many)) < 12
    assert read(written(many)).tolist() == many.tolist()
    far = np.append(many, 1 << 40)  # bits would take a terabyte
    assert read(written(far)).tolist() == far.tolist()


def test_what_sets_have_in_common() -> None:
    sets = member_sets(Strings())
    one, other = sets.code([1, 2, 3]), sets.code([3, 4])
    codes = np.array([one, other, one])
    assert [sets.members(code).tolist() for code in sets.meet(codes, np.array([other, other, one]))] == [
        [3],
        [3, 4],
        [1, 2, 3],
    ]
    assert sets.has(codes, 3).tolist() == [True, True, True]
    assert sets.has(codes, 4).tolist() == [False, True, False]
    assert sets.meet(np.array([one]), np.array([sets.code([9])])).tolist() == [sets.empty]


@pytest.mark.parametrize("at_once", [1, 20, 1 << 20])
def test_several_sets_that_follow_each_other_are_united(
    monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(module, "AT_ONCE", at_once)
    rng, sets = np.random.default_rng(8), member_sets(Strings())
    known = [sets.code(np.flatnonzero(rng.random(90) < share)) for share in rng.random(11) ** 2]
    for size in (1, 2, 60):
        codes = np.array(known)[rng.integers(0, len(known), size)]
        starts = np.append(0, np.flatnonzero(rng.random(size - 1) < 0.3) + 1)
        expected = [
            sorted({one for code in part.tolist() for one in sets.members(code).tolist()})
            for part in np.split(codes, starts[1:])
        ]
        assert [sets.members(code).tolist() for code in sets.unions(codes, starts).tolist()] == expected
    none = np.zeros(0, np.int64)
    assert sets.unions(none, none).tolist() == []


def aggregates(members: int, other: str = "") -> Workload:
    """Filters before one aggregate, of which few results are asked for."""
    texts = [
        f"CREATE STREAM s{i} AS SELECT a, AVG(b) AS v, COUNT(*) AS n "
        f"FROM S WHERE b >= {10 * i} GROUP BY a WITHIN 400 us;"
        f"QUERY q{i} PATTERN s{i} x WHERE x.v > 700 AND x.n > 2 WITHIN 1 us;"
        for i in range(members)
    ]
    return Workload.parse("\n".join([*texts, other]))


@pytest.mark.parametrize("other", ["", "QUERY whole PATTERN s1 x WHERE x.a = 3 WITHIN 1 us;"])
def test_aggregates_that_nobody_selects_are_not_put_together(
    monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    put_together: list[int] = []
    once = ChannelAggregates._once
    monkeypatch.setattr(
        ChannelAggregates,
        "_once",
        lambda self, rows: put_together.append(len(rows.events)) or once(self, rows),
    )
    asked, table = aggregates(8, other), events(500)
    found = run(optimize(asked, SCHEMA, "rumor"), table)
    expected = run(optimize(asked, SCHEMA, "none"), table)
    counts = {name: len(expected[name]) for name in (query.name for query in asked.queries)}
    assert {name: len(found[name]) for name in counts} == counts
    assert sum(counts.values()) > 20
    assert put_together
    assert (sum(put_together) < 500) == (not other)
