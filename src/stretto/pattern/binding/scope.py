"""What names mean while a statement is bound, and the list its mistakes are collected in."""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Final

from stretto.errors import Mistake, Span, near
from stretto.pattern.derived.tables import LookupTable
from stretto.pattern.nodes import Stream
from stretto.records import dataclass
from stretto.schema import Kind, Schema
from stretto.text import syntax
from stretto.text.values import size_problem

MAX_INT: Final = 2**63 - 1
MIN_INT: Final = -(2**63)

Attributes = Mapping[str, Kind]


@dataclass(slots=True)
class Report:
    """Every mistake found so far; nothing stops at the first.

    `remarks` are no mistakes: what is written means something, but perhaps not what was meant.
    """

    mistakes: list[Mistake] = field(default_factory=list)
    remarks: list[Mistake] = field(default_factory=list)

    def add(self, message: str, at: Span | None, note: str = "") -> None:
        self.mistakes.append(Mistake(message, at, note))

    def take(self, other: "Report", owner: str) -> None:
        """Add the mistakes of another report; those that have no place in a text say whose they are."""
        for kept, found in ((self.mistakes, other.mistakes), (self.remarks, other.remarks)):
            for one in found:
                known = one.at is not None
                kept.append(one if known else replace(one, message=f"{owner}: {one.message}"))


@dataclass(frozen=True, slots=True)
class Origin:
    """What a name stands for: its attributes (None: not known), and the events it selects.

    `stream` is None for what could not be bound. `derived`: it is a derived stream, or a selection of one.
    """

    attributes: Attributes | None
    stream: Stream | None = None
    derived: bool = False


@dataclass(frozen=True, slots=True)
class Known:
    """A variable in scope. `attributes` is None where they cannot be known, so that every name is accepted.

    `kleene`: directly repeated; `listed`: can bind more than one event in a match, by itself or by a group. `clashes`
    are attributes that have different kinds in the streams that the variable may be of.
    """

    number: int
    name: str
    attributes: Attributes | None
    negated: bool = False
    kleene: bool = False
    listed: bool = False
    groups: tuple[int, ...] = ()
    clashes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class FamilyRow:
    """The row of a table that a query is for; the table is None where it could not be read."""

    name: str
    table: LookupTable | None

    def kind(self, column: str) -> Kind | None:
        return None if self.table is None else self.table.kinds.get(column)

    def why_unknown(self, column: str) -> str:
        """What to say about a column that the table does not have."""
        assert self.table is not None
        if column in self.table.skipped:
            return "its type is one that the language has no kind for"
        return near(column, self.table.kinds) or f"known here: {listing(self.table.kinds)}"


@dataclass(frozen=True, slots=True)
class Scope:
    """The variables in scope, the one that a bare attribute belongs to, and the row of a table, if there are any.

    `returned`: the expressions of RETURN by the names of their columns, for messages.
    """

    variables: Mapping[str, Known]
    schema: Schema | None
    bare: Known | None = None
    row: FamilyRow | None = None
    returned: Mapping[str, syntax.Expression] = field(default_factory=dict)

    def kind(self, variable: Known, attribute: str) -> tuple[str, Kind] | None:
        """The attribute's name in a bound term and its kind, or None if there is no such attribute."""
        if attribute == "ts":
            return "ts", Kind.TIME
        kind = variable.attributes.get(attribute) if variable.attributes is not None else None
        if kind is not None:
            return attribute, kind
        if self.schema is not None and attribute == self.schema.special.ts:
            return "ts", Kind.TIME
        return None

    def why_unknown(self, variable: Known, attribute: str) -> str:
        """What to say about an attribute that does not exist."""
        if self.schema is not None and attribute in self.schema.skipped:
            return "its column has a type that the language has no kind for"
        names = [*(variable.attributes or ()), "ts"]
        return near(attribute, names) or f"known here: {listing(names)}"


def listing(names: Iterable[str], most: int = 12) -> str:
    """Names for a note, in a stable order, the tail of a long list left out."""
    every = sorted(names)
    return ", ".join(every[:most]) + (", ..." if len(every) > most else "")


def check_size(size: int, span: Span | None, what: str, report: Report) -> None:
    """Report a window or SLIDE of a syntax tree that no text was read for, if its size cannot be."""
    wrong = size_problem(size, what)
    if wrong is not None:
        report.add(wrong[0], span, wrong[1])
