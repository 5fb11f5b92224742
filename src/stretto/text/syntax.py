"""The nodes of the language as written: frozen values with a span, equal when they say the same thing.

Patterns, expressions and statements only; no names are resolved here. The span never takes part in
equality, so that a query built in Python equals the same query read from text.
"""

from dataclasses import field
from typing import Literal as OneOf

from stretto.errors import Span
from stretto.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Anything with a place in the text."""

    span: Span | None = field(default=None, compare=False, repr=False)


# ---- patterns ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pattern(Node):
    """A pattern as written."""


@dataclass(frozen=True, slots=True)
class Atom(Pattern):
    """`Type v`; the variable is None where it was left out."""

    type: str
    variable: str | None = None


@dataclass(frozen=True, slots=True)
class Combine(Pattern):
    """SEQ, AND, OR or ANY of its parts (at least one), in the order written."""

    word: OneOf["SEQ", "AND", "OR", "ANY"]
    parts: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Not(Pattern):
    """`NOT(P)`, `NEG(P)` or `!P`."""

    part: Pattern


@dataclass(frozen=True, slots=True)
class Repeat(Pattern):
    """`P{low,high}`; `+` is (1, None), `*` is (0, None), `?` is (0, 1)."""

    part: Pattern
    low: int
    high: int | None


# ---- expressions ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Expression(Node):
    """An expression as written."""


@dataclass(frozen=True, slots=True)
class Literal(Expression):
    """A number, a string, TRUE, FALSE or NULL (None). True and 1 are different literals."""

    value: int | float | str | bool | None
    kind: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", type(self.value).__name__)


@dataclass(frozen=True, slots=True)
class Duration(Expression):
    """`10 SECONDS`, in microseconds."""

    us: int


@dataclass(frozen=True, slots=True)
class Timestamp(Expression):
    """`TIMESTAMP '2013-10-07 09:30:00'`, in microseconds since the epoch, UTC."""

    us: int


@dataclass(frozen=True, slots=True)
class Name(Expression):
    """`attr`, `v.attr`, `d[i].attr` or `d[i-1].attr`. A bare name has no variable.

    A field of a struct is an attribute with dots in its name: `a.process.name`.
    """

    name: str
    variable: str | None = None
    index: OneOf["", "i", "i-1"] = ""


@dataclass(frozen=True, slots=True)
class Star(Expression):
    """The `*` of `COUNT(*)`, `SELECT *` and `RETURN *`; with a variable the `a.*` of RETURN."""

    variable: str | None = None


@dataclass(frozen=True, slots=True)
class Call(Expression):
    """`F(args)` or, with a field, `FIRST(d).price`. The function's name is kept in upper case."""

    function: str
    arguments: tuple[Expression, ...]
    attribute: str | None = None


@dataclass(frozen=True, slots=True)
class Unary(Expression):
    """`-x` (op "-") or `NOT x` (op "NOT")."""

    op: OneOf["-", "NOT"]
    value: Expression


@dataclass(frozen=True, slots=True)
class Binary(Expression):
    """Arithmetic `+ - * / %` or a comparison `= != < <= > >=`."""

    op: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Logic(Expression):
    """AND or OR of two or more parts; never directly holds a Logic of its own word."""

    word: OneOf["AND", "OR"]
    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class In(Expression):
    value: Expression
    options: tuple[Expression, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Between(Expression):
    value: Expression
    low: Expression
    high: Expression
    negated: bool = False


@dataclass(frozen=True, slots=True)
class IsNull(Expression):
    value: Expression
    negated: bool = False


@dataclass(frozen=True, slots=True)
class TextTest(Expression):
    """`x LIKE 'a%'` and its kin. CONTAINS also asks for an element of a list. Only LIKE and ILIKE have an escape."""

    word: OneOf["LIKE", "ILIKE", "MATCHES", "IMATCHES", "CONTAINS"]
    value: Expression
    pattern: Expression
    escape: Expression | None = None
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Case(Expression):
    """`CASE WHEN condition THEN value .. ELSE value END`: each WHEN with its THEN; no ELSE gives null."""

    whens: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression | None = None


@dataclass(frozen=True, slots=True)
class Same(Expression):
    """`[attr]`: all events of the match agree on it. `[a, b]` is read as `[a] AND [b]`."""

    attribute: str


# ---- statements ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Item(Node):
    """One entry of RETURN or of a stream's SELECT: an expression and its name, if one was given."""

    value: Expression
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Within(Node):
    """`WITHIN 10 MINUTES` (unit "us"), `WITHIN 100 EVENTS` (unit "events"); `WITHIN r.horizon` has the size 0 here."""

    size: int
    unit: OneOf["us", "events"] = "us"
    row: Name | None = None


@dataclass(frozen=True, slots=True)
class Keep(Node):
    """`KEEP FIRST PER a.user FOR 1 HOUR`: which matches are reported. Only FIRST lasts; ALL and LONGEST have no PER."""

    word: OneOf["ALL", "FIRST", "APART", "LONGEST"]
    per: tuple[Expression, ...] = ()
    lasting: Duration | None = None


@dataclass(frozen=True, slots=True)
class Limit(Node):
    """`LIMIT 10 PER 1 HOUR`."""

    count: int
    per: Duration


@dataclass(frozen=True, slots=True)
class ForEach(Node):
    """`FOR EACH limits r KEY r.id`: one query per row of the table; without a key a row goes by its number."""

    table: str
    variable: str | None = None
    key: Name | None = None


@dataclass(frozen=True, slots=True)
class Statement(Node):
    """A statement of a workload; every kind has a name. `name_span` is where that name stands."""

    name: str
    name_span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Query(Statement):
    """`where` and `having` hold the top-level conjuncts in the order written; `select` is None where not written.

    `aggregating`: the items stand behind AGGREGATE, and not behind RETURN.
    """

    pattern: Pattern
    within: Within
    where: tuple[Expression, ...] = ()
    select: OneOf["ANY", "NEXT", "LAST", "STRICT"] | None = None
    returning: tuple[Item, ...] = ()
    group_by: tuple[Name, ...] = ()
    slide: Duration | None = None
    having: tuple[Expression, ...] = ()
    for_each: ForEach | None = None
    keep: Keep | None = None
    limit: Limit | None = None
    aggregating: bool = False


@dataclass(frozen=True, slots=True)
class CreateEvent(Statement):
    """`CREATE EVENT name AS SELECT * FROM source WHERE ...`: a named selection."""

    source: str
    where: tuple[Expression, ...] = ()
    source_span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Source(Node):
    """`FROM stream alias`."""

    stream: str
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class CreateStream(Statement):
    """A derived stream; with two sources a windowed join, whose conjuncts stand in `on`."""

    items: tuple[Item, ...]
    sources: tuple[Source, ...]
    on: tuple[Expression, ...] = ()
    where: tuple[Expression, ...] = ()
    group_by: tuple[Name, ...] = ()
    within: Within | None = None


@dataclass(frozen=True, slots=True)
class CreatePatternStream(Statement):
    """`CREATE STREAM name AS PATTERN ...`: an event per match. The query bears the stream's name."""

    query: Query


@dataclass(frozen=True, slots=True)
class CreateTable(Statement):
    """`CREATE TABLE name FROM 'path'`; the path is None where a program gives the table itself."""

    path: str | None
    path_span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)
