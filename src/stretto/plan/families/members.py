"""The members of a family as arrays: which constants each has, and who gets a match of the template."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from stretto.pattern.derived.families import member_name
from stretto.pattern.predicates import Expr
from stretto.schema import Kind
from stretto.values.rows import I64


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Constants:
    """Columns of constants, row by row: of members, or of the different combinations that they have."""

    columns: Mapping[str, pa.Array]
    kinds: Mapping[str, Kind]
    count: int

    def __len__(self) -> int:
        return self.count

    def __eq__(self, other: object) -> bool:
        """Whether the same constants stand in the same rows; events that were paired with one fit the other then."""
        if not isinstance(other, Constants):
            return NotImplemented
        alike = self.count == other.count and self.kinds == other.kinds
        return alike and all(column.equals(other.columns[name]) for name, column in self.columns.items())

    def __hash__(self) -> int:
        return hash((self.count, *self.kinds))


@dataclass(frozen=True, eq=False)
class FamilyMembers:
    """Who is in a family, and in which order they are listed: entry by entry, and within one by window.

    An entry is a combination of constants that terms read. The members of entry e are `order[starts[e]:starts[e + 1]]`,
    with these `windows`, ascending; no windows: they all have the template's. `names`: the queries' own names, where
    they were written one by one; else `keys` are the keys of their rows, and `family` is the name of them all.
    """

    family: str
    order: I64
    starts: I64
    windows: I64 | None = None
    names: pa.Array | None = None
    keys: pa.Array | None = None

    def __len__(self) -> int:
        return len(self.order)

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Where each query stands in the order, by its own name or as `family[key]`."""
        return {name: place for place, name in enumerate(self.identities(self.order))}

    def queries(self, numbers: I64) -> pa.Array:
        """The names of the queries with these numbers."""
        if self.names is None:
            return pa.repeat(pa.scalar(self.family, pa.string()), len(numbers))
        return self.names.take(pa.array(numbers))

    def texts(self, numbers: I64) -> pa.Array:
        """The keys of the rows with these numbers; null for queries that were written one by one."""
        if self.keys is None:
            return pa.nulls(len(numbers), pa.string())
        return self.keys.take(pa.array(numbers))

    def identities(self, numbers: I64) -> list[str]:
        """What tells the queries with these numbers apart from all others of a workload."""
        if self.names is not None:
            names: list[str] = self.queries(numbers).to_pylist()
            return names
        return [member_name(self.family, key) for key in self.texts(numbers).to_pylist()]


@dataclass(frozen=True, slots=True, eq=False)
class Route:
    """How the rows of a template find their members.

    `entry`: the number of a row's entry, where its events know it, or the class that lists several of them; else rows
    are paired with all `entries` that pass `terms`, over the row's variables and Params. `returned`: constants of
    members, by their numbers, that RETURN reads. `carried`: the number of a row's entry is one more column of it.
    `alone`: why the query is for one member, where it is.
    """

    members: FamilyMembers
    entries: Constants
    entry: Expr | None = None
    terms: tuple[Expr, ...] = ()
    returned: Constants = field(default_factory=lambda: Constants({}, {}, 0))
    carried: bool = False
    alone: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Pairing:
    """Events paired with the entries of a family that they concern: one event per pair.

    `terms` read the event as column 0 and the entry's constants as Params; `ENTRY` is a Param too, the entry's number.
    """

    entries: Constants
    terms: tuple[Expr, ...]


ENTRY = "#"
"""The number of an entry, as if it were one of its constants."""


def by_entry(entries: I64, windows: I64 | None, count: int) -> tuple[I64, I64, I64 | None]:
    """Members in order of their entries, and by window within one: the order, where entries begin, the windows."""
    order = np.argsort(entries, kind="stable") if windows is None else np.lexsort((windows, entries))
    starts = np.searchsorted(entries[order], np.arange(max(count, 1) + 1))
    return order, starts, None if windows is None else windows[order]
