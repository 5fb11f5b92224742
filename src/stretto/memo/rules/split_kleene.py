"""Repetitions that have grown before their rows meet the others: DecoPa's binary Kleene split."""

from collections.abc import Iterator
from typing import Final

from stretto.memo.explore import PieceRule
from stretto.memo.memo import Memo
from stretto.memo.pricing import Pricing
from stretto.memo.rules.split_in_two import splits
from stretto.memo.ways import Way, WayKind
from stretto.pattern.nodes import Stream
from stretto.pattern.piece import Piece

RULE: Final = "split_kleene"
MOST_SLOTS: Final = 6
"""Pieces with more slots are not looked at."""
MANY_ROWS: Final = 8.0
"""Rows of a part that has grown for each row of its core: with more, sets are dear to make before others drop them."""
MOST_CORES: Final = 24
"""Cores of a workload beyond which it is not looked for."""


def split_kleene(number: int, memo: Memo) -> Iterator[Way]:
    """P  ≡  σ[rest](P|L ⋈ P|R)  for every split of the slots, where rows hold all repetitions of what repeats

    With L = {s} it joins the sets of s with the query without s; sets that neighbours' terms or `{m,n}` leave few of
    are made once, not again for every row of the core, and queries that repeat s alike share them.

    Law: L8. Requires: skip-till-any; a window of time; no negations (`forbid_after_growth` judges them afterwards);
    what repeats are events. Source: DecoPa, sec. 4.1 (binary Kleene splits).
    """
    piece = memo.pieces[number]
    if not divides(piece):
        return
    for left, right in splits(len(piece.slots)):
        yield Way(WayKind.JOIN, (memo.part(number, left), memo.part(number, right)), RULE)


def kleene_that_reduce(memo: Memo, pricing: Pricing) -> tuple[PieceRule, ...]:
    """The rule, where it may pay: parts that grow have few rows for each of their core; nothing for large workloads."""
    if len(memo.cores()) > MOST_CORES:
        return ()

    def few(number: int, memo: Memo) -> bool:
        if not memo.grows(number):
            return True
        core = memo.ways[number][0].pieces[0]
        return pricing.rows(memo, number) <= MANY_ROWS * pricing.rows(memo, core)

    def rule(number: int, memo: Memo) -> Iterator[Way]:
        for way in split_kleene(number, memo):
            if all(few(part, memo) for part in way.pieces):
                yield way

    rule.__name__ = RULE
    return (rule,)


def divides(piece: Piece) -> bool:
    """Whether the rows of a piece with repetitions can be those of two parts."""
    return (
        1 < len(piece.slots) <= MOST_SLOTS
        and bool(piece.growing)
        and not piece.negations
        and piece.window.unit == "us"
        and all(isinstance(piece.slots[slot].source, Stream) for slot in piece.growing)
    )
