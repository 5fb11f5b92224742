"""What the cost of joins depends on in a piece, gathered once: slots as bits, orders and terms as masks of them."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from stretto.memo.orders import Orders, orders_of
from stretto.pattern.canonical.pieces import parted_terms
from stretto.pattern.canonical.terms import equality_classes
from stretto.pattern.comparisons import equality
from stretto.pattern.nodes import Stream
from stretto.pattern.order import members
from stretto.pattern.piece import Piece
from stretto.pattern.predicates import Apply, Expr, Ref, columns_of
from stretto.pattern.project import Projector
from stretto.records import dataclass
from stretto.schema import Kind

COMPARISONS: Final = frozenset({"=", "<", "<=", ">", ">="})


@dataclass(frozen=True, slots=True)
class Comparison:
    """A term that is decided by one key of either side: `left` and `right` are the slots that each side reads."""

    left: int
    right: int
    equal: bool

    def crosses(self, one: int, other: int) -> bool:
        """Whether rows over these slots and those have a key each."""
        left, right = self.left, self.right
        return not ((left & ~one or right & ~other) and (left & ~other or right & ~one))


@dataclass(frozen=True, slots=True)
class Facts:
    """Slot i is the bit 1 << i. `bits[c]` is the slot of column c.

    `equal` are classes of equal references, each with its slot; `rest` the terms that are no comparison of keys, with
    their slots. `alike[i]` are the slots without order to slot i that could bind the same event. `asked` are the slots
    of each term that is no equality. `plain`: all slots are single events.
    """

    piece: Piece
    projector: Projector
    whole: int
    bits: tuple[int, ...]
    widths: tuple[int, ...]
    orders: Orders
    compared: tuple[Comparison, ...]
    equal: tuple[tuple[tuple[int, Ref], ...], ...]
    rest: tuple[tuple[int, Expr], ...]
    alike: tuple[int, ...]
    any_alike: bool
    asked: tuple[int, ...]
    plain: bool

    @classmethod
    def of(cls, piece: Piece) -> "Facts":
        count = len(piece.slots)
        bits = tuple([1 << slot for slot in range(count) for _ in piece.columns(slot)])
        compared, equal, rest = _terms(piece, bits)
        checks = (
            1 << i for i, s in enumerate(piece.slots) if isinstance(s.source, Stream) for _ in s.source.where
        )
        alike = _alike(piece)
        return cls(
            piece,
            Projector(piece),
            (1 << count) - 1,
            bits,
            tuple([slot.width for slot in piece.slots]),
            orders_of(piece.order, count),
            compared,
            equal,
            tuple((_mask(term, bits), term) for term in rest),
            alike,
            any(alike),
            (
                *(term.left | term.right for term in compared),
                *(_mask(term, bits) for term in rest),
                *checks,
            ),
            len(bits) == count,
        )

    def slots(self, columns: Iterable[int]) -> int:
        """The slots of some columns."""
        found = 0
        for column in columns:
            found |= self.bits[column]
        return found

    def width(self, slots: int) -> int:
        if self.plain:
            return slots.bit_count()
        return sum(width for i, width in enumerate(self.widths) if slots >> i & 1)

    def part(self, slots: int) -> Piece:
        """The projection on some slots; the piece itself for all."""
        if slots == self.whole or self.piece.follows:
            return self.piece
        return self.projector.project(members(slots))

    def demands(self, slots: int) -> int:
        """How many pairs in order and terms the projection on some slots has; a piece with fewer is weaker."""
        outside = ~slots
        found = 0
        for mask in self.asked:
            if not mask & outside:
                found += 1
        for slot, later in enumerate(self.orders.after):
            if slots >> slot & 1:
                found += (later & slots).bit_count()
        for members_ in self.equal:
            found += max(sum([bit & slots > 0 for bit, _ in members_]) - 1, 0)
        return found


def _terms(
    piece: Piece, bits: Sequence[int]
) -> tuple[tuple[Comparison, ...], tuple[tuple[tuple[int, Ref], ...], ...], tuple[Expr, ...]]:
    """Comparisons of keys, classes of equal references, and the other terms."""
    compared: list[Comparison] = []
    rest: list[Expr] = []
    terms, classes = parted_terms(piece)
    pairs = [pair for refs in classes for pair in pairwise(refs)]
    for term in terms:
        sides = equality(term)  # of what repeats, too: here a group is one row
        if sides is not None:
            pairs.append(sides)
            continue
        found = comparison(term, bits)
        if found is None:
            rest.append(term)
        else:
            compared.append(found)
    equal = tuple(tuple((bits[ref.column], ref) for ref in refs) for refs in equality_classes(pairs))
    return tuple(compared), equal, tuple(rest)


def comparison(term: Expr, bits: Sequence[int]) -> Comparison | None:
    """A term as a comparison of a key of either side, if it is one; `bits[c]` are the slots of column c."""
    if not isinstance(term, Apply) or term.op not in COMPARISONS:
        return None
    left, right = term.arguments
    if getattr(left, "kind", None) is Kind.STRING and term.op != "=":
        return None
    one, other = _mask(left, bits), _mask(right, bits)
    return Comparison(one, other, term.op == "=") if one and other and not one & other else None


def _mask(term: Expr, bits: Sequence[int]) -> int:
    found = 0
    for column in columns_of(term):
        found |= bits[column]
    return found


def _alike(piece: Piece) -> tuple[int, ...]:
    """For each slot those without order to it that could bind the same event, as bits."""
    count, order = len(piece.slots), piece.order
    kinds = [slot.types for slot in piece.slots]
    of_kind: dict[str, int] = {}
    for slot, own in enumerate(kinds):
        for kind in own:
            of_kind[kind] = of_kind.get(kind, 0) | 1 << slot
    if sum(map(int.bit_count, of_kind.values())) == len(of_kind):
        return (0,) * count
    before = order.before(count)
    found = []
    for slot, own in enumerate(kinds):
        same = 0
        for kind in own:
            same |= of_kind[kind]
        found.append(same & ~(order.behind(slot) | before[slot] | 1 << slot))
    return tuple(found)
