"""One slot at a time, the commonest last: for workloads too large to look at every split."""

from collections.abc import Iterator
from typing import Final

from stretto.memo.explore import PieceRule
from stretto.memo.memo import Memo
from stretto.memo.pricing import Pricing
from stretto.memo.ways import Kind, Way

RULE: Final = "split_off_commonest"


def split_off_commonest(pricing: Pricing) -> PieceRule:
    """P  ≡  P|L ⋈ s  where s is the slot with the most events, L all the others

    Law: L1. Requires: skip-till-any. Source: MCEP, sec. 6.2.2 (orders by rate).
    """

    def rule(number: int, memo: Memo) -> Iterator[Way]:
        if memo.is_wide(number):
            return
        slots = range(len(memo.pieces[number].slots))
        single = [memo.part(number, (slot,)) for slot in slots]
        last = max(slots, key=lambda slot: (pricing.rows(memo, single[slot].piece), slot))
        rest = memo.part(number, tuple(slot for slot in slots if slot != last))
        yield Way(Kind.JOIN, (rest, single[last]), RULE)

    return rule
