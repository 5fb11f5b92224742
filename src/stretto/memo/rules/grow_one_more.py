"""Repetitions that grow on rows in which others have grown."""

from collections.abc import Iterator
from typing import Final

from stretto.memo.memo import Memo
from stretto.memo.ways import Way, WayKind
from stretto.pattern.core import by_last_repetition, judged_by_last
from stretto.pattern.nodes import Stream

MOST_GROWING: Final = 4
"""Of so many repeated slots each is looked at as the last to grow; of more none is."""


def grow_one_more(number: int, memo: Memo) -> Iterator[Way]:
    """P  ≡  grow[s](P with s by its last repetition)  for each of several repeated slots s

    Queries that repeat some slots alike and others not share the growth of those.

    Law: L8. Requires: skip-till-any; what repeats are events, not groups: once a group has grown its repetitions are no
    longer apart, and terms may need them so. Source: ours.
    """
    piece = memo.pieces[number]
    growing = piece.growing
    if not 1 < len(growing) <= MOST_GROWING:
        return
    if not all(isinstance(piece.slots[slot].source, Stream) for slot in growing):
        return
    for slot in sorted(growing):
        last = frozenset({slot})
        known = [n for n in piece.negations if not n.place.waits and judged_by_last(n, piece, last)]
        source = memo.invent(by_last_repetition(piece, last, known), number)
        yield Way(WayKind.GROW, (source,), "grow_one_more")
