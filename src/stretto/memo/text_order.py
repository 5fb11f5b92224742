"""Pieces in the order in which the queries that read them write their slots."""

from stretto.memo.memo import Memo
from stretto.memo.ways import Input, Kind, Way
from stretto.pattern.nodes import Stream
from stretto.pattern.order import NO_ORDER
from stretto.pattern.piece import Piece


def text_order(memo: Memo, number: int) -> tuple[int, ...]:
    known = memo.own_order.get(number)
    return tuple(range(len(memo.pieces[number].slots))) if known is None else known


def alone(memo: Memo, number: int) -> Way:
    """The way that computes a piece from its single slots, in the order of the text."""
    parts = tuple(single(memo, number, slot) for slot in text_order(memo, number))
    return Way(Kind.JOIN, parts, "join_left_to_right")


def single(memo: Memo, number: int, slot: int) -> Input:
    """One slot of a core, as an input of it."""
    piece = memo.pieces[number]
    if not isinstance(piece.slots[slot].source, Stream):
        return memo.part(number, (slot,))
    alone = Piece((piece.slots[slot],), NO_ORDER, (), piece.same, (), piece.window)
    return memo.input(alone, piece.columns(slot))


def keep_text_order(memo: Memo, source: Input, reader: int) -> None:
    """Give a piece the order in which the query that reads it writes its slots, if it has none yet."""
    if source.piece in memo.own_order:
        return
    owner, piece = memo.pieces[reader], memo.pieces[source.piece]
    place = {slot: i for i, slot in enumerate(text_order(memo, reader))}
    slot_of = owner.slot_of_column
    theirs = [place[slot_of[source.columns[piece.columns(slot).start]]] for slot in range(len(piece.slots))]
    memo.own_order[source.piece] = tuple(sorted(range(len(theirs)), key=theirs.__getitem__))
