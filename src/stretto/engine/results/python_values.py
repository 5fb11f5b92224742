"""What matches return, as Python has it: times and durations are no texts and numbers."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa

from stretto.pattern.nodes import TIMES, Return
from stretto.schema import Kind
from stretto.values.texts import time_texts

Values = dict[str, Any]


def reader_of(returns: Sequence[Return]) -> Callable[[str | None], Values]:
    """What makes a dictionary of the JSON object that a match returned; an empty one of none."""
    plain = {item.name: item.kind for item in returns if item.part is None and item.kind in _READ}
    whole: dict[str, dict[str, Kind]] = {}
    for item in returns:
        if item.part is not None and item.part.kind in _READ:
            whole.setdefault(item.part.record, {})[item.part.field] = item.part.kind

    def read(text: str | None) -> Values:
        if text is None:
            return {}
        found: Values = json.loads(text)
        _put(found, plain)
        for record, kinds in whole.items():
            events = found[record]
            for event in events if isinstance(events, list) else [events]:
                if event is not None:
                    _put(event, kinds)
        return found

    return read


def python_rows(rows: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Yield rows of match files as dictionaries; a time that Python does not have is its text."""
    names = rows.schema.names
    columns = [_python_times(rows.column(i)) if name in TIMES else None for i, name in enumerate(names)]
    others = rows.select([name for name in names if name not in TIMES]).to_pylist(maps_as_pydicts="strict")
    for number, values in enumerate(others):
        times = ((name, column[number]) for name, column in zip(names, columns, strict=True) if column)
        row = dict(times) | values
        yield {name: row[name] for name in names}


def _python_times(column: Any) -> list[Any]:
    try:
        found: list[Any] = column.to_pylist()
    except OverflowError:
        found = [None if text is None else _time(text) for text in time_texts(column).to_pylist()]
    return found


def _put(values: Values, kinds: Mapping[str, Kind]) -> None:
    for name, kind in kinds.items():
        if values[name] is not None:
            values[name] = _READ[kind](values[name])


def _time(text: str) -> datetime | str:
    """The time that a text says; the text, where Python has no such year."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return text


def _duration(us: int) -> timedelta:
    return timedelta(microseconds=us)


_READ: Mapping[Kind, Callable[[Any], Any]] = {Kind.TIME: _time, Kind.DURATION: _duration}
