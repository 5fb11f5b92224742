"""Pieces with their windows taken off, so that equal parts of queries with different windows meet."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, chain, combinations
from operator import or_
from typing import Final

from stretto.memo.memo import Memo
from stretto.memo.ways import Input
from stretto.pattern.nodes import Window
from stretto.pattern.order import members
from stretto.pattern.piece import Piece

ALL_SUBSETS: Final = 10
"""Cores with at most so many slots are looked at through every subset of them."""
RUNS: Final = 20
"""Up to so many: through runs of neighbouring slots and pairs. Beyond: through the prefixes of the text alone."""


class SubPatterns:
    """Shapes by number: canonical pieces that differ in the size of their window alone are one shape."""

    def __init__(self, memo: Memo) -> None:
        self.memo = memo
        self.forms: list[Piece] = []
        self._numbers: dict[Piece, int] = {}
        self._of_piece: dict[int, int] = {}
        self._at: dict[tuple[int, int], Input] = {}

    def of(self, piece: int) -> int:
        """The shape of a piece of the memo; their columns are the same."""
        known = self._of_piece.get(piece)
        if known is None:
            whole = self.memo.pieces[piece]
            form = replace(whole, window=Window(0, whole.window.unit))
            known = self._numbers.setdefault(form, len(self.forms))
            if known == len(self.forms):
                self.forms.append(form)
            self._of_piece[piece] = known
            self._at[known, whole.window.size] = Input(piece, tuple(range(whole.width)))
        return known

    def at(self, shape: int, size: int) -> Input:
        """The shape with a window of this size: a piece of the memo, and for its columns those of the shape."""
        known = self._at.get((shape, size))
        if known is None:
            form = self.forms[shape]
            known = self.memo.input(replace(form, window=Window(size, form.window.unit)))
            self._at[shape, size] = known
        return known

    def input(self, shape: int, size: int, columns: Sequence[int]) -> Input:
        """The shape with this window as the input of a reader, in whose `columns` its own stand."""
        part = self.at(shape, size)
        return Input(part.piece, tuple(columns[column] for column in part.columns))


class CoreParts:
    """The parts of one core: for a set of its slots, as bits, the shape and the core's columns that it has."""

    def __init__(self, shapes: SubPatterns, number: int) -> None:
        memo = shapes.memo
        piece = memo.pieces[number]
        self.number = number
        self.size = piece.window.size
        self.count = len(piece.slots)
        self.full = (1 << self.count) - 1
        self.own_order = memo.text_order(number)
        self._shapes = shapes
        self._bits = tuple(1 << slot for slot in range(self.count) for _ in piece.columns(slot))
        self._known: dict[int, tuple[int, tuple[int, ...]]] = {}

    def __getitem__(self, mask: int) -> tuple[int, tuple[int, ...]]:
        known = self._known.get(mask)
        if known is None:
            part = self._shapes.memo.part(self.number, members(mask))
            known = self._known[mask] = self._shapes.of(part.piece), part.columns
        return known

    def mask(self, columns: Sequence[int]) -> int:
        """The slots of some of the core's columns."""
        found = 0
        for column in columns:
            found |= self._bits[column]
        return found

    def shareable(self) -> Iterator[int]:
        """The sets of slots that may be computed for several queries: all with at least two slots.

        A core of many slots offers fewer, so that their number stays polynomial: runs of slots that are neighbours in
        the canonical order and pairs, and beyond `RUNS` slots the prefixes of the order in which it was written.
        """
        slots = range(self.count)
        masks: Iterable[int]
        if self.count <= ALL_SUBSETS:
            masks = range(1, self.full + 1)
        elif self.count <= RUNS:
            runs = ((1 << end) - (1 << start) for start in slots for end in range(start, self.count + 1))
            masks = chain(runs, (1 << i | 1 << j for i, j in combinations(slots, 2)))
        else:
            masks = accumulate((1 << slot for slot in self.own_order), or_)
        yield from (mask for mask in dict.fromkeys(masks) if mask.bit_count() >= 2)
