"""Two parts that share slots: terms with a shared slot are decided in both parts, before their rows meet."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations
from typing import Final

from stretto.memo.explore import PieceRule
from stretto.memo.memo import Memo
from stretto.memo.pricing import Pricing
from stretto.memo.slot_masks import Facts
from stretto.memo.ways import Way, WayKind
from stretto.pattern.nodes import Stream
from stretto.pattern.order import mask_of, members

RULE: Final = "split_overlapping"
MOST_SLOTS: Final = 8
"""Pieces with more slots are not looked at."""
MOST_SHARED: Final = 2
"""Slots that two parts share, at most: more of them are shared by the parts of parts."""
MOST_WAYS: Final = 8
"""Ways that a piece is given at most, those with the fewest rows."""
MANY_ROWS: Final = 8.0
"""Rows of a part for each event of its commonest slot: with more, to share it does not pay."""
MOST_CORES: Final = 24
"""Cores of a workload beyond which it is not looked for: there is more to be had from sharing between queries."""


def split_overlapping(number: int, memo: Memo) -> Iterator[Way]:
    """P  ≡  σ[rest](P|L ⋈ P|R)  for parts L and R that cover the slots and share some, which hold the same events

    Law: L9. Requires: skip-till-any; the shared slots are single events. Source: DecoPa, sec. 4.1 (Def. 2).
    """
    for left, right in _pairs_of(number, memo):
        yield _way(number, memo, left, right)


def overlapping_that_reduce(memo: Memo, pricing: Pricing) -> tuple[PieceRule, ...]:
    """The rule, where it may pay: nothing for a large workload, else it takes the pairs with the fewest rows.

    Both parts have few rows, by the commonest of their slots (DecoPa, sec. 6.1, asks for fewer: rate-reducing
    sub-queries), and a term that no hash decides stands between the shared slots and the others of either part: if not,
    a join without overlap finds as much by hash.
    """
    if len(memo.cores()) > MOST_CORES:
        return ()

    def rule(number: int, memo: Memo) -> Iterator[Way]:
        facts = Facts.of(memo.pieces[number])
        asked = [term.left | term.right for term in facts.compared if not term.equal]
        asked += [mask for mask, _ in facts.rest]
        if len(asked) < 2:
            return
        rows = _FewRows(memo, pricing, number)
        found: list[tuple[float, int, int]] = []
        for left, right in _pairs_of(number, memo):
            shared = left & right
            if not all(_between(asked, shared, side) for side in (left, right)):
                continue
            one, other = rows.of(left), rows.of(right)
            if one is not None and other is not None:
                met = one * other / max(rows.all(shared), 1e-12)
                found.append((one + other + met, left, right))
        for _, left, right in sorted(found)[:MOST_WAYS]:
            yield _way(number, memo, left, right)

    rule.__name__ = RULE
    return (rule,)


def _way(number: int, memo: Memo, left: int, right: int) -> Way:
    return Way(WayKind.JOIN, (memo.part(number, members(left)), memo.part(number, members(right))), RULE)


class _FewRows:
    """How many rows the parts of a piece have."""

    def __init__(self, memo: Memo, pricing: Pricing, number: int) -> None:
        self._memo, self._pricing, self._number = memo, pricing, number
        self._known: dict[int, float | None] = {}

    def all(self, slots: int) -> float:
        return self._pricing.rows(self._memo, self._memo.part(self._number, members(slots)).piece)

    def of(self, slots: int) -> float | None:
        """The rows of a part; nothing if they are many for its commonest slot."""
        if slots not in self._known:
            found = self.all(slots)
            commonest = max(self.all(1 << slot) for slot in members(slots))
            self._known[slots] = found if found < MANY_ROWS * commonest else None
        return self._known[slots]


def _between(asked: Sequence[int], shared: int, side: int) -> bool:
    """Whether some term stands between shared slots and the others of one side."""
    return any(term & shared and term & side & ~shared and not term & ~side for term in asked)


def _pairs_of(number: int, memo: Memo) -> Iterator[tuple[int, int]]:
    """The pairs of parts of a piece, as bits, that share single events."""
    piece = memo.pieces[number]
    single = mask_of(i for i, slot in enumerate(piece.slots) if isinstance(slot.source, Stream))
    for left, right in _pairs(len(piece.slots)):
        if not left & right & ~single:
            yield left, right


@cache
def _pairs(count: int) -> list[tuple[int, int]]:
    """Pairs of sets, as bits, that cover so many slots and share one or two; the first holds slot 0 or is smaller."""
    if not 2 < count <= MOST_SLOTS:
        return []
    whole = (1 << count) - 1
    found = []
    for size in range(1, MOST_SHARED + 1):
        for shared in map(mask_of, combinations(range(count), size)):
            others = members(whole & ~shared)
            for many in range(1, len(others)):
                for chosen in map(mask_of, combinations(others, many)):
                    if chosen >> others[0] & 1:  # else the sides the other way round
                        found.append((chosen | shared, whole & ~chosen))
    return found
