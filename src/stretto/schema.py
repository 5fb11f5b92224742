"""Names and kinds of attributes, and the event types that exist, as queries are checked against them."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from itertools import islice
from typing import Any, Final, Self

import pyarrow as pa
import pyarrow.compute as pc

from stretto.errors import EventsError
from stretto.records import dataclass

SHOWN: Final = 8
"""Attributes that a schema shows of itself."""


class Kind(StrEnum):
    """What a value is. Times and durations are signed 64-bit microseconds; lists hold texts or numbers."""

    INT = "integer"
    FLOAT = "double"
    STRING = "string"
    BOOL = "boolean"
    TIME = "timestamp"
    DURATION = "duration"
    STRINGS = "list of strings"
    INTS = "list of integers"
    FLOATS = "list of doubles"

    @property
    def arrow(self) -> pa.DataType:
        return _ARROW[self]

    @property
    def element(self) -> "Kind | None":
        """What the elements of a list are; None for what is no list."""
        return _ELEMENTS.get(self)


_ARROW = {
    Kind.INT: pa.int64(),
    Kind.FLOAT: pa.float64(),
    Kind.STRING: pa.string(),
    Kind.BOOL: pa.bool_(),
    Kind.TIME: pa.timestamp("us"),
    Kind.DURATION: pa.duration("us"),
    Kind.STRINGS: pa.list_(pa.string()),
    Kind.INTS: pa.list_(pa.int64()),
    Kind.FLOATS: pa.list_(pa.float64()),
}
_ELEMENTS = {Kind.STRINGS: Kind.STRING, Kind.INTS: Kind.INT, Kind.FLOATS: Kind.FLOAT}
_LISTS = {element: kind for kind, element in _ELEMENTS.items()}
LISTS = frozenset(_ELEMENTS)


def kind_of(arrow_type: pa.DataType) -> Kind | None:
    """The kind that values of an Arrow type become, or None where the language has none (structs, maps, ...)."""
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
    if is_list(arrow_type):
        element = kind_of(arrow_type.value_type)
        return None if element is None else _LISTS.get(element)
    return None


def is_list(arrow_type: pa.DataType) -> bool:
    """Whether the values of an Arrow type are lists, of whatever layout."""
    types = pa.types
    return bool(
        types.is_list(arrow_type)
        or types.is_large_list(arrow_type)
        or types.is_fixed_size_list(arrow_type)
        or types.is_list_view(arrow_type)
        or types.is_large_list_view(arrow_type)
    )


def fields_of(name: str, arrow_type: pa.DataType) -> Iterator[tuple[str, pa.DataType]]:
    """A column, or the fields of a struct, of whatever depth, as attributes with dots in their names."""
    if not pa.types.is_struct(arrow_type):
        yield name, arrow_type
        return
    for field_type in arrow_type:
        yield from fields_of(f"{name}.{field_type.name}", field_type.type)


def column_of(batch: pa.RecordBatch | pa.Table, name: str) -> Any:
    """The column of an attribute, which may be a field of a struct; None: there is none."""
    if name in batch.schema.names:
        return batch.column(name)
    parts = name.split(".")
    for length in range(len(parts) - 1, 0, -1):
        whole = ".".join(parts[:length])
        if whole in batch.schema.names:
            return _field(batch.column(whole), parts[length:])
    return None


def sources_of(attributes: Iterable[str], columns: Collection[str]) -> list[str]:
    """The columns that some attributes are in, each once: their own, or that of the struct around them."""
    known = set(columns)
    found: dict[str, None] = {}
    for name in attributes:
        parts = name.split(".")
        starts = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
        found |= {start: None for start in starts if start in known}
    return list(found)


def _field(column: Any, path: Sequence[str]) -> Any:
    """A field inside of a struct column; null where the struct is."""
    for at in range(len(path), 0, -1):
        name = ".".join(path[:at])
        if pa.types.is_struct(column.type) and column.type.get_field_index(name) >= 0:
            found = pc.struct_field(column, name)
            return found if at == len(path) else _field(found, path[at:])
    return None


def need_once(names: Collection[str], where: str = "the events") -> None:
    """Refuse columns that share a name."""
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise EventsError(f"{where}: column `{twice}` occurs twice")


@dataclass(frozen=True, slots=True)
class Special:
    """The names of the three special columns of the input, and the unit of times that are integers.

    `unit`: s, ms, us or ns; None: it is judged by their size where events come in.
    """

    ts: str = "ts"
    type: str = "type"
    id: str = "id"
    unit: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, repr=False)
class Schema:
    """Attributes with their kinds, and the event types; `types` is None where any type may occur.

    `skipped` names columns whose Arrow type the language has no kind for.
    """

    attributes: Mapping[str, Kind]
    types: frozenset[str] | None = None
    special: Special = field(default_factory=Special)
    skipped: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, arrow: pa.Schema | pa.Table, types: Iterable[str] | None = None, special: Special | None = None
    ) -> Self:
        """The schema of events with these Arrow columns, those of a table too."""
        arrow = getattr(arrow, "schema", arrow)
        if not isinstance(arrow, pa.Schema):
            raise EventsError(
                f"a schema is that of Arrow columns (`table.schema`), not {type(arrow).__name__}"
            )
        special = special or Special()
        kinds: dict[str, Kind] = {}
        skipped: list[str] = []
        for column in arrow:
            if column.name in (special.ts, special.type):
                continue
            for name, arrow_type in fields_of(column.name, column.type):
                kind = kind_of(arrow_type)
                if kind is None:
                    skipped.append(name)
                else:
                    kinds.setdefault(name, kind)
        return cls(kinds, None if types is None else frozenset(types), special, tuple(skipped))

    def __repr__(self) -> str:
        shown = [f"{name} {kind.value}" for name, kind in islice(self.attributes.items(), SHOWN)]
        more = len(self.attributes) - len(shown)
        return f"<Schema: {', '.join([*shown, *([f'{more:,} more'] if more else [])]) or 'no attributes'}>"

    def to_json(self) -> dict[str, Any]:
        return {
            "attributes": {name: kind.value for name, kind in self.attributes.items()},
            "types": None if self.types is None else sorted(self.types),
        }
