"""Negations at the end: the piece without them can be shared with those that forbid something else, or nothing."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from stretto.memo.memo import Memo
from stretto.memo.text_order import keep_text_order
from stretto.memo.ways import Kind, Way

MOST_NEGATIONS: Final = 5
"""Of so many every subset is looked at; of more those that begin the one order that they have."""


def forbid_after(number: int, memo: Memo) -> Iterator[Way]:
    """P ∖ N  ≡  forbid[N](P)  for all negations N of a piece, and for each of several (of many: for the last)

    Law: L6. Requires: N stands between bound slots (others come after the core anyway).
    Source: MOTTO, sec. II (NEG is the last component); MCEP, sec. 2 (NOT).
    """
    piece = memo.pieces[number]
    negations = piece.negations
    if not negations:
        return
    last = range(len(negations))
    if len(negations) > MOST_NEGATIONS:
        last = last[len(last) if memo.is_wide(number) else -1 :]
    kept = [(), *(negations[:i] + negations[i + 1 :] for i in last)]
    for others in dict.fromkeys(kept):
        source = memo.input(replace(piece, negations=others))
        keep_text_order(memo, source, number)
        yield Way(Kind.FORBID, (source,), "forbid_after")
