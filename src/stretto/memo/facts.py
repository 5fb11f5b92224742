"""What the cost of joins depends on in a piece, gathered once: slots as bits, orders and terms as masks of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from stretto.memo.orders import Orders, orders_of
from stretto.pattern.canonical import closed_terms
from stretto.pattern.canonical_terms import equality, equality_classes
from stretto.pattern.nodes import Policy, Stream
from stretto.pattern.piece import Piece
from stretto.pattern.predicates import Apply, Expr, Ref, columns_of
from stretto.pattern.project import project, types
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
    """Slot i is the bit 1 << i. `bits[c]` is the slot of column c, `after[i]` and `before[i]` those around slot i.

    `equal` are classes of equal references, each with its slot; `rest` the terms that are no comparison of keys, with
    their slots. `alike` are pairs of unordered slots that could bind one event. `checks[i]` counts the terms over the
    event of slot i alone.
    """

    piece: Piece
    whole: int
    bits: tuple[int, ...]
    widths: tuple[int, ...]
    after: tuple[int, ...]
    before: tuple[int, ...]
    orders: Orders
    compared: tuple[Comparison, ...]
    equal: tuple[tuple[tuple[int, Ref], ...], ...]
    rest: tuple[tuple[int, Expr], ...]
    alike: tuple[tuple[int, int], ...]
    checks: tuple[int, ...]

    @classmethod
    def of(cls, piece: Piece) -> "Facts":
        count = len(piece.slots)
        bits = tuple(1 << slot for slot in range(count) for _ in piece.columns(slot))
        after, before = [0] * count, [0] * count
        for i, j in piece.order:
            after[i] |= 1 << j
            before[j] |= 1 << i
        compared, equal, rest = _terms(piece, bits)
        return cls(
            piece,
            (1 << count) - 1,
            bits,
            tuple(slot.width for slot in piece.slots),
            tuple(after),
            tuple(before),
            orders_of(tuple(after)),
            compared,
            equal,
            tuple((_mask(term, bits), term) for term in rest),
            _alike(piece, after),
            tuple(len(s.source.where) if isinstance(s.source, Stream) else 0 for s in piece.slots),
        )

    def slots(self, columns: Iterable[int]) -> int:
        """The slots of some columns."""
        found = 0
        for column in columns:
            found |= self.bits[column]
        return found

    def width(self, slots: int) -> int:
        return sum(width for i, width in enumerate(self.widths) if slots >> i & 1)

    def part(self, slots: int) -> Piece:
        """The projection on some slots; the piece itself for all."""
        if slots == self.whole or self.piece.policy is Policy.NEXT:
            return self.piece
        return project(self.piece, members(slots))

    def demands(self, slots: int) -> int:
        """How many pairs in order and how many terms the projection on some slots has; what less has is weaker."""
        order = sum((after & slots).bit_count() for i, after in enumerate(self.after) if slots >> i & 1)
        terms = sum(not (c.left | c.right) & ~slots for c in self.compared)
        terms += sum(not mask & ~slots for mask, _ in self.rest)
        for members_ in self.equal:
            terms += max(sum(bool(bit & slots) for bit, _ in members_) - 1, 0)
        return order + terms + sum(count for i, count in enumerate(self.checks) if slots >> i & 1)

    def never_last(self, one: int, other: int) -> bool:
        """Whether every slot of one side comes before some slot of the other."""
        return all(after & other for i, after in enumerate(self.after) if one >> i & 1)

    def precedes(self, one: int, other: int) -> bool:
        """Whether every slot of one side comes before every slot of the other."""
        return all(not other & ~after for i, after in enumerate(self.after) if one >> i & 1)

    def order_terms(self, one: int, other: int) -> int:
        """How many pairs of slots, one of each side and next to each other in the order, a join has to compare."""
        joined, found = one | other, 0
        for i, after in enumerate(self.after):
            if joined >> i & 1:
                across = after & (other if one >> i & 1 else one)
                while across:
                    j = across & -across
                    across ^= j
                    # No third slot stands between the two.
                    found += not after & joined & self.before[j.bit_length() - 1]
        return found


def members(slots: int) -> tuple[int, ...]:
    """The numbers of the slots in a mask."""
    return tuple(i for i in range(slots.bit_length()) if slots >> i & 1)


def _terms(
    piece: Piece, bits: Sequence[int]
) -> tuple[tuple[Comparison, ...], tuple[tuple[tuple[int, Ref], ...], ...], tuple[Expr, ...]]:
    """Comparisons of keys, classes of equal references, and the other terms."""
    compared: list[Comparison] = []
    rest: list[Expr] = []
    pairs: list[tuple[Ref, Ref]] = []
    for term in closed_terms(piece):
        sides = equality(term)
        if sides is not None:
            pairs.append(sides)
            continue
        found = _comparison(term, bits)
        if found is None:
            rest.append(term)
        else:
            compared.append(found)
    classes = tuple(
        tuple((bits[ref.column], ref) for ref in members_) for members_ in equality_classes(pairs)
    )
    return tuple(compared), classes, tuple(rest)


def _comparison(term: Expr, bits: Sequence[int]) -> Comparison | None:
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


def _alike(piece: Piece, after: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Pairs of unordered slots that could bind one event, as bits."""
    kinds = [types(slot) for slot in piece.slots]
    return tuple(
        (1 << i, 1 << j)
        for j in range(len(kinds))
        for i in range(j)
        if kinds[i] & kinds[j] and not after[i] >> j & 1 and not after[j] >> i & 1
    )
