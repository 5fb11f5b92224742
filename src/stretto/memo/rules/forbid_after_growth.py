"""Negations that are judged on grown rows, so that queries with and without them grow the same rows once."""

from collections.abc import Iterator
from dataclasses import replace

from stretto.memo.memo import Memo
from stretto.memo.rules.forbid_after import MOST_NEGATIONS
from stretto.memo.ways import Way, WayKind
from stretto.pattern.piece import Negation


def forbid_after_growth(number: int, memo: Memo) -> Iterator[Way]:
    """P ∖ N  ≡  forbid[N](P)  for all negations N of a piece with repetitions or late negations, and for some of them

    Some: those that wait, and each alone. A row with all of its repetitions is a match of P, so any negation can be
    judged on it. What does not wait is judged before what does, hence not alone beside that.

    Law: L6. Requires: skip-till-any. Source: ours (MOTTO, sec. II, moves NEG to the end).
    """
    piece, given = memo.pieces[number], memo.ways[number][0]
    for others in dict.fromkeys(_kept(piece.negations)):
        source = memo.invent(replace(piece, negations=others), number)
        if source.piece != given.pieces[0]:  # that is the given way
            yield Way(WayKind.FORBID, (source,), "forbid_after_growth")


def _kept(negations: tuple[Negation, ...]) -> Iterator[tuple[Negation, ...]]:
    """What is left of some negations when others are taken off; of many only all and those that wait are."""
    if not negations:
        return
    yield ()
    at_once = tuple(n for n in negations if not n.place.waits)
    if len(at_once) < len(negations):
        yield at_once
    if len(negations) <= MOST_NEGATIONS:
        loose = [i for i, n in enumerate(negations) if n.place.waits or len(at_once) == len(negations)]
        yield from (negations[:i] + negations[i + 1 :] for i in loose)
