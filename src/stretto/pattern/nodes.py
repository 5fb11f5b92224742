"""A bound query: names resolved, predicates typed, nothing rewritten yet. The oracle reads this form."""

from collections.abc import Iterator
from dataclasses import field
from enum import StrEnum
from typing import Final
from typing import Literal as OneOf

from stretto.errors import Span
from stretto.pattern.predicates import Expr, HashedOnce, hashed_once
from stretto.records import dataclass
from stretto.schema import Kind


class Policy(StrEnum):
    ANY = "ANY"
    NEXT = "NEXT"
    STRICT = "STRICT"
    LAST = "LAST"


@dataclass(frozen=True, slots=True)
class Window:
    """At most `size` microseconds from the first to the last event, or at most `size` consecutive events."""

    size: int
    unit: OneOf["us", "events"] = "us"


@hashed_once
@dataclass(frozen=True, slots=True)
class Stream(HashedOnce):
    """Events of one type, or of one derived stream, that pass the terms, which read them as column 0."""

    type: str
    where: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Pattern:
    """A node of a bound pattern. Single-operand SEQ, AND, OR, ANY do not occur: they are their operand."""


@dataclass(frozen=True, slots=True)
class Atom(Pattern):
    """One event of `stream`, bound to the variable with this number."""

    variable: int
    stream: Stream


@dataclass(frozen=True, slots=True)
class Combine(Pattern):
    """SEQ, AND, OR or ANY; a NOT stands only directly in SEQ or AND, next to at least one positive part."""

    word: OneOf["SEQ", "AND", "OR", "ANY"]
    parts: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Not(Pattern):
    part: Atom


@dataclass(frozen=True, slots=True)
class Repeat(Pattern):
    """`low` to `high` repetitions (None: no limit), each strictly before the next; 0 <= low, 1 <= high.

    A repeated Atom is a Kleene variable; a repeated anything else is a group (`Variable.groups`).
    """

    part: Pattern
    low: int
    high: int | None


@dataclass(frozen=True, slots=True)
class Variable:
    """`kleene`: directly repeated (`B b+`, `B b?` has high 1 and is not Kleene). `groups`: numbers of the repeated
    groups around it, outermost first; the variable collects its events over their repetitions.
    """

    name: str
    negated: bool = False
    kleene: bool = False
    groups: tuple[int, ...] = ()


TIMES: Final = ("start", "end", "detected")
"""The times of a match: columns of every result."""


def column_of(variable: str) -> str:
    """The column of a variable where each has one: its name, or `events.start` for a variable `start`."""
    return f"events.{variable}" if variable in TIMES else variable


@dataclass(frozen=True, slots=True)
class EventField:
    """An attribute of a whole event that is returned: the `field` of the column `record`, of this kind.

    `many`: of a variable that can bind several events; the values are a list then, as long as all lists of the record.
    """

    record: str
    field: str
    kind: Kind
    many: bool


@dataclass(frozen=True, slots=True)
class Return:
    """A returned column. One that is `hidden` is for KEEP: what tells matches apart, and no part of the result.

    `part`: it is one attribute of a whole event. Those of a record stand side by side, first `ts`, which none lacks.
    """

    name: str
    value: Expr
    kind: Kind
    hidden: bool = False
    part: EventField | None = None


@dataclass(frozen=True, slots=True)
class Thinning:
    """KEEP and LIMIT: which matches are reported. Matches are looked at by `detected`, `end`, `start` and their ids.

    FIRST drops a match that is detected less than `lasting_us` after one that was kept, APART one that begins at or
    before the end of the last one kept, both among those with the same hidden columns; LONGEST one that another
    contains. Then at most `most` (0: all) of every stretch of `stretch_us` are left.
    """

    word: OneOf["ALL", "FIRST", "APART", "LONGEST"] = "ALL"
    lasting_us: int = 0
    most: int = 0
    stretch_us: int = 0


@dataclass(frozen=True, slots=True)
class Query:
    """A detection query. Columns of `terms` and `returns` are numbers of `variables`.

    `terms` are the conjuncts of WHERE (a BETWEEN is one), `same` the attributes of `[attr]`. `having` are terms that
    end a run of NEXT; under the other policies HAVING is WHERE, and its terms are among `terms`. A query that stands
    for one row of a table has the name of its statement in `family` and its row in `member`.
    """

    name: str
    pattern: Pattern
    variables: tuple[Variable, ...]
    terms: tuple[Expr, ...]
    same: tuple[str, ...]
    window: Window
    policy: Policy = Policy.ANY
    returns: tuple[Return, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)
    having: tuple[Expr, ...] = ()
    family: str | None = None
    member: str | None = None
    thinning: Thinning | None = None


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One item of a trend query's RETURN: `function` of `attribute` over the occurrences of `variable` in all trends.

    `name` is that of AS, else the aggregate as written. COUNT(*) has no variable; counts have no attribute ("") and
    kind INT.
    """

    name: str
    function: OneOf["COUNT", "SUM", "MIN", "MAX", "AVG"]
    variable: int | None
    attribute: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class TrendQuery:
    """A trend aggregation query over windows [k * slide_us, k * slide_us + window_us), k any integer.

    The pattern has Atoms, SEQ and `+` only. Columns of `terms` are numbers of `variables`, as in Query; each term
    relates an event with nothing or with its neighbour in the trend. `groups` are the attributes of GROUP BY.
    """

    name: str
    pattern: Pattern
    variables: tuple[Variable, ...]
    terms: tuple[Expr, ...]
    same: tuple[str, ...]
    groups: tuple[str, ...]
    window_us: int
    slide_us: int
    aggregates: tuple[Aggregate, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


def atoms_of(node: Pattern) -> Iterator[Atom]:
    """The atoms of a pattern, negated ones too, from left to right."""
    match node:
        case Atom():
            yield node
        case Combine(_, parts):
            for part in parts:
                yield from atoms_of(part)
        case Not(part) | Repeat(part, _, _):
            yield from atoms_of(part)


def streams_of(query: Query | TrendQuery) -> tuple[str, ...]:
    """The types and derived streams that a query names, each once; a named selection counts as its source."""
    return tuple(dict.fromkeys(atom.stream.type for atom in atoms_of(query.pattern)))
