"""Python words that build the same syntax as text: `SEQ(a, b, d.plus())`, `a.price < b.price`, `query(...)`.

Everything here is immutable. A word gives an object that wraps a syntax node; `.build()` of a query returns the syntax.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from math import isfinite
from typing import Any, Literal, Self, cast

from stretto.errors import Mistake, QueryError
from stretto.records import dataclass
from stretto.text import syntax
from stretto.text.actions import conjuncts
from stretto.text.keeping import problems
from stretto.text.parser import parse_duration, parse_expression
from stretto.text.printer import pattern_text, statement_text
from stretto.text.terms import Constant, Term, as_expression, call
from stretto.text.values import microseconds, size_problem

EVERYTHING = Term(syntax.Star())
"""The `*` of `COUNT(*)`: `call("COUNT", EVERYTHING)`."""


@dataclass(frozen=True, slots=True)
class Group:
    """A pattern that can be repeated and combined further."""

    pattern: syntax.Pattern

    def __repr__(self) -> str:
        return f"<{pattern_text(self.pattern)}>"

    def plus(self) -> Self:
        """One repetition or more."""
        return self.times(1, None)

    def star(self) -> Self:
        """Any number of repetitions, none included."""
        return self.times(0, None)

    def optional(self) -> Self:
        """One repetition or none."""
        return self.times(0, 1)

    def times(self, low: int, high: int | None = -1) -> Self:
        """`low` to `high` repetitions; None for no upper bound, exactly `low` if `high` is left out."""
        most = low if high == -1 else high
        if low < 0 or (most is not None and (most < 1 or low > most)):
            bounds = f"{low} to {most}" if high != -1 else str(low)
            raise QueryError(
                [Mistake(f"there cannot be {bounds} repetitions", note="at least one must be allowed")]
            )
        return replace(self, pattern=syntax.Repeat(self.pattern, low, most))


@dataclass(frozen=True, slots=True)
class Attributes:
    """The attributes of what a variable is bound to: `d.i.price` is `d[i].price`, `d.last["odd name"]` is LAST."""

    variable: str
    index: Literal["", "i", "i-1"] = ""
    function: str = ""

    def __getitem__(self, attribute: str) -> Term:
        if self.function:
            return Term(syntax.Call(self.function, (syntax.Name(self.variable),), attribute))
        return Term(syntax.Name(attribute, self.variable, self.index))

    def __getattr__(self, attribute: str) -> Term:
        if attribute.startswith(("__", "_repr_", "_ipython_")):  # what Python and notebooks ask of any object
            raise AttributeError(attribute)
        return self[attribute]


@dataclass(frozen=True, slots=True)
class Event(Group):
    """One event type with its variable, or its repetition. `a.price` is the attribute; `a["plus"]` where the name
    is also a word of this class.
    """

    variable: str

    def __repr__(self) -> str:
        return Group.__repr__(self)

    def __getitem__(self, attribute: str) -> Term:
        return Attributes(self.variable)[attribute]

    def __getattr__(self, attribute: str) -> Term:
        return getattr(Attributes(self.variable), attribute)  # type: ignore[no-any-return]  # a Term, by __getattr__

    @property
    def i(self) -> Attributes:
        """Each event of the repetition, beside `prev`."""
        return Attributes(self.variable, "i")

    @property
    def prev(self) -> Attributes:
        """The event before `i`."""
        return Attributes(self.variable, "i-1")

    @property
    def first(self) -> Attributes:
        return Attributes(self.variable, function="FIRST")

    @property
    def last(self) -> Attributes:
        return Attributes(self.variable, function="LAST")

    def count(self) -> Term:
        return Term(syntax.Call("COUNT", (syntax.Name(self.variable),)))

    def sum(self, attribute: str) -> Term:
        return call("SUM", self[attribute])

    def avg(self, attribute: str) -> Term:
        return call("AVG", self[attribute])

    def min(self, attribute: str) -> Term:
        return call("MIN", self[attribute])

    def max(self, attribute: str) -> Term:
        return call("MAX", self[attribute])


def E(type: str, variable: str | None = None) -> Event:  # noqa: A002, N802 - the word of the contract
    """An event of a type; a variable left out is the type's name in lower case."""
    _need_name(type)
    if variable is not None:
        _need_name(variable)
    return Event(syntax.Atom(type, variable), type.lower() if variable is None else variable)


def SEQ(*parts: Group) -> Group:  # noqa: N802 - a word of the language, as the three below
    """All parts, each strictly before the next."""
    return _combine("SEQ", parts)


def AND(*parts: Group) -> Group:  # noqa: N802
    """All parts, in any order."""
    return _combine("AND", parts)


def OR(*parts: Group) -> Group:  # noqa: N802
    """Exactly one of the parts."""
    return _combine("OR", parts)


def ANY(*parts: Group) -> Group:  # noqa: N802
    """One or more of the parts, in any order."""
    return _combine("ANY", parts)


def NOT(part: Group) -> Group:  # noqa: N802
    """No such event in the interval that its place in SEQ or AND gives."""
    return Group(syntax.Not(_pattern(part)))


def query(name: str, pattern: Group | syntax.Pattern) -> "QueryBuilder":
    """A query that still needs a window: `.within("10 minutes")` or `.within_events(100)`."""
    _need_name(name)
    return QueryBuilder(name, _pattern(pattern))


@dataclass(frozen=True, slots=True)
class QueryBuilder:
    """A query in the making; every call gives a new one."""

    name: str
    pattern: syntax.Pattern
    terms: tuple[syntax.Expression, ...] = ()
    window: syntax.Within | None = None
    policy: Literal["ANY", "NEXT", "LAST", "STRICT"] | None = None
    items: tuple[syntax.Item, ...] = ()
    groups: tuple[syntax.Name, ...] = ()
    slide_by: syntax.Duration | None = None
    judged: tuple[syntax.Expression, ...] = ()
    each: syntax.ForEach | None = None
    kept: syntax.Keep | None = None
    most: syntax.Limit | None = None
    aggregated: bool = False

    def where(self, *terms: Term | str) -> Self:
        """Further terms, all of which must hold; a string is read as text of the language."""
        return replace(self, terms=self.terms + conditions(terms))

    def having(self, *terms: Term | str) -> Self:
        """Terms that judge without steering: under NEXT a run that fails one ends, where WHERE would wait on."""
        return replace(self, judged=self.judged + conditions(terms))

    def for_each(self, table: str, row: "Attributes | str", key: Term | None = None) -> Self:
        """One query per row of a table: `r = R("r")`, then `.for_each("limits", r, key=r.id)`."""
        name = row if isinstance(row, str) else row.variable
        column = None if key is None else key.expression
        if column is not None and not (isinstance(column, syntax.Name) and column.variable == name):
            raise QueryError([Mistake("the key is a column of the row", note="as in `key=r.id`")])
        return replace(self, each=syntax.ForEach(table, name, column))

    def same(self, *attributes: str) -> Self:
        """All events agree on each of these attributes: `[attr]`."""
        return replace(self, terms=self.terms + tuple(syntax.Same(attribute) for attribute in attributes))

    def within(self, longest: str | timedelta | float | Term) -> Self:
        """The longest time from the first to the last event; `r.horizon` of a row in a query for each row."""
        if isinstance(longest, Term):
            column = longest.expression
            if not isinstance(column, syntax.Name) or column.variable is None:
                raise QueryError([Mistake("a window is a duration or a column of a row")])
            return replace(self, window=syntax.Within(0, row=column))
        return replace(self, window=syntax.Within(positive_us(longest, "window")))

    def within_events(self, count: int) -> Self:
        """The most consecutive events of the input that a match may span."""
        return replace(self, window=syntax.Within(_positive(count, "window"), "events"))

    def slide(self, by: str | timedelta | float) -> Self:
        """The step from one window to the next, for trend aggregation."""
        return replace(self, slide_by=syntax.Duration(positive_us(by, "SLIDE")))

    def select(self, policy: str) -> Self:
        """ANY, NEXT, LAST or STRICT."""
        match policy.upper():
            case "ANY" | "NEXT" | "LAST" | "STRICT" as known:
                return replace(self, policy=known)
            case _:
                note = "expected `ANY`, `NEXT`, `LAST` or `STRICT`"
                raise QueryError([Mistake(f"unknown policy `{policy}`", note=note)])

    def returning(self, *values: Term | str, **named: Term | Constant) -> Self:
        """Further columns of the result: without a name (a string is read as text), or by name."""
        return replace(self, items=self.items + _items(values, named))

    def aggregating(self, *values: Term | str, **named: Term | Constant) -> Self:
        """The same for totals over all trends: `.aggregating("COUNT(*)")`."""
        return replace(self, items=self.items + _items(values, named), aggregated=True)

    def keep(self, word: str, *per: Term | str, lasting: str | timedelta | None = None) -> "QueryBuilder":
        """Which matches are reported: `.keep("APART")`, `.keep("FIRST", a.user, lasting="1 hour")`."""
        time = None if lasting is None else syntax.Duration(positive_us(lasting, "duration"))
        values = tuple(parse_expression(v) if isinstance(v, str) else as_expression(v) for v in per)
        kept = syntax.Keep(cast("Any", word.upper()), values, time)
        return _checked(replace(self, kept=kept))

    def limit(self, count: int, per: str | timedelta) -> "QueryBuilder":
        """At most so many matches of each stretch of time, counted from the epoch."""
        stretch = syntax.Duration(positive_us(per, "stretch of LIMIT"))
        return _checked(replace(self, most=syntax.Limit(count, stretch)))

    def group_by(self, *attributes: str) -> Self:
        """The attributes that label a trend's result."""
        return replace(self, groups=self.groups + tuple(syntax.Name(attribute) for attribute in attributes))

    def __repr__(self) -> str:
        if self.window is None:
            return f"<query {self.name}: {pattern_text(self.pattern)}, without a window yet>"
        clauses = statement_text(self.build()).splitlines()
        return f"<{' '.join(' '.join(clause.split(maxsplit=1)) for clause in clauses)}>"

    def build(self) -> syntax.Query:
        """The query as syntax; QueryError if it has no window."""
        if self.window is None:
            note = 'call .within("10 minutes") or .within_events(100)'
            raise QueryError([Mistake(f"query `{self.name}` has no WITHIN", note=note)])
        return syntax.Query(
            self.name,
            self.pattern,
            self.window,
            self.terms,
            self.policy,
            self.items,
            self.groups,
            self.slide_by,
            self.judged,
            self.each,
            self.kept,
            self.most,
            self.aggregated,
        )


def _items(values: tuple[Term | str, ...], named: dict[str, Any]) -> tuple[syntax.Item, ...]:
    read = [_written(value) if isinstance(value, str) else as_expression(value) for value in values]
    items = [syntax.Item(value) for value in read]
    return (*items, *(syntax.Item(as_expression(value), name) for name, value in named.items()))


def _written(value: str) -> syntax.Expression:
    """A text as an expression; `*` and `a.*` are whole events."""
    if value.strip() == "*":
        return syntax.Star()
    variable, dot, rest = value.strip().rpartition(".")
    return syntax.Star(variable) if dot and rest == "*" else parse_expression(value)


def _checked(query: "QueryBuilder") -> "QueryBuilder":
    wrong = problems(query.kept, query.most)
    if wrong:
        raise QueryError(wrong)
    return query


def R(row: str) -> Attributes:  # noqa: N802 - beside E: the row of a table that a query is for
    """The row that `for_each` names: `R("r").low` is `r.low`."""
    return Attributes(row)


def conditions(terms: Iterable[Term | str]) -> tuple[syntax.Expression, ...]:
    """The conjuncts of terms; a string is read as text of the language."""
    read = [parse_expression(term) if isinstance(term, str) else as_expression(term) for term in terms]
    return tuple(part for term in read for part in conjuncts(term))


def _need_name(name: Any) -> None:
    if not isinstance(name, str):
        raise TypeError(f"a name is a text, not {type(name).__name__}")
    if not name:
        raise QueryError([Mistake("a name cannot be empty")])


def _combine(word: Literal["SEQ", "AND", "OR", "ANY"], parts: tuple[Group, ...]) -> Group:
    if not parts:
        raise QueryError([Mistake(f"{word} needs at least one pattern")])
    return Group(syntax.Combine(word, tuple(_pattern(part) for part in parts)))


def _pattern(part: Any) -> syntax.Pattern:
    if isinstance(part, Group):
        return part.pattern
    if isinstance(part, syntax.Pattern):
        return part
    raise TypeError(f"expected a pattern such as E('Buy', 'b') or SEQ(...), not {part!r}")


def positive_us(longest: str | timedelta | float, what: str) -> int:
    """The microseconds of a duration: as text, as Python has it, or as a number of seconds."""
    if isinstance(longest, str):
        return _positive(parse_duration(longest), what)
    if isinstance(longest, timedelta):
        return _positive(microseconds(longest), what)
    if isinstance(longest, bool) or not isinstance(longest, int | float) or not isfinite(longest):
        note = 'write "10 minutes", timedelta(minutes=10), or a number of seconds'
        raise QueryError([Mistake(f"{longest!r} is no duration", note=note)])
    return _positive(round(longest * 1_000_000), what)


def _positive(size: int, what: str) -> int:
    wrong = size_problem(size, what)
    if wrong is not None:
        raise QueryError([Mistake(wrong[0], None, wrong[1])])
    return size
