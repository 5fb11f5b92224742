"""The result object: tables per query, the file format, and ids that depend on nothing but the match."""

import itertools
import json
import math
import pickle
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stretto
from stretto.engine.kernels.hash_tables import first_with_key, first_with_key_reference
from stretto.engine.results import identity
from stretto.engine.results.identity import duplicates
from stretto.engine.results.match_chunks import NO_ID, MatchChunk, Output
from stretto.engine.results.match_rows import SCHEMA
from stretto.engine.results.matches import Matches
from stretto.pattern.nodes import Return
from stretto.pattern.predicates import Const
from stretto.schema import Kind
from stretto.values.rows import Sets
from stretto.values.strings import Strings
from stretto.values.vector import DTYPES, Vector

KINDS = {
    "n": Kind.INT,
    "x": Kind.FLOAT,
    "text": Kind.STRING,
    "yes": Kind.BOOL,
    "at": Kind.TIME,
    "for": Kind.DURATION,
}
RETURNS = tuple(Return(name, Const(None, kind), kind) for name, kind in KINDS.items())
FULL = Output("q", ("a", "b", "d"), (False, False, True), RETURNS)
BARE = Output("r", ("a",), (False,))

IDS = st.integers(-(2**63) + 1, 2**63 - 1) | st.integers(0, 3)
VALUES = {
    Kind.INT: st.integers(-(2**63), 2**63 - 1),
    Kind.FLOAT: st.floats()
    | st.sampled_from([0.0, -0.0, 1.0, 1e15, 1e16, 1e22, 1e-7, 5e-324, 999999999999999.0]),
    Kind.STRING: st.text(max_size=4) | st.sampled_from(['"', "\\", "\n", "\U0001f600"]),
    Kind.BOOL: st.booleans(),
    Kind.TIME: st.integers(-(2**62), 2**62),
    Kind.DURATION: st.integers(-(2**63), 2**63 - 1),
}


@st.composite
def found(draw):
    """Matches as (ids of a, b, d; start, end, detected; returned values)."""
    times = st.integers(-(2**62), 2**62)
    ids = st.tuples(IDS, st.none() | IDS, st.lists(IDS, max_size=3))
    values = st.tuples(*(st.none() | VALUES[kind] for kind in KINDS.values()))
    return draw(st.lists(st.tuples(ids, st.tuples(times, times, times), values), max_size=8))


def vector_of(values, kind, strings):
    if kind is Kind.STRING:
        return strings.encode(pa.array(values, pa.string()))
    nulls = np.array([v is None for v in values], np.bool_)
    data = np.array([0 if v is None else v for v in values], DTYPES[kind])
    return Vector(data, ~nulls if nulls.any() else None)


def chunk_of(rows, strings):
    sets = [ids[2] for ids, _, _ in rows]
    columns = (
        np.array([ids[0] for ids, _, _ in rows], np.int64),
        np.array([NO_ID if ids[1] is None else ids[1] for ids, _, _ in rows], np.int64),
        Sets(
            np.cumsum([0] + [len(s) for s in sets]),
            np.array([i for s in sets for i in s], np.int64),
        ),
    )
    times = [np.array([t[k] for _, t, _ in rows], np.int64) for k in range(3)]
    returned = tuple(
        vector_of([values[k] for _, _, values in rows], kind, strings)
        for k, kind in enumerate(KINDS.values())
    )
    return MatchChunk(columns, *times, returned, strings)


def matches_of(rows, cuts=()):
    """The rows in chunks cut at these places, every other chunk with strings of its own."""
    matches = Matches([FULL, BARE])
    spaces = (Strings(), Strings())
    edges = sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})
    for number, (start, stop) in enumerate(itertools.pairwise(edges)):
        matches.add("q", [chunk_of(rows[start:stop], spaces[number // 2 % 2])])
    return matches


CUTS = st.lists(st.integers(0, 8), max_size=4)


@settings(deadline=None)
@given(found(), CUTS)
def test_a_query_has_a_column_per_variable_and_value(rows, cuts) -> None:
    table = matches_of(rows, cuts)["q"]
    assert table.schema == FULL.schema
    table.validate(full=True)
    assert table["a"].to_pylist() == [ids[0] for ids, _, _ in rows]
    assert table["b"].to_pylist() == [ids[1] for ids, _, _ in rows]
    assert table["d"].to_pylist() == [ids[2] or None for ids, _, _ in rows]
    for k, name in enumerate(("start", "end", "detected")):
        assert table[name].cast(pa.int64()).to_pylist() == [times[k] for _, times, _ in rows]
    for k, (name, kind) in enumerate(KINDS.items()):
        column = table[name]
        if kind in (Kind.TIME, Kind.DURATION):
            column = column.cast(pa.int64())
        expected = [values[k] for _, _, values in rows]
        assert str(column.to_pylist()) == str(expected)  # as text, so that NaN equals NaN and 0.0 is not -0.0


def read_back(value, kind):
    if kind is Kind.FLOAT and value is not None and not math.isfinite(value):
        return None
    if kind is Kind.TIME and value is not None:
        text = ("+" if value >= 253_402_300_800_000_000 else "") + str(np.datetime64(value, "us"))
        # Of years before 0 NumPy writes three digits.
        return f"-0{text[1:]}" if text[0] == "-" and text[4] == "-" else text
    return value


@settings(deadline=None)
@given(found(), CUTS, st.sampled_from([1, 3, 1 << 16]))
def test_the_file_format(rows, cuts, size) -> None:
    matches = matches_of(rows, cuts)
    batches = list(matches.batches(size))
    assert all(0 < batch.num_rows <= size and batch.schema == SCHEMA for batch in batches)
    table = pa.Table.from_batches(batches, SCHEMA)
    assert table.equals(matches.to_arrow())
    table.validate(full=True)
    assert table["query"].to_pylist() == ["q"] * len(rows)
    for (ids, _, values), row in zip(
        rows, table.select(["events", "returned"]).to_pylist(maps_as_pydicts="strict"), strict=True
    ):
        lists = {"a": [ids[0]], "b": [] if ids[1] is None else [ids[1]], "d": ids[2]}
        assert list(row["events"].items()) == [(name, bound) for name, bound in lists.items() if bound]
        expected = {name: read_back(v, kind) for v, (name, kind) in zip(values, KINDS.items(), strict=True)}
        assert str(json.loads(row["returned"])) == str(expected)
    assert [t[0] for _, t, _ in rows] == table["start"].cast(pa.int64()).to_pylist()


@settings(deadline=None)
@given(found(), CUTS)
def test_an_id_belongs_to_a_match_and_to_no_other(rows, cuts) -> None:
    ids = matches_of(rows, cuts).to_arrow()["match_id"].to_pylist()
    assert ids == matches_of(rows).to_arrow()["match_id"].to_pylist()
    of_match = {str(bound): name for name, (bound, _, _) in zip(ids, rows, strict=True)}
    assert [of_match[str(bound)] for bound, _, _ in rows] == ids
    assert len(set(ids)) == len(of_match)
    assert all(len(name) == 32 and set(name) <= set("0123456789abcdef") for name in ids)


ONE = [((1, None, [2, 3]), (0, 1, 1), (1, 1.0, "t", True, 0, 0))]


def test_ids_are_the_same_in_every_process() -> None:
    """The text is fixed: sinks keep these ids."""
    code = (
        "import numpy as np; from stretto.engine.results.identity import match_ids;"
        "from stretto.values.rows import Sets;"
        "print(match_ids([np.array([1]), np.array([-(2**63)]), Sets(np.array([0, 2]), np.array([2, 3]))],"
        " 1, 'q', ['a', 'b', 'd'])[0])"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    here = matches_of(ONE).to_arrow()["match_id"][0].as_py()
    assert other.stdout.strip() == here == "6185a81413abfba9eefa408050186cb5"


def test_query_variable_and_order_are_part_of_an_id() -> None:
    one, two = np.array([1]), np.array([2])
    pair = Sets(np.array([0, 2]), np.array([1, 2]))
    reverse = Sets(np.array([0, 2]), np.array([2, 1]))
    ids = [
        identity.match_ids(columns, 1, query, names)[0].as_py()
        for columns, query, names in [
            ([one, two], "q", ["a", "b"]),
            ([two, one], "q", ["a", "b"]),
            ([one, two], "r", ["a", "b"]),
            ([one, two], "q", ["a", "c"]),
            ([pair], "q", ["a"]),
            ([reverse], "q", ["a"]),
            ([Sets(np.array([0, 1]), np.array([1]))], "q", ["a"]),
        ]
    ]
    assert len(set(ids)) == len(ids)


def test_many_ids_differ_in_either_half() -> None:
    n = 1 << 16
    sets = Sets(np.arange(0, 2 * n + 1, 2), np.arange(2 * n) // 3)
    for columns in ([np.arange(n) // 1024, np.arange(n) % 1024], [sets]):
        for lane in identity.LANES:
            assert len(np.unique(identity.hashed(columns, np.zeros(n, np.uint64), lane))) == n


def test_counts_lengths_and_sums() -> None:
    left, right = matches_of(ONE), matches_of([*ONE, *ONE])
    assert (len(left), left.counts()) == (1, {"q": 1, "r": 0})
    both = left + right
    assert both.counts() == {"q": 3, "r": 0}
    left.extend(right)
    assert left.to_arrow().equals(both.to_arrow())
    assert right.counts() == {"q": 2, "r": 0}
    assert repr(both) == "<Matches: 3 of 2 queries>"
    assert both["r"].num_rows == 0
    assert both["r"].column_names == ["a", "start", "end", "detected"]
    with pytest.raises(KeyError):
        both["nothing"]
    with pytest.raises(ValueError, match="two different queries `q`"):
        left.extend(Matches([Output("q", ("a",), (False,))]))


def test_without_return_the_text_is_null() -> None:
    matches = Matches([BARE])
    now = np.array([5])
    matches.add("r", [MatchChunk((np.array([7]),), now, now, now, (), Strings())])
    assert matches.to_arrow()["returned"].to_pylist() == [None]
    assert Matches([BARE]).to_arrow().schema == SCHEMA


def test_many_small_results_are_read_in_as_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """One event at a time makes a result of its own for every match."""
    counted, length = [0], MatchChunk.__len__

    def counting(chunk: MatchChunk) -> int:
        counted[0] += 1
        return length(chunk)

    matches, one = Matches([BARE]), np.zeros(1, np.int64)
    matches.add("r", [MatchChunk((one,), one, one, one, (), Strings())] * 1000)
    monkeypatch.setattr(MatchChunk, "__len__", counting)
    assert matches["r"].num_rows == 1000
    assert counted[0] < 5 * 1000


def test_matches_survive_pickling() -> None:
    matches = matches_of(ONE)
    assert pickle.loads(pickle.dumps(matches)).to_arrow().equals(matches.to_arrow())


# ---- equal rows ------------------------------------------------------------------------------------------

ROWS = st.lists(st.tuples(st.integers(-1, 1), st.integers(-1, 1), st.lists(st.integers(0, 1), max_size=2)))


def kept_rows(rows):
    columns = [np.array([row[k] for row in rows], np.int64) for k in range(2)]
    values = np.array([i for row in rows for i in row[2]], np.int64)
    columns.append(Sets(np.cumsum([0] + [len(row[2]) for row in rows]), values))
    return duplicates(columns, np.zeros(len(rows), np.int64)).tolist()


def first_seen(rows):
    return [row not in rows[:i] for i, row in enumerate(rows)]


@pytest.mark.parametrize("few", [0, 100], ids=["loop", "numpy"])
@settings(deadline=None)
@given(rows=ROWS)
def test_equal_rows_remain_once(few, rows) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(identity, "FEW", few)
        assert kept_rows(rows) == first_seen(rows)


@settings(deadline=None)
@given(ROWS)
def test_equal_rows_are_told_apart_even_if_hashes_meet(rows) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(identity, "hashed", lambda columns, start, lane: start % 2)
        assert kept_rows(rows) == first_seen(rows)


@settings(deadline=None)
@given(st.lists(st.integers(0, 5) | st.integers(0, 2**64 - 1)))
def test_first_with_key(keys) -> None:
    array = np.array(keys, np.uint64)
    expected = [keys.index(key) for key in keys]
    assert first_with_key(array).tolist() == first_with_key_reference(array).tolist() == expected


def test_variables_that_are_called_as_times_have_columns() -> None:
    events = pa.table({"ts": pa.array([3, 5, 8], pa.timestamp("us")), "type": ["A", "B", "C"]})
    workload = stretto.Workload.parse("QUERY q PATTERN SEQ(A start, B end, C detected) WITHIN 9 us;")
    found = stretto.run(stretto.optimize(workload, stretto.Stats.of(events)), events)
    assert len(set(found["q"].column_names)) == found["q"].num_columns
    (row,) = found["q"].to_pylist()
    assert [row[f"events.{name}"] for name in ("start", "end", "detected")] == [0, 1, 2]
    assert [row[name].microsecond for name in ("start", "end", "detected")] == [3, 8, 8]
    (row,) = found.to_arrow().to_pylist(maps_as_pydicts="strict")
    assert row["events"] == {"start": [0], "end": [1], "detected": [2]}
