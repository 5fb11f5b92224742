"""Whole results as rows: every column of every match, and its id, so that two results are equal or not."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa

from stretto.engine.results.identity import LANES, Lane
from stretto.engine.results.matches import Matches
from stretto.oracle.detections import Match
from stretto.pattern.nodes import Atom, Combine, Pattern, Query, Repeat

Row = tuple[Any, ...]  # ids of each variable, start, end, detected, returned values, match id

SHOWN = 6
TIMES = ("start", "end", "detected")
BITS = (1 << 64) - 1


def variables_of(query: Query) -> list[str]:
    return [variable.name for variable in query.variables if not variable.negated]


def lists_of(query: Query) -> list[bool]:
    """Which of the variables can bind more than one event, so that they are reported as lists."""
    several: set[int] = set()

    def visit(node: Pattern, *, repeated: bool) -> None:
        if isinstance(node, Atom) and repeated:
            several.add(node.variable)
        elif isinstance(node, Combine):
            for part in node.parts:
                visit(part, repeated=repeated)
        elif isinstance(node, Repeat):
            visit(node.part, repeated=repeated or node.high != 1)

    visit(query.pattern, repeated=False)
    return [number in several for number, variable in enumerate(query.variables) if not variable.negated]


def columns_of(query: Query) -> list[str]:
    """The names of a row's columns."""
    return [*variables_of(query), *TIMES, *(item.name for item in query.returns), "match_id"]


# ---- what the judge found ------------------------------------------------------------------------------------


def expected_rows(matches: Iterable[Match], query: Query) -> list[Row]:
    """The oracle's matches as rows."""
    names = variables_of(query)
    lists = lists_of(query)
    returned = [item.name for item in query.returns]
    rows = []
    for match in matches:
        bound = [match.events.get(name) for name in names]
        ids = [ids if ids is None or is_set else ids[0] for ids, is_set in zip(bound, lists, strict=True)]
        values = [_comparable(match.returned[name]) for name in returned]
        identity = plain_match_id(query.name, names, lists, bound)
        rows.append((*ids, match.start, match.end, match.detected, *values, identity))
    return rows


def plain_match_id(
    query: str, names: Sequence[str], lists: Sequence[bool], bound: Sequence[tuple[int, ...] | None]
) -> str:
    """The id of a match, one number after another."""
    seed = blake2b("\0".join((query, *names)).encode(), digest_size=16).digest()
    words = []
    for number, lane in enumerate(LANES):
        state = _mix(lane, int.from_bytes(seed[8 * number : 8 * number + 8], "big"))
        for ids, is_set in zip(bound, lists, strict=True):
            if is_set:
                members = sum(_mix(lane, (id_ & BITS) ^ _salt(lane, i)) for i, id_ in enumerate(ids or ()))
                state = _absorb(lane, _absorb(lane, state, members & BITS), len(ids or ()))
            else:
                state = _absorb(lane, state, ids[0] & BITS if ids else 1 << 63)
        words.append(f"{state:016x}")
    return "".join(words)


def _absorb(lane: Lane, state: int, word: int) -> int:
    return _mix(lane, (state * lane.step + word) & BITS)


def _mix(lane: Lane, bits: int) -> int:
    one, two, three = lane.shifts
    bits = ((bits ^ (bits >> one)) * lane.first) & BITS
    bits = ((bits ^ (bits >> two)) * lane.second) & BITS
    return bits ^ (bits >> three)


@cache
def _salt(lane: Lane, place: int) -> int:
    return _mix(lane, ((place + 1) * lane.step) & BITS)


def _comparable(value: Any) -> Any:
    """The value, as something that equals itself; the two zeros are one value."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


# ---- what the engine found -------------------------------------------------------------------------------------


def table_of(found: Matches, query: Query) -> pa.Table:
    """A query's matches as the engine gives them, with their ids."""
    table = found[query.name]
    batches = list(found.only([query.name]).batches())
    ids = [batch.column("match_id") for batch in batches]
    return table.append_column("match_id", pa.chunked_array(ids, pa.string()))


def rows_of(table: pa.Table, query: Query) -> list[Row]:
    """The rows of `table_of`; its columns and their types must be as the query says."""
    assert table.column_names == columns_of(query), table.schema
    for item in query.returns:
        assert table.schema.field(item.name).type == item.kind.arrow, table.schema
    return list(zip(*map(_values, table.columns), strict=True))


def _values(column: pa.ChunkedArray) -> list[Any]:
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        assert kind.unit == "us", kind
        column = column.cast(pa.int64())
    if pa.types.is_list(kind):
        return [None if ids is None else tuple(ids) for ids in column.to_pylist()]
    if column.null_count or not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return [_comparable(value) for value in column.to_pylist()]
    values: np.ndarray[Any, Any] = column.to_numpy()
    if pa.types.is_floating(kind):
        return [_comparable(value) for value in values.tolist()]
    return values.tolist()


# ---- both --------------------------------------------------------------------------------------------------------


def difference(found: Iterable[Row], expected: Counter[Row], query: Query) -> str:
    """What is missing and what is too much, as a text that names the columns; empty if nothing is."""
    got = Counter(found)
    if got == expected:
        return ""
    lines = [f"{query.name}: {got.total()} matches found, {expected.total()} expected"]
    for title, rows in (("missing", expected - got), ("not expected", got - expected)):
        lines += [f"{title}: {rows.total()}"] * bool(rows)
        lines += [_shown(row, n, query) for row, n in sorted(rows.items(), key=repr)[:SHOWN]]
    return "\n".join(lines)


def _shown(row: Row, times: int, query: Query) -> str:
    values = zip(columns_of(query), row, strict=True)
    return "  " + " ".join(f"{name}={value!r}" for name, value in values) + f"  x{times}" * (times > 1)
