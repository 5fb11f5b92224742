"""Predicates as data: typed expression trees over the columns of a match.

A column is a number: in a bound query the number of a variable, in a piece and in a plan the number of a
column of its rows. Trees are frozen values; equal terms are equal objects. Their meaning:

- A comparison or arithmetic with a null is null; a term passes only when it is true. AND, OR and NOT follow
  SQL's three-valued logic. NaN compares false, except `!=`.
- `+ - * neg abs` on integers, times and durations give null where the result leaves 64 bits. `/` is always on
  doubles, and null when the divisor is 0; `%` truncates towards zero (sign of the dividend) and is null when
  the divisor is 0. SQRT of a negative number is NaN. LEAST and GREATEST are null if any argument is, NaN if
  any is NaN.
- The binder inserts `to_float`, so both sides of a comparison or of arithmetic have one kind (times and
  durations apart).
- Strings compare by code point. Functions of texts and times are null as soon as an argument is; `cidr_match` is null
  where its text is no address.
- `any` and `all` are OR and AND over the elements, so false and true of an empty list; of a null list they are null.
- COUNT counts events; SUM, AVG, MIN, MAX skip nulls and are null over nothing but nulls, NaN if any value is
  NaN. A sum is taken in time order; an integer sum that leaves 64 bits is null; AVG is the sum, as a double,
  divided by the number of values.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import lru_cache
from operator import is_
from typing import Final, Protocol, Self, TypeVar

from stretto.records import dataclass
from stretto.schema import Kind

Value = int | float | str | bool | tuple[int | float | str | None, ...] | None

POSITION: Final = "@position"


class Which(StrEnum):
    """Which of the events bound to a column a reference means."""

    EACH = "each"  # the one event; of a Kleene column, every one of them
    CURRENT = "i"  # d[i], together with
    PREVIOUS = "i-1"  # d[i-1]: every pair of neighbours
    FIRST = "first"
    LAST = "last"


NEIGHBOURS: Final = (Which.CURRENT, Which.PREVIOUS)
"""What a term over neighbours reads; where a column has none it says nothing."""


class Renumbering(Protocol):
    """New numbers by old ones: a mapping, a sequence, or a range, which adds its start to numbers from 0 on."""

    def __getitem__(self, number: int, /) -> int: ...


class Changed(dict[int, int]):
    """Some numbers become others; all that are not named stay."""

    def __missing__(self, number: int) -> int:
        return number


class HashedOnce:
    """A frozen value that keeps its hash, as that takes a walk over all it holds and is asked for again and again.

    The hash is no field, so it is not pickled: texts hash otherwise in another process.
    """

    __slots__ = ("_hash",)
    _hash: int


Hashed = TypeVar("Hashed", bound=HashedOnce)


def hashed_once(cls: type[Hashed]) -> type[Hashed]:
    """Let the objects of a frozen dataclass keep the hash that it defines."""
    compute = cls.__hash__

    def kept(self: Hashed) -> int:
        try:
            return self._hash
        except AttributeError:
            object.__setattr__(self, "_hash", compute(self))
            return self._hash

    cls.__hash__ = kept  # type: ignore[method-assign,assignment]  # what dataclass made, asked once
    return cls


@dataclass(frozen=True, slots=True)
class Expr(HashedOnce):
    """A typed expression."""

    @property
    def children(self) -> tuple["Expr", ...]:
        return ()

    def with_children(self, children: tuple["Expr", ...]) -> Self:  # noqa: ARG002 - leaves have none
        return self

    # Thousands of queries pass through `moved`: every kind of node builds itself directly, without `rewrite`, and one
    # that reads the same columns as before stays the same object, whose hash is known.
    def moved(self, to: Renumbering) -> "Expr":  # noqa: ARG002 - a constant reads no column
        """The same expression with every column c read as to[c]."""
        return self


@dataclass(frozen=True, slots=True)
class Const(Expr):
    """A constant; None is null. TIME and DURATION are microseconds."""

    value: Value
    kind: Kind


@dataclass(frozen=True, slots=True)
class Param(Expr):
    """A column of the row that a member of a family is for: a constant once the row is known."""

    attribute: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Element(Expr):
    """An element of the list that the `any` or `all` around it goes through."""

    kind: Kind


@dataclass(frozen=True, slots=True)
class Ref(Expr):
    """An attribute of the event(s) bound to a column. `ts` is the event's time.

    `@position` is the event's position, `@position(k1,k2)` its position among the events with the same values
    of those attributes; only the normal form writes these two.
    """

    column: int
    attribute: str
    kind: Kind
    which: Which = Which.EACH

    def moved(self, to: Renumbering) -> "Ref":
        column = to[self.column]
        return self if column == self.column else Ref(column, self.attribute, self.kind, self.which)


@dataclass(frozen=True, slots=True)
class Reduce(Expr):
    """COUNT, SUM, AVG, MIN or MAX over the set bound to a column; COUNT has an empty attribute.

    LIST, of whole events that are returned, is all values in time order; null where nothing is bound.
    """

    function: str
    column: int
    attribute: str
    kind: Kind

    def moved(self, to: Renumbering) -> "Reduce":
        return Reduce(self.function, to[self.column], self.attribute, self.kind)


@hashed_once
@dataclass(frozen=True, slots=True)
class Apply(Expr):
    """An operator or function applied to arguments.

    Names: `+ - * / % neg`, `= != < <= > >=`, `and or not`, `in` (value, then constants), `is_null`, `to_float`,
    `abs sqrt floor ceil round least greatest geo_distance`, and `user:NAME`. Of texts `like ilike matches imatches`
    (value, constant pattern, constant escape), `lower upper trim length substr concat starts_with ends_with contains`,
    `cidr_match` (value, constant networks); of times `year month day hour minute second weekday date_trunc` (units and
    zones are constants); of lists `any all` (list, condition over Element), `has` (list, element), `size`; and
    `case` (condition, value, .., otherwise) and `coalesce`.
    """

    op: str
    arguments: tuple[Expr, ...]
    kind: Kind

    @property
    def children(self) -> tuple[Expr, ...]:
        return self.arguments

    def with_children(self, children: tuple[Expr, ...]) -> Self:
        return replace(self, arguments=children)

    def moved(self, to: Renumbering) -> "Apply":
        arguments = tuple([argument.moved(to) for argument in self.arguments])
        if all(map(is_, arguments, self.arguments)):
            return self
        return Apply(self.op, arguments, self.kind)


def walk(expr: Expr) -> Iterator[Expr]:
    """Every node, parents first."""
    pending = [expr]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(node.children))


def rewrite(expr: Expr, rule: Callable[[Expr], Expr | None]) -> Expr:
    """Offer every node to `rule`, leaves first; the same object comes back if nothing changed."""
    children = tuple(rewrite(child, rule) for child in expr.children)
    if any(new is not old for new, old in zip(children, expr.children, strict=True)):
        expr = expr.with_children(children)
    changed = rule(expr)
    return expr if changed is None else changed


@lru_cache(maxsize=1 << 16)
def columns_of(expr: Expr) -> frozenset[int]:
    """The columns an expression reads."""
    return frozenset(node.column for node in walk(expr) if isinstance(node, Ref | Reduce))


def numbered(things: Sequence[int]) -> dict[int, int]:
    """Where each of some different numbers stands: what renumbers them in the order given."""
    return {old: new for new, old in enumerate(things)}


def position_among(same: Sequence[str]) -> str:
    """The attribute that is an event's position among those with its values of some attributes; of none: among all."""
    return f"{POSITION}({','.join(same)})" if same else POSITION


def partition_of(name: str) -> tuple[str, ...]:
    """The attributes of `@position(k1,k2)`; none for `@position` and for ordinary attributes."""
    return tuple(name[len(POSITION) + 1 : -1].split(",")) if name.startswith(POSITION + "(") else ()
