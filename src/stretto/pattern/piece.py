"""Pieces: what is left of a query when OR/ANY are split off and its nesting is flattened into a partial order."""

from collections.abc import Iterable
from dataclasses import field
from enum import StrEnum
from itertools import accumulate
from typing import Final

from stretto.pattern.nodes import Policy, Return, Stream, Thinning, Window
from stretto.pattern.order import Order
from stretto.pattern.predicates import Expr, HashedOnce, Renumbering, hashed_once
from stretto.records import dataclass


@dataclass(frozen=True, slots=True)
class Branch:
    """A piece as one alternative of an owner: its column i is the owner's column `columns[i]`.

    Owner's columns that no entry names stay unbound in this alternative.
    """

    piece: "Piece"
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """What a repeated group repeats: one repetition is a match of any one alternative. It has `width` columns."""

    width: int
    branches: tuple[Branch, ...]


@hashed_once
@dataclass(frozen=True, slots=True)
class Slot(HashedOnce):
    """One event of a stream, or `low` to `high` repetitions of a stream's event or of a group.

    `low` is at least 1, except under the policy NEXT. Bounds (1, 1) of a Stream: a single event. A Group
    is always a repetition, even with the bounds (1, 1).
    """

    source: Stream | Group
    low: int = 1
    high: int | None = 1

    @property
    def width(self) -> int:
        return self.source.width if isinstance(self.source, Group) else 1

    @property
    def repeats(self) -> bool:
        return isinstance(self.source, Group) or (self.low, self.high) != (1, 1)

    @property
    def types(self) -> frozenset[str]:
        """The event types it can bind."""
        if isinstance(self.source, Stream):
            return frozenset({self.source.type})
        inner = (part.types for branch in self.source.branches for part in branch.piece.slots)
        return frozenset().union(*inner)


class Place(StrEnum):
    """Where a negation stands, and so the interval of time it forbids its events in."""

    BETWEEN = "between"  # after all events of the `after` slots, before all of the `before` slots; open
    FIRST = "first"  # [last.ts - d, first event of the `before` slots)
    LAST = "last"  # (last event of the `after` slots, first.ts + d]
    ANYWHERE = "anywhere"  # [first.ts, first.ts + d]
    OPEN = "open"  # between slots that NEXT may leave out: as FIRST without the `after`, as LAST without the `before`

    @property
    def waits(self) -> bool:
        """Whether some matches are certain only when their window has passed."""
        return self in (Place.LAST, Place.ANYWHERE, Place.OPEN)

    @property
    def looks_back(self) -> bool:
        """Whether the interval of some matches begins before their first event."""
        return self in (Place.FIRST, Place.OPEN)


FORBIDDEN: Final = -1
"""The column of the forbidden event where negations of pieces of several widths are compared."""


@dataclass(frozen=True, slots=True)
class Negation:
    """`after` and `before` are slot numbers; in `terms` the forbidden event is the column after the piece's last."""

    stream: Stream
    place: Place
    after: tuple[int, ...] = ()
    before: tuple[int, ...] = ()
    terms: tuple[Expr, ...] = ()

    def moved(self, slots: Renumbering, columns: Renumbering) -> "Negation":
        """The same negation of a piece with other numbers; `columns` tells that of the forbidden event too."""
        return Negation(
            self.stream,
            self.place,
            tuple([slots[i] for i in self.after]),
            tuple([slots[i] for i in self.before]),
            tuple([term.moved(columns) for term in self.terms]),
        )

    def spares(self, slot: int, order: Order) -> bool:
        """Whether the order of a piece keeps all events of a slot out of the interval."""
        return any(slot == i or (slot, i) in order for i in self.after) or any(
            slot == i or (i, slot) in order for i in self.before
        )


@hashed_once
@dataclass(frozen=True, slots=True)
class Piece(HashedOnce):
    """Slots, a partial order between them, terms, negations, a window and a policy.

    Columns are numbered through the slots in order: a stream slot has one, a group slot `width`; `starts` are the first
    columns of the slots, and behind them the width. `order` says which slots come before which. One-variable terms
    of a stream slot stand in its stream. `same` are attributes on which all events agree, forbidden
    ones too; group branches repeat it. Terms wholly inside a group stand in its branches. The policy STRICT has
    been turned into terms over `@position`; a piece with the policy NEXT or LAST has its slots in sequence. Under
    NEXT `having` are terms that do not say which event a run takes, but end the run if they fail once they can be
    judged.
    """

    slots: tuple[Slot, ...]
    order: Order
    terms: tuple[Expr, ...]
    same: tuple[str, ...]
    negations: tuple[Negation, ...]
    window: Window
    policy: Policy = Policy.ANY
    having: tuple[Expr, ...] = ()
    starts: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        starts = accumulate([slot.width for slot in self.slots], initial=0)
        object.__setattr__(self, "starts", tuple(starts))

    @property
    def width(self) -> int:
        return self.starts[-1]

    def columns(self, slot: int) -> range:
        """The columns of one slot."""
        return range(self.starts[slot], self.starts[slot + 1])

    def columns_of(self, slots: Iterable[int]) -> list[int]:
        """The columns of some slots, one slot after another."""
        if self.width == len(self.slots):
            return list(slots)
        return [column for slot in slots for column in self.columns(slot)]

    @property
    def slot_of_column(self) -> list[int]:
        """For each column the slot that it belongs to."""
        return [slot for slot in range(len(self.slots)) for _ in self.columns(slot)]

    def slots_of(self, columns: Iterable[int]) -> tuple[int, ...]:
        """The slots that some columns belong to, in the order of their first one."""
        owner = self.slot_of_column
        return tuple(dict.fromkeys([owner[column] for column in columns]))

    @property
    def growing(self) -> frozenset[int]:
        """The slots that may have more than one repetition."""
        return frozenset([i for i, slot in enumerate(self.slots) if slot.high != 1])

    @property
    def follows(self) -> bool:
        """Whether its matches are runs that go from step to step: it is computed as a whole."""
        return self.policy is not Policy.ANY

    @property
    def is_plain(self) -> bool:
        """Whether all slots are single events."""
        return not any(slot.repeats for slot in self.slots)


@dataclass(frozen=True, slots=True)
class Detection:
    """The normal form of a detection query: matches are the union of its branches', each reported once.

    `variables` are the positive variables in the order of the text: the owner's columns of the branches, and the
    columns of `returns`. `kleene[i]` says whether variable i is reported as a list. `ambiguous`: two branches, or two
    ways to bracket repetitions, could give one match twice.
    """

    name: str
    variables: tuple[str, ...]
    kleene: tuple[bool, ...]
    branches: tuple[Branch, ...]
    returns: tuple[Return, ...]
    ambiguous: bool
    thinning: Thinning | None = None
