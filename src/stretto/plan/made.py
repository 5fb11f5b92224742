"""Operators that compute a piece, as those above them need to know them."""

from collections.abc import Iterator, Sequence

from stretto.pattern.piece import Piece
from stretto.plan.build import Builder, Part
from stretto.plan.draft import Draft
from stretto.records import dataclass


@dataclass(frozen=True, slots=True)
class Made:
    """Rows of a piece: row column i is column `layout[i]` of the piece.

    `parts` are the piece's slots in the order in which the row holds them, `whole` is the row as one part.
    """

    layout: tuple[int, ...]
    parts: tuple[Part, ...]
    whole: Part

    @property
    def op(self) -> int:
        return self.whole.op

    def slots(self) -> Iterator[tuple[int, Part]]:
        """Each slot's first column in the row, and its part."""
        at = 0
        for part in self.parts:
            yield at, part
            at += part.width


def of_one_slot(part: Part, layout: Sequence[int]) -> Made:
    return Made(tuple(layout), (part,), part)


def draft_of(piece: Piece, parts: Sequence[Part], growing: frozenset[int], builder: Builder) -> Draft:
    """Rows that bind all slots of a piece, each by one repetition."""
    draft = Draft(piece, parts, growing, builder)
    draft.sets = tuple(held for part in parts for held in part.sets)
    draft.joined = len(parts)
    return draft
