"""Expressions made with Python's operators: the same syntax as text gives."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn

from stretto.errors import Mistake, QueryError
from stretto.records import dataclass
from stretto.text import syntax
from stretto.text.actions import logic
from stretto.text.printer import expression_text
from stretto.text.values import MAX_INT, microseconds

Constant = bool | int | float | str | timedelta | datetime | None
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


Operator = Callable[["Term", "Term | Constant"], "Term"]


def _operators(op: str) -> tuple[Operator, Operator]:
    """The methods of a Python operator: for a term on the left of it, and on its right."""
    return (lambda left, right: _binary(op, left, right)), (lambda right, left: _binary(op, left, right))


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """An expression. Comparisons give terms, not truth values, so `a < b < c` and `if a < b` are refused."""

    expression: syntax.Expression

    def __repr__(self) -> str:
        return f"<{expression_text(self.expression)}>"

    __add__, __radd__ = _operators("+")
    __sub__, __rsub__ = _operators("-")
    __mul__, __rmul__ = _operators("*")
    __truediv__, __rtruediv__ = _operators("/")
    __mod__, __rmod__ = _operators("%")
    __lt__, __gt__ = _operators("<")[0], _operators(">")[0]
    __le__, __ge__ = _operators("<=")[0], _operators(">=")[0]
    __and__, __rand__ = _operators("AND")
    __or__, __ror__ = _operators("OR")

    def __eq__(self, other: object) -> Any:
        return _binary("=", self, other)

    def __ne__(self, other: object) -> Any:
        return _binary("!=", self, other)

    # Equality makes a term, so terms cannot be keys.
    __hash__ = None  # type: ignore[assignment]  # how Python says "unhashable"

    def __neg__(self) -> "Term":
        return Term(syntax.Unary("-", self.expression))

    def __abs__(self) -> "Term":
        return call("ABS", self)

    def __invert__(self) -> "Term":
        return Term(syntax.Unary("NOT", self.expression))

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a term has no truth value: write `(a < b) & (b < c)` for `a < b < c`, and & | ~ for and, or, not"
        )

    def __iter__(self) -> NoReturn:
        raise TypeError("a term cannot be looped over")

    def is_in(self, *options: Any) -> "Term":
        """One of the options, given one by one or as one list."""
        return Term(syntax.In(self.expression, _options(options)))

    def not_in(self, *options: Any) -> "Term":
        return Term(syntax.In(self.expression, _options(options), negated=True))

    def between(self, low: "Term | Constant", high: "Term | Constant") -> "Term":
        """From `low` to `high`, both included."""
        return Term(syntax.Between(self.expression, as_expression(low), as_expression(high)))

    def not_between(self, low: "Term | Constant", high: "Term | Constant") -> "Term":
        return Term(syntax.Between(self.expression, as_expression(low), as_expression(high), negated=True))

    def like(self, pattern: str, escape: str | None = None) -> "Term":
        """`%` stands for any text, `_` for one character; `escape` makes the sign behind it plain."""
        return self._tested("LIKE", pattern, escape)

    def ilike(self, pattern: str, escape: str | None = None) -> "Term":
        """The same, upper and lower case alike."""
        return self._tested("ILIKE", pattern, escape)

    def matches(self, regex: str) -> "Term":
        """A regular expression of RE2 is found anywhere in the text."""
        return self._tested("MATCHES", regex)

    def imatches(self, regex: str) -> "Term":
        """The same, upper and lower case alike."""
        return self._tested("IMATCHES", regex)

    def contains(self, part: "Term | Constant") -> "Term":
        """A text holds another, or a list an element."""
        return self._tested("CONTAINS", part)

    def _tested(self, word: Any, pattern: Any, escape: str | None = None) -> "Term":
        last = None if escape is None else as_expression(escape)
        return Term(syntax.TextTest(word, self.expression, as_expression(pattern), last))

    def __getitem__(self, field: str) -> "Term":
        """A field of a struct: `a.process["name"]`."""
        if not isinstance(self.expression, syntax.Name):
            raise TypeError("only an attribute has fields, as in `a.process['name']`")
        return Term(replace(self.expression, name=f"{self.expression.name}.{field}"))

    def any(self) -> "Term":
        """Any element of a list: `a.args.any().like("%x%")`."""
        return call("ANY", self)

    def all(self) -> "Term":
        """Every element of a list: `a.ports.all() < 1024`."""
        return call("ALL", self)

    def lower(self) -> "Term":
        return call("LOWER", self)

    def upper(self) -> "Term":
        return call("UPPER", self)

    def trim(self) -> "Term":
        return call("TRIM", self)

    def length(self) -> "Term":
        """Characters of a text, elements of a list."""
        return call("LENGTH", self)

    def substr(self, start: "Term | int", length: "Term | int | None" = None) -> "Term":
        """Characters from `start` on, counted from 1."""
        return call("SUBSTR", self, start, *(() if length is None else (length,)))

    def starts_with(self, text: "Term | str") -> "Term":
        return call("STARTS_WITH", self, text)

    def ends_with(self, text: "Term | str") -> "Term":
        return call("ENDS_WITH", self, text)

    def cidr_match(self, *networks: str) -> "Term":
        """An IP address, as a text, lies in one of the networks."""
        return call("CIDR_MATCH", self, *networks)

    def is_null(self) -> "Term":
        return Term(syntax.IsNull(self.expression))

    def is_not_null(self) -> "Term":
        return Term(syntax.IsNull(self.expression, negated=True))


def call(name: str, *arguments: Term | Constant) -> Term:
    """A function of the language or a registered one: `call("ABS", a.x)`."""
    if not name:
        raise QueryError([Mistake("a name cannot be empty")])
    return Term(syntax.Call(name.upper(), tuple(as_expression(argument) for argument in arguments)))


def as_expression(value: Any) -> syntax.Expression:
    """The expression of a term, or the literal of a constant; a time without a zone is UTC."""
    match value:
        case Term():
            return value.expression
        case syntax.Expression():
            return value
        case timedelta():
            return syntax.Duration(microseconds(value))
        case datetime():
            aware = value if value.tzinfo else value.replace(tzinfo=UTC)
            return syntax.Timestamp(microseconds(aware - _EPOCH))
        case bool() | str() | None:
            return syntax.Literal(value)
        case int() if -MAX_INT - 1 <= value <= MAX_INT:
            return syntax.Literal(value)
        case float() if value - value == 0:
            return syntax.Literal(value)
        case int() | float():
            raise QueryError(
                [Mistake(f"{value} cannot be a number of a query", note="64-bit integers, finite doubles")]
            )
        case _:
            raise TypeError(f"expected a term such as a.price or a constant, not {type(value).__name__}")


def _binary(op: str, left: Any, right: Any) -> Term:
    parts = as_expression(left), as_expression(right)
    return Term(logic(op, list(parts)) if op in ("AND", "OR") else syntax.Binary(op, *parts))


def _options(options: tuple[Any, ...]) -> tuple[syntax.Expression, ...]:
    given = options[0] if len(options) == 1 and _is_many(options[0]) else options
    found = tuple(as_expression(option) for option in given)
    if not found:
        raise QueryError([Mistake("IN needs at least one option")])
    return found


def _is_many(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, Term | str)
