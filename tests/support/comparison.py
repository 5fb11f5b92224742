"""Comparing matches as multisets, with a readable diff."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from stretto.oracle.detections import Match
from stretto.pattern.nodes import TIMES, Query, Return, column_of

SHOWN = 8  # matches shown per side of a diff


def assert_same_matches(found: Iterable[Match], expected: Iterable[Match], about: str = "") -> None:
    """Fails unless both hold the same matches equally often; NaN equals NaN, other doubles are exact."""
    got, want = Counter(map(_key, found)), Counter(map(_key, expected))
    if got == want:
        return
    missing, surplus = want - got, got - want
    lines = [f"{sum(got.values())} matches found, {sum(want.values())} expected"]
    for title, keys in (("missing", missing), ("not expected", surplus)):
        lines += [f"{title}: {sum(keys.values())}"] * bool(keys)
        lines += [
            f"  {_show(key)}" + f"  x{n}" * (n > 1) for key, n in sorted(keys.items(), key=repr)[:SHOWN]
        ]
    raise AssertionError("\n".join([*lines, about]))


def matches_of(table: pa.Table, query: Query) -> list[Match]:
    """The rows of an engine's table of matches, in the oracle's shape; unbound variables are left out."""
    times = [name for name in TIMES if name in table.column_names]
    shown = [item for item in query.returns if not item.hidden]
    parts = _parts(table, shown)
    records = [item.part.record for item in shown if item.part is not None]
    table = table.drop_columns(list(dict.fromkeys(records))) if records else table
    returned = [item.name for item in shown]
    variables = _listed(query, set(table.column_names) - {*times, *returned})
    plain = [name for name in returned if name not in parts]
    assert sorted(table.column_names) == sorted([*variables.values(), *times, *plain]), table.schema
    columns = {name: _plain(table.column(name)) for name in table.column_names} | parts
    return [
        Match(
            *(columns[name][row] for name in times),
            events=_bound({name: columns[column][row] for name, column in variables.items()}),
            returned={name: _value(columns[name][row]) for name in returned},
        )
        for row in range(table.num_rows)
    ]


def _parts(table: pa.Table, shown: Sequence[Return]) -> dict[str, list[Any]]:
    """The values of whole events that are returned, attribute by attribute, as the oracle has them."""
    found: dict[str, list[Any]] = {}
    for item in shown:
        if item.part is None:
            continue
        whole = table.column(item.part.record).combine_chunks()
        if isinstance(whole, pa.ChunkedArray):
            whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], whole.type)
        if not item.part.many:
            found[item.name] = _plain(pa.chunked_array([pc.struct_field(whole, item.part.field)]))
            continue
        inside = _plain(pa.chunked_array([pc.struct_field(whole.flatten(), item.part.field)]))
        lengths = pc.fill_null(pc.list_value_length(whole), 0).to_pylist()
        ends = pairwise(accumulate(lengths, initial=0))
        found[item.name] = [tuple(map(_value, inside[a:b])) or None for a, b in ends]
    return found


def _value(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _listed(query: Query, columns: set[str]) -> dict[str, str]:
    """The names under which ids are listed, with their columns: a variable's own, or one for each of its leaves."""
    found: dict[str, str] = {}
    for variable in query.variables:
        if not variable.negated:
            leaves = {name: name for name in columns if name.startswith(f"{variable.name}.")}
            own = column_of(variable.name)
            found |= leaves | ({variable.name: own} if own in columns or not leaves else {})
    return found


def _plain(column: pa.ChunkedArray) -> list[Any]:
    """Python values, times and durations as microseconds."""
    if pa.types.is_timestamp(column.type) or pa.types.is_duration(column.type):
        assert column.type.unit == "us", column.type
        return column.cast(pa.int64()).to_pylist()
    return column.to_pylist()


def _bound(values: dict[str, int | str | Sequence[int | str] | None]) -> dict[str, tuple[int | str, ...]]:
    sets = {
        name: (value,) if isinstance(value, int | str) else tuple(value or ())
        for name, value in values.items()
    }
    return {name: ids for name, ids in sets.items() if ids}


def _key(match: Match) -> tuple[Any, ...]:
    events = tuple(sorted(match.events.items()))
    returned = tuple(sorted((name, _comparable(value)) for name, value in match.returned.items()))
    return match.start, match.end, match.detected, events, returned


def _comparable(value: Any) -> tuple[str, str]:
    """The value as its type and text: exact, and able to stand for NaN; the two zeros are one value."""
    if isinstance(value, float) and math.isnan(value):
        return "float", "nan"
    return type(value).__name__, repr(value + 0.0 if isinstance(value, float) else value)


def _show(key: tuple[Any, ...]) -> str:
    start, end, detected, events, returned = key
    bound = " ".join(f"{name}={','.join(map(str, ids))}" for name, ids in events)
    values = " ".join(f"{name}={text}" for name, (_, text) in returned)
    return f"{bound}  [{start}, {end}] detected {detected}  {values}".rstrip()
