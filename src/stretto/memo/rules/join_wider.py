"""Joins that read a part within a wider window."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from stretto.memo.memo import Memo
from stretto.memo.ways import Input, Way, WayKind
from stretto.pattern.nodes import Window
from stretto.pattern.piece import Piece

ANY_SIZE: Final = 0


def join_wider(memo: Memo) -> Iterator[tuple[int, Way]]:
    """P  ≡  L ⋈ R  ≡  L' ⋈ R  where L' is L within a wider window

    The join checks the window of P anyway, so no filter is needed. Of the wider pieces that are there the widest is
    taken, for either side and for all sides at once.

    Law: L5. Requires: windows of one unit. Source: MOTTO, sec. IV-D (window mark-point), without its filter; ours.
    """
    widest = _widest(memo)
    if not widest:
        return
    for number, ways in enumerate(memo.ways):
        for way in ways:
            if way.kind is WayKind.JOIN and way.rule != "join_wider":
                yield from (
                    (number, Way(WayKind.JOIN, inputs, "join_wider")) for inputs in _choices(way, widest)
                )


def _widest(memo: Memo) -> dict[int, int]:
    """For each core the same within the widest window, if that is another one."""
    if len({piece.window.size for piece in memo.pieces if len(piece.slots) > 1}) < 2:
        return {}
    sizes: dict[Piece, dict[int, int]] = {}
    for number, piece in enumerate(memo.pieces):
        if len(piece.slots) > 1 and memo.is_core(number):
            plain = replace(piece, window=Window(ANY_SIZE, piece.window.unit))
            sizes.setdefault(plain, {})[piece.window.size] = number
    found: dict[int, int] = {}
    for by_size in sizes.values():
        widest = by_size[max(by_size)]
        found.update((number, widest) for number in by_size.values() if number != widest)
    return found


def _choices(way: Way, widest: dict[int, int]) -> Iterator[tuple[Input, ...]]:
    """The inputs with one of them, or all that can be, replaced by a wider one."""
    places = [i for i, part in enumerate(way.inputs) if part.piece in widest]
    choices = [{i} for i in places] + [set(places)] * (len(places) > 1)
    for chosen in choices:
        yield tuple(
            replace(part, piece=widest[part.piece]) if i in chosen else part
            for i, part in enumerate(way.inputs)
        )
