"""Prefixes alone: for workloads too large to look at every split."""

from collections.abc import Iterator

from stretto.memo.memo import Memo
from stretto.memo.ways import Kind, Way


def split_off_last(number: int, memo: Memo) -> Iterator[Way]:
    """P  ≡  P|L ⋈ s  where s is the last slot, L all the others

    Law: L1. Requires: skip-till-any. Source: MCEP, sec. 3 (prefix sharing).
    """
    if memo.is_wide(number):
        return
    piece = memo.pieces[number]
    order = memo.own_order.get(number, tuple(range(len(piece.slots))))
    first, last = memo.part(number, order[:-1]), memo.part(number, order[-1:])
    if len(order) > 2:
        places = {column: slot for slot in range(len(piece.slots)) for column in piece.columns(slot)}
        prefix = memo.pieces[first.piece]
        named = [places[first.columns[prefix.columns(slot).start]] for slot in range(len(prefix.slots))]
        rank = {slot: i for i, slot in enumerate(order)}
        memo.own_order.setdefault(first.piece, tuple(sorted(range(len(named)), key=lambda s: rank[named[s]])))
    yield Way(Kind.JOIN, (first, last), "split_off_last")
