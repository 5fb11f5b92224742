"""The window mark-point where the source has the wider window: what spans across the mark is filtered out."""

from collections.abc import Iterator
from itertools import chain
from typing import Final

from stretto.memo.memo import Memo
from stretto.memo.ways import Way
from stretto.papers.motto.merging import Contained, contained, several_windows

NEAREST: Final = 4  # sources of one part of a query, by their windows


def narrow_window(memo: Memo) -> Iterator[tuple[int, Way]]:
    """P within w  ≡  σ[last - first <= w](P within w')  for w <= w'

    The source may be the piece itself or one operand of it; in a join the window of the reader is checked anyway.

    Law: L5. Requires: windows of one unit. Source: MOTTO, sec. IV-D, case 1.
    """
    if not several_windows(memo):
        return
    found: dict[tuple[int, tuple[int, ...]], list[Contained]] = {}
    for one in chain(contained(memo), contained(memo, relaxed=True)):
        if memo.pieces[one.source].window.size > memo.pieces[one.reader.owner].window.size:
            found.setdefault((one.reader.owner, one.slots), []).append(one)
    for sources in found.values():
        sources.sort(key=lambda one: memo.pieces[one.source].window.size)
        yield from ((one.reader.owner, one.way(memo, "narrow_window")) for one in sources[:NEAREST])
