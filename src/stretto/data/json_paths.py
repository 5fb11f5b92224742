"""Fields of JSON objects inside of objects, as attributes with dots in their names."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from stretto.data.json_values import show

Path = tuple[str, ...]
"""The keys that lead to a value, from the outside in; a key may have dots of its own."""


def paths_in(objects: Iterable[Mapping[str, Any]]) -> list[Path]:
    """The ways to all values that are no objects, or empty ones, in the order in which they come."""
    found: dict[Path, None] = {}
    for one in objects:
        found |= dict.fromkeys(_leaves(one, ()))
    return list(found)


def _leaves(value: Mapping[str, Any], before: Path) -> Iterator[Path]:
    for key, inner in value.items():
        path = (*before, key)
        if isinstance(inner, dict) and inner:
            yield from _leaves(inner, path)
        else:
            yield path


def at(value: Any, path: Path) -> Any:
    """What stands there; None where something on the way is missing or no object."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def blocked(value: Any, path: Path) -> str:
    """What is on the way and no object, in words; nothing where the way is free, or ends in a null."""
    for number, key in enumerate(path[:-1], 1):
        value = value.get(key)
        if value is None:
            return ""
        if not isinstance(value, dict):
            return f"{'.'.join(path[:number])}: {show(value)} is not an object"
    return ""


class Places:
    """Paths to values that an object can have at once: none leads through another."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._taken, self._around = set[Path](), set[Path]()
        for path in paths:
            self.admit(path)

    def admit(self, path: Path) -> bool:
        """Take a path, unless it leads through one that is taken, or one of these through it."""
        before = [path[:length] for length in range(1, len(path))]
        if path in self._around or any(other in self._taken for other in before):
            return False
        self._taken.add(path)
        self._around.update(before)
        return True


def nested_schema(columns: Mapping[Path, pa.DataType]) -> pa.Schema:
    """The columns as Arrow reads them from JSON: structs in structs."""
    tree: dict[str, Any] = {}
    for path, kind in columns.items():
        place = tree
        for key in path[:-1]:
            place = place.setdefault(key, {})
        place[path[-1]] = kind
    return pa.schema(_fields(tree))


def _fields(tree: Mapping[str, Any]) -> list[pa.Field]:
    return [
        pa.field(name, pa.struct(_fields(inner)) if isinstance(inner, dict) else inner)
        for name, inner in tree.items()
    ]


def flat(table: pa.Table, paths: Mapping[str, Path]) -> pa.Table:
    """The values at these paths as columns of their names."""
    arrays = [
        table.column(path[0]) if len(path) == 1 else pc.struct_field(table.column(path[0]), list(path[1:]))
        for path in paths.values()
    ]
    return pa.Table.from_arrays(arrays, names=list(paths))
