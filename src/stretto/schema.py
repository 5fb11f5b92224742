"""Names and kinds of attributes, and the event types that exist, as queries are checked against them."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

import pyarrow as pa

from stretto.errors import EventsError


class Kind(StrEnum):
    """What a value is. Times and durations are signed 64-bit microseconds."""

    INT = "integer"
    FLOAT = "double"
    STRING = "string"
    BOOL = "boolean"
    TIME = "timestamp"
    DURATION = "duration"

    @property
    def arrow(self) -> pa.DataType:
        return _ARROW[self]


_ARROW = {
    Kind.INT: pa.int64(),
    Kind.FLOAT: pa.float64(),
    Kind.STRING: pa.string(),
    Kind.BOOL: pa.bool_(),
    Kind.TIME: pa.timestamp("us"),
    Kind.DURATION: pa.duration("us"),
}


def kind_of(arrow_type: pa.DataType) -> Kind | None:
    """The kind that values of an Arrow type become, or None where the language has none (lists, maps, ...)."""
    types = pa.types
    if types.is_dictionary(arrow_type):
        return kind_of(arrow_type.value_type)
    if types.is_integer(arrow_type):
        return Kind.INT
    if types.is_floating(arrow_type) or types.is_decimal(arrow_type):
        return Kind.FLOAT
    if types.is_string(arrow_type) or types.is_large_string(arrow_type) or types.is_string_view(arrow_type):
        return Kind.STRING
    if types.is_boolean(arrow_type):
        return Kind.BOOL
    if types.is_timestamp(arrow_type) or types.is_date(arrow_type):
        return Kind.TIME
    if types.is_duration(arrow_type):
        return Kind.DURATION
    return None


def need_once(names: Collection[str], where: str = "the events") -> None:
    """Refuse columns that share a name."""
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise EventsError(f"{where}: column `{twice}` occurs twice")


@dataclass(frozen=True, slots=True)
class Special:
    """The names of the three special columns of the input."""

    ts: str = "ts"
    type: str = "type"
    id: str = "id"


@dataclass(frozen=True, slots=True)
class Schema:
    """Attributes with their kinds, and the event types; `types` is None where any type may occur.

    `skipped` names columns whose Arrow type the language has no kind for.
    """

    attributes: Mapping[str, Kind]
    types: frozenset[str] | None = None
    special: Special = field(default_factory=Special)
    skipped: tuple[str, ...] = ()

    @classmethod
    def of(cls, arrow: pa.Schema, types: Iterable[str] | None = None, special: Special | None = None) -> Self:
        """The schema of events with these Arrow columns."""
        special = special or Special()
        kinds: dict[str, Kind] = {}
        skipped: list[str] = []
        for column in arrow:
            if column.name in (special.ts, special.type):
                continue
            kind = kind_of(column.type)
            if kind is None:
                skipped.append(column.name)
            else:
                kinds[column.name] = kind
        return cls(kinds, None if types is None else frozenset(types), special, tuple(skipped))

    def to_json(self) -> dict[str, Any]:
        return {
            "attributes": {name: kind.value for name, kind in self.attributes.items()},
            "types": None if self.types is None else sorted(self.types),
        }
