"""The comparison is checked: a wrong row is found, whatever is wrong with it."""

from collections import Counter

import pyarrow as pa
import pytest
from tests.fuzz.exact_rows import difference, expected_rows, lists_of, plain_match_id, rows_of, table_of
from tests.support.random_events import SCHEMA, to_table
from tests.support.strategies import Event

from stretto import oracle
from stretto.engine.whole_table import run
from stretto.pattern.workload import Workload
from stretto.plan.optimize import optimize

WORKLOAD = Workload.parse(
    "QUERY q PATTERN SEQ(A a, B b+, C c?, NOT(D no)) WITHIN 9 us "
    "RETURN a.x AS x, a.s AS s, a.ts AS t, a.f AS f, c.n AS n;"
)
(QUERY,) = WORKLOAD.bind(SCHEMA).detections
EVENTS = [
    Event(-5, 0, "A", {"x": float("nan"), "s": "ü", "f": True}),
    Event(7, 1, "A", {"x": -0.0, "f": False}),
    Event(10**12, 2, "B", {}),
    Event(3, 3, "B", {}),
    Event(4, 5, "C", {"n": 2**62}),
]
EXPECTED = Counter(expected_rows(oracle.matches(QUERY, EVENTS), QUERY))
TABLE = table_of(run(optimize(WORKLOAD, SCHEMA), to_table(EVENTS)), QUERY)


def _set(name: str, value):
    """The table with another value in its first row."""

    def change(table: pa.Table) -> pa.Table:
        at = table.column_names.index(name)
        field, column = table.schema.field(at), table.column(at).cast(_plain(table.schema.field(at).type))
        values = pa.array([value, *column.to_pylist()[1:]], column.type).cast(field.type)
        return table.set_column(at, field, values)

    return change


def _plain(kind: pa.DataType) -> pa.DataType:
    return pa.int64() if pa.types.is_timestamp(kind) else kind


DAMAGE = {
    "drop": lambda table: table.slice(1),
    "repeat": lambda table: pa.concat_tables([table, table.slice(0, 1)]),
    "all gone": lambda table: table.slice(0, 0),
    "id": _set("a", 4),
    "unbound": _set("a", None),
    "set": _set("b", [3]),
    "set in another order": _set("b", [3, 10**12]),
    "start": _set("start", -1),
    "end": _set("end", 4),
    "detected": _set("detected", 8),
    "double": _set("x", 5e-324),
    "null for a double": _set("x", None),
    "string": _set("s", "u"),
    "time": _set("t", 5),
    "truth": _set("f", None),
    "integer": _set("n", 2**62 + 1),
    "match id": _set("match_id", "0" * 32),
}


def test_what_the_engine_finds_equals_what_the_oracle_finds() -> None:
    assert EXPECTED.total() == 12
    assert difference(rows_of(TABLE, QUERY), EXPECTED, QUERY) == ""
    assert lists_of(QUERY) == [False, True, False]


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_every_damage_is_noticed(damage) -> None:
    found = difference(rows_of(damage(TABLE), QUERY), EXPECTED, QUERY)
    assert found.startswith("q: ")
    assert "missing" in found or "not expected" in found


def test_a_column_too_few_or_of_another_type_is_noticed() -> None:
    with pytest.raises(AssertionError):
        rows_of(TABLE.drop_columns(["x"]), QUERY)
    doubles = TABLE.column("n").cast(pa.float64(), safe=False)
    with pytest.raises(AssertionError):
        rows_of(TABLE.set_column(TABLE.column_names.index("n"), "n", doubles), QUERY)


def test_the_difference_names_the_columns() -> None:
    assert "a=4 b=" in difference(rows_of(_set("a", 4)(TABLE), QUERY), EXPECTED, QUERY)


def test_ids_of_matches_depend_on_all_that_is_bound() -> None:
    bound = [(1,), (2, 3), None]
    others = [[(2,), (2, 3), None], [(1,), (3, 2), None], [(1,), (2,), None], [(1,), (2, 3), (4,)]]
    ids = {plain_match_id("q", "abc", [False, True, False], ids) for ids in [bound, *others]}
    assert len(ids) == len(others) + 1
    assert plain_match_id("r", "abc", [False, True, False], bound) not in ids
