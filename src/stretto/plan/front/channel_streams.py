"""Streams whose events are of several streams at once: a hidden column says of which."""

from collections.abc import Sequence

from stretto.pattern.derived.streams import Selection, WindowAggregate
from stretto.pattern.nodes import Return, Stream
from stretto.pattern.predicates import Apply, Const, Expr, Ref
from stretto.records import dataclass
from stretto.schema import Kind
from stretto.values.member_sets import MEET, MEETS, MEMBER, RENUMBER


@dataclass(frozen=True, slots=True)
class EncodedSelections(Selection):
    """An event for each of the source's that some member selects; `members`: the terms of each."""

    members: tuple[tuple[Expr, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class EncodedAggregate(WindowAggregate):
    """The aggregates of every stream in a channel; values that streams have in common are one event."""


def class_column(channel: str) -> str:
    """The column that says which members an event of a channel is of."""
    return f"{channel}.#"


def class_of(channel: str, column: int = 0) -> Ref:
    return Ref(column, class_column(channel), Kind.STRING)


def kept_class(channel: str, below: str, column: int = 0) -> Return:
    """The class of an event that is made of one event of a channel."""
    return Return(class_column(channel), class_of(below, column), Kind.STRING)


def common_class(
    channel: str, below: tuple[str, str], numbers: Sequence[tuple[int, int]]
) -> tuple[Return, Expr]:
    """The class of a pair, and the term that it is of some member; `numbers`: those of members on both sides."""
    second: Expr = class_of(below[1], 1)
    if any(one != other for one, other in numbers):
        table = " ".join(f"{other}:{one}" for one, other in numbers)
        second = Apply(RENUMBER, (second, Const(table, Kind.STRING)), Kind.STRING)
    both = class_of(below[0], 0), second
    return Return(class_column(channel), Apply(MEET, both, Kind.STRING), Kind.STRING), Apply(
        MEETS, both, Kind.BOOL
    )


def is_member(channel: str, number: int, column: int = 0) -> Expr:
    """The term that an event of a channel is of a member."""
    return Apply(MEMBER, (class_of(channel, column), Const(number, Kind.INT)), Kind.BOOL)


def decoded(name: str, channel: str, number: int, columns: tuple[Return, ...]) -> Selection:
    """One stream of a channel."""
    return Selection(name, Stream(channel, (is_member(channel, number),)), columns)
