"""The rows of a piece while its operators are being added: what is joined, what has grown."""

from collections.abc import Iterable, Iterator, Sequence

from stretto.pattern.comparisons import earlier, equal
from stretto.pattern.piece import Negation, Piece
from stretto.pattern.predicates import Expr, Ref, Which
from stretto.plan.build import Builder, Part
from stretto.plan.ops import Filter, Op
from stretto.plan.record import Computed


class Draft:
    """Rows that bind the first `joined` slots of a piece.

    Of the growing slots, those in `grown` bind whole sets, the others their last repetition.

    `parts` are the slots' own rows (one event or one repetition). Columns are the piece's columns. `pending` are the
    negations that the rows are still to be checked for.
    """

    def __init__(
        self, piece: Piece, parts: Sequence[Part], growing: frozenset[int], builder: Builder
    ) -> None:
        self.piece = piece
        self.parts = tuple(parts)
        self.growing = growing
        self.builder = builder
        self.starts = piece.starts[:-1]
        self.order = piece.order
        self.types = tuple(types for part in parts for types in part.types)
        self.op = -1
        self.sets: tuple[bool, ...] = ()
        self.joined = 0
        self.grown: set[int] = set()
        self.pending: tuple[Negation, ...] = ()

    def add(self, op: Op, because: str, unchecked: tuple[Expr, ...] = ()) -> None:
        """The next operator; `unchecked` are terms of the piece that it could check but leaves to the one after it."""
        self.op = self.builder.add(op, because, self.computed(range(self.joined), unchecked))

    def computed(self, slots: range, unchecked: tuple[Expr, ...] = ()) -> Computed:
        """What rows over some of the joined slots are."""
        return Computed(self.piece, slots, self.growing - self.grown, unchecked, self.pending)

    def filter(self, terms: tuple[Expr, ...]) -> None:
        if terms:
            self.add(Filter(self.op, terms), "filter_terms")

    def entries(self, slot: int) -> list[int]:
        """Columns among which a slot has its earliest event."""
        return [self.starts[slot] + column for column in self.parts[slot].entries]

    def exits(self, slot: int) -> list[int]:
        """Columns among which a slot has its latest event."""
        return [self.starts[slot] + column for column in self.parts[slot].exits]

    def always(self, slot: int) -> list[int]:
        """The columns of a slot that are bound in every row."""
        return [self.starts[slot] + column for column in self.parts[slot].always]

    def cover(self, slots: Iterable[int], *, latest: bool) -> list[int]:
        """Of these slots, those that no other of them is ordered after (`latest`), or before."""
        return self.order.latest(slots) if latest else self.order.earliest(slots)

    def predecessors(self, slot: int) -> list[int]:
        """The joined slots that a slot comes right after; those before them are before it too."""
        return self.cover((i for i in range(self.joined) if (i, slot) in self.order), latest=True)

    def after_terms(self, slots: Iterable[int], columns: Iterable[int], sets: Sequence[bool]) -> list[Expr]:
        """All events of the `columns` (over `sets`) are later than those of the joined slots."""
        after = list(columns)
        return [
            earlier(self.edge(exit_column, Which.LAST, sets), self.edge(column, Which.FIRST, sets))
            for slot in slots
            for exit_column in self.exits(slot)
            for column in after
        ]

    def edge(self, column: int, which: Which, sets: Sequence[bool], attribute: str = "ts") -> Ref:
        """An attribute of the one event of a column, or of the first or last of its set."""
        return self.builder.ref(column, attribute, which if sets[column] else Which.EACH)

    def same_terms(self, slots: Sequence[int], part: Part, start: int, sets: Sequence[bool]) -> list[Expr]:
        """The events of `part`, whose columns begin at `start`, agree with those of the joined slots.

        Within the rows of both sides all events agree already, so one bound column of each side is enough.
        """
        bound = sorted(part.always, key=lambda column: part.sets[column])
        right = [start + column for column in (bound[:1] or range(part.width))]
        return self.agreeing(self.anchors(slots), right, sets)

    def agreeing(self, left: Sequence[int], right: Sequence[int], sets: Sequence[bool]) -> list[Expr]:
        """The columns of both sides (over `sets`) have the same values of what all events agree on."""
        return [
            equal(self.edge(one, Which.LAST, sets, name), self.edge(other, Which.LAST, sets, name))
            for name in self.piece.same
            for one in left
            for other in right
        ]

    def anchors(self, slots: Sequence[int]) -> list[int]:
        """A column bound in every row, if possible a single one; if there is none, all columns."""
        first = None
        for column in (column for slot in slots for column in self.always(slot)):
            if not self.sets[column]:
                return [column]
            first = column if first is None else first
        return self.piece.columns_of(slots) if first is None else [first]

    def clashes(self, slot: int) -> Iterator[tuple[int, int]]:
        """Pairs (column of the rows, column of the slot's own part) that could be one event, but must not."""
        part, order = self.parts[slot], self.order
        for other in range(self.joined):
            if other == slot or (other, slot) in order or (slot, other) in order:
                continue
            for column, types in enumerate(self.parts[other].types, self.starts[other]):
                yield from ((column, own) for own, kinds in enumerate(part.types) if types & kinds)

    def part(self) -> Part:
        """The finished rows."""
        slots = range(len(self.parts))
        return Part(
            op=self.op,
            sets=self.sets,
            types=self.types,
            always=tuple(column for slot in slots for column in self.always(slot)),
            entries=tuple(c for slot in self.cover(slots, latest=False) for c in self.entries(slot)),
            exits=tuple(c for slot in self.cover(slots, latest=True) for c in self.exits(slot)),
        )
